# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the graph that operations are recorded in: nodes and the types of their values.

A node is immutable but for its value, which it gets when it is computed. Nodes are light: tens of
thousands may be made in a step, so that nothing is checked here.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from weakref import ReferenceType

    from xyntra.array.dtypes import ElementType

__all__ = [
    "LEAF",
    "NUMBER",
    "LazyNode",
    "Meta",
    "RecordState",
    "attributes",
    "exact",
    "leaf",
    "meta_of",
    "number",
]

LEAF = "leaf"
"""The operation of a node that was given its value."""
NUMBER = "number"
"""The operation of a node that is a number of Python; its attributes are the number alone."""


class Meta:
    """The shape and the element type of a value; there is one object for each pair.

    Attributes:
        shape: the sizes of the dimensions.
        dtype: the type of the elements.
        size: the number of elements.
    """

    __slots__ = ("dtype", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: ElementType) -> None:
        self.shape = shape
        self.dtype = dtype
        self.size = prod(shape)

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}"


_METAS: dict[tuple[tuple[int, ...], ElementType], Meta] = {}


def meta_of(shape: tuple[int, ...], dtype: ElementType) -> Meta:
    """Return the one object of a shape and a type."""
    found = _METAS.get((shape, dtype))
    if found is None:
        if len(_METAS) > 100_000:  # a program whose shapes never repeat; old objects stay valid
            _METAS.clear()
        found = _METAS[shape, dtype] = Meta(shape, dtype)
    return found


class LazyNode:
    """One operation of the recorded graph.

    Attributes:
        op: its name, which `xyntra.frontends.arrays` lowers.
        args: the nodes that it reads.
        attrs: pairs of a name and a value that can be hashed.
        meta: the type of its result.
        value: its elements once they were computed; None before.
        handle: the array of the user's that was made for it, if any.
        pinned: whether it keeps what it was made of when it is computed, for gradients to come.
    """

    __slots__ = ("__weakref__", "args", "attrs", "handle", "meta", "op", "pinned", "value")

    def __init__(
        self,
        op: str,
        args: tuple[LazyNode, ...],
        attrs: tuple[Any, ...],
        meta: Meta,
        value: Any = None,
    ) -> None:
        self.op = op
        self.args = args
        self.attrs = attrs
        self.meta = meta
        self.value = value
        self.handle: ReferenceType[Any] | None = None
        self.pinned = False

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(str(each.meta) for each in self.args)}) -> {self.meta}"


class RecordState:
    """What the whole process shares while it records.

    Attributes:
        keep: how many differentiations are going on: computed nodes keep what they were made of.
        tracing: how many functions are being recorded as a whole: no value is there to be read.
        draws: leaves that a generator filled while a function is recorded, and what fills them.
    """

    keep = 0
    tracing = 0
    draws: ClassVar[list[tuple[LazyNode, Callable[[], Any]]]] = []


def leaf(value: Any, meta: Meta) -> LazyNode:
    """Return the node of a value that is there."""
    return LazyNode(LEAF, (), (), meta, value)


def number(value: float, meta: Meta) -> LazyNode:
    """Return the node of a number of Python as an element of rank 0."""
    return LazyNode(NUMBER, (), (value,), meta)


class ExactFloat(float):
    """-0.0, or NaN, as attributes hold it: it equals floats of its own text alone."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is ExactFloat and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def exact(value: float) -> float:
    """Return a number for an attribute: one that equals it makes the same program."""
    if type(value) is float and (value != value or (value == 0 and repr(value) == "-0.0")):
        return ExactFloat(value)
    return value


def attributes(node: LazyNode) -> dict[str, Any]:
    """Return the attributes of a node by name."""
    return dict(node.attrs)
