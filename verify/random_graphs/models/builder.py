# SPDX-License-Identifier: MIT OR Apache-2.0
"""Grows a valid ONNX graph node by node, with the values that each node computes at hand.

Knowing the values lets a maker choose operands by shape and keep indices in range, and lets it
take back what onnx's schemas or the reference refuse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from verify.random_graphs.models import arrays
from verify.random_graphs.dtypes import DTYPES, FLOATS, INTS, is_float, native
from verify.random_graphs.reference.evaluator import Mode, Scope, Value, evaluate_node

__all__ = ["Builder", "Ref", "Reject", "Style"]

_LARGEST = 40_000
_MOST_RANK = 8
_MOST_INPUTS = 12


class Reject(Exception):
    """A maker cannot go on with what it has drawn."""


@dataclass(eq=False)
class Ref:
    """A value of the graph: its name, its type and what it is for the drawn inputs."""

    name: str
    elem: int
    array: np.ndarray
    constant: bool = False
    uses: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.array.shape

    @property
    def rank(self) -> int:
        """How many dimensions."""
        return self.array.ndim

    @property
    def tame(self) -> bool:
        """Whether further arithmetic is likely to stay finite."""
        if not is_float(self.elem) or not self.array.size:
            return True
        return bool(np.isfinite(self.array).all() and np.abs(self.array).max() < 30)


@dataclass(frozen=True)
class Style:
    """What all of one graph has in common.

    Attributes:
        opset: version of the standard operators.
        float_type: the float type that most values have.
        special: whether inputs hold NaN, infinities and the like.
        zeros: whether dimensions may be 0.
        large: the number of elements that drawn tensors may have.
        odd_names: whether names have characters that identifiers have not.
    """

    opset: int
    float_type: int
    special: bool
    zeros: bool
    large: int
    odd_names: bool


@dataclass
class Builder:
    """One graph, or the body of a node."""

    rng: np.random.Generator
    style: Style
    scope: Scope
    prefix: str = ""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, Ref] = field(default_factory=dict)
    initializers: dict[str, Ref] = field(default_factory=dict)
    refs: list[Ref] = field(default_factory=list)
    functions: list[onnx.FunctionProto] = field(default_factory=list)
    closed: bool = False
    counter: int = 0

    @property
    def opset(self) -> int:
        """Version of the standard operators."""
        return self.style.opset

    # Draws.

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return bool(self.rng.random() < probability)

    def choice(self, items: Sequence[Any]) -> Any:
        """One of the items."""
        if not len(items):
            raise Reject("nothing to choose from")
        return items[int(self.rng.integers(len(items)))]

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def real(self, low: float, high: float) -> float:
        """A real number that f32 holds."""
        return float(np.float32(self.rng.uniform(low, high)))

    def shuffled(self, items: Sequence[Any]) -> list[Any]:
        """The items in another order."""
        return [items[i] for i in self.rng.permutation(len(items))]

    def dimension(self) -> int:
        """A size of a dimension."""
        if self.style.zeros and self.chance(0.15):
            return 0
        return int(self.choice((1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 32, 33, 65)))

    def shape(self, low: int = 0, high: int = 6) -> tuple[int, ...]:
        """A shape whose number of elements is moderate."""
        rank = self.integer(low, min(high, max(low, 4)) if self.chance(0.92) else high)
        dims: list[int] = []
        for _ in range(rank):
            size = self.dimension()
            room = self.style.large // max(math.prod(dims) or 1, 1)
            dims.append(size if size <= room else 1)
        return tuple(self.shuffled(dims))

    def float_type(self) -> int:
        """A float type; mostly that of the graph."""
        return self.style.float_type if self.chance(0.95) else int(self.choice(FLOATS))

    def any_type(self) -> int:
        """An element type; mostly that of the graph."""
        if self.chance(0.6):
            return self.style.float_type
        return int(self.choice((*FLOATS, *INTS, *INTS, TensorProto.BOOL)))

    # Values.

    def name(self) -> str:
        """A name that is not taken."""
        self.counter += 1
        base = f"{self.prefix}v{self.counter}"
        if self.style.odd_names:
            base = self.choice(
                ("/layer.0/{}:0", "{} x", "ü{}", "%{}", '{}"q', "{}", "a/b\\{}")
            ).format(base)
        return base

    def constant(self, array: np.ndarray, elem: int, *, node: bool | None = None) -> Ref:
        """An initializer, or a Constant node, for a wide array."""
        data = native(array, elem)
        name = self.name()
        old = self.opset < 9 and not self.closed
        if node or (node is None and not old and (self.closed or self.chance(0.15))):
            tensor = numpy_helper.from_array(data, name)
            return self.node("Constant", [], value=tensor)[0]
        ref = Ref(name, elem, _wide_of(data, elem), constant=True)
        self.initializers[name] = ref
        self.refs.append(ref)
        self.scope.values[name] = Value(ref.array, elem)
        return ref

    def integers(self, values: Sequence[int] | int) -> Ref:
        """A constant of 64-bit integers."""
        return self.constant(np.array(values, np.int64), TensorProto.INT64)

    def input(self, shape: Sequence[int], elem: int, kind: str = "") -> Ref:
        """A new input of the graph (a constant where the graph takes no more inputs)."""
        array = arrays.draw(self.rng, tuple(shape), elem, kind, special=self.style.special)
        return self._input_of(array, elem) if self._takes_inputs() else self.constant(array, elem)

    def weight(self, shape: Sequence[int], elem: int, kind: str = "") -> Ref:
        """A constant mostly, else an input, without special values."""
        if self.chance(0.25):
            array = arrays.draw(self.rng, tuple(shape), elem, kind or "normal", special=False)
            if self._takes_inputs():
                return self._input_of(array, elem)
        array = arrays.draw(self.rng, tuple(shape), elem, kind or "normal", special=False)
        return self.constant(array, elem)

    def _takes_inputs(self) -> bool:
        return not self.closed and len(self.inputs) < _MOST_INPUTS

    def _input_of(self, array: np.ndarray, elem: int) -> Ref:
        name = self.name()
        ref = Ref(name, elem, _wide_of(native(array, elem), elem))
        self.inputs[name] = ref
        self.refs.append(ref)
        self.scope.values[name] = Value(ref.array, elem)
        return ref

    def pick(
        self,
        elems: Sequence[int] | None = None,
        low: int = 0,
        high: int = 6,
        where: Callable[[Ref], bool] = lambda _: True,
        *,
        fresh: float = 0.15,
        wild: float = 0.1,
    ) -> Ref:
        """A value of one of the types and ranks; recent and unused ones first, or a new input."""
        wild_too = self.chance(wild)
        found = [
            ref
            for ref in self.refs
            if (elems is None or ref.elem in elems)
            and low <= ref.rank <= high
            and (wild_too or ref.tame)
            and where(ref)
        ]
        if not found or self.chance(fresh):
            for _ in range(20):
                elem = self.choice(elems) if elems is not None else self.any_type()
                if elems is not None and self.style.float_type in elems and self.chance(0.8):
                    elem = self.style.float_type
                shape = self.shape(low, high)
                probe = Ref("", elem, np.zeros(shape, np.int64))
                if where(probe):
                    made = self.input(shape, elem)
                    if where(made):
                        return made
                    raise Reject("what was drawn does not fit")
            if not found:
                raise Reject("no value fits")
        weights = np.array(
            [
                (3.0 if not ref.uses else 1.0) * (1 + i / 4) * (0.3 if ref.constant else 1)
                for i, ref in enumerate(found)
            ]
        )
        return found[int(self.rng.choice(len(found), p=weights / weights.sum()))]

    # Nodes.

    def allowed(self, op_type: str, position: int, domain: str = "") -> tuple[int, ...]:
        """The element types that a schema gives an input."""
        try:
            schema = onnx.defs.get_schema(op_type, self.opset, domain)
        except onnx.defs.SchemaError:
            raise Reject(f"{op_type} does not exist") from None
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        return tuple(elem for elem in DTYPES if _text(elem) in formal.types)

    def node(
        self,
        op_type: str,
        inputs: Sequence[Ref | None],
        outputs: int = 1,
        domain: str = "",
        names: Sequence[str] | None = None,
        **attributes: Any,
    ) -> list[Ref]:
        """Append a node and return its results.

        Raises:
            Reject: the schema does not allow it, or the reference cannot compute it.
        """
        if domain == "":
            for position, ref in enumerate(inputs):
                if ref is not None and ref.elem not in self.allowed(op_type, position):
                    raise Reject(f"{op_type} does not take that type")
        given = [ref.name if ref is not None else "" for ref in inputs]
        while given and not given[-1]:
            given.pop()
        named = list(names) if names else [self.name() for _ in range(outputs)]
        node = helper.make_node(
            op_type,
            given,
            named,
            name=self.name() if self.chance(0.7) else "",
            domain=domain,
            **{key: value for key, value in attributes.items() if value is not None},
        )
        results = self._evaluated(node)
        self.nodes.append(node)
        for ref in inputs:
            if ref is not None:
                ref.uses += 1
        refs = [Ref(name, v.elem, v.array) for name, v in zip(named, results, strict=False) if name]
        self.refs.extend(refs)
        return refs

    def _evaluated(self, node: onnx.NodeProto) -> list[Value]:
        try:
            with np.errstate(all="ignore"):
                results = evaluate_node(node, self.scope, Mode())
        except Reject:
            raise
        except Exception as error:
            raise Reject(f"{node.op_type}: {type(error).__name__}: {error}") from error
        for value in results:
            if value is not None and (value.array.size > _LARGEST or value.array.ndim > _MOST_RANK):
                raise Reject("a result is too large")
        return results

    def attempt(self, maker: Callable[[Builder], object]) -> str:
        """Run a maker; where it gives up, take back what it has added and return its reason."""
        before = (
            len(self.nodes),
            len(self.refs),
            list(self.inputs),
            list(self.initializers),
            len(self.functions),
        )
        try:
            maker(self)
        except Reject as reason:
            del self.nodes[before[0] :]
            for ref in self.refs[before[1] :]:
                self.scope.values.pop(ref.name, None)
            del self.refs[before[1] :]
            self.inputs = {name: self.inputs[name] for name in before[2]}
            self.initializers = {name: self.initializers[name] for name in before[3]}
            del self.functions[before[4] :]
            return str(reason)
        return ""


def _wide_of(data: np.ndarray, elem: int) -> np.ndarray:
    return data.astype(np.float64) if is_float(elem) else data


def _text(elem: int) -> str:
    name = TensorProto.DataType.Name(elem).lower()
    return f"tensor({name})"
