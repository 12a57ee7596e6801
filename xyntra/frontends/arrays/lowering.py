# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps the lowering of each operation of recorded graphs, and lends those of PyTorch's operators.

An operation's operands are its argument `args`, in order; the others are its attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from xyntra.dialects.builder import Operand, Tensor
from xyntra.frontends.torch.node import AtenNode, Handler, Result
from xyntra.frontends.torch.node import find_handler as find_aten

__all__ = ["args", "by_aten", "find_lowering", "lowers", "operations", "tensor"]

_MODULES = (
    "elementwise", "compare", "make", "shape", "reduce", "products", "indexing", "random", "nn",
    "kernel",
)  # fmt: skip
_PREFIX = "array."
_LOWERINGS: dict[str, Handler] = {}


def lowers(*names: str) -> Callable[[Handler], Handler]:
    """Register the decorated function as the lowering of the operations `names`.

    Raises:
        ValueError: an operation has two lowerings.
    """

    def register(handler: Handler) -> Handler:
        for name in names:
            if name in _LOWERINGS:
                raise ValueError(f"operation {name} has two lowerings")
            _LOWERINGS[name] = handler
        return handler

    return register


@cache
def _load() -> None:
    for module in _MODULES:
        import_module(f"xyntra.frontends.arrays.ops.{module}")


def operations() -> list[str]:
    """Return the names of all operations, sorted."""
    _load()
    return sorted(_LOWERINGS)


def find_lowering(operator: str) -> Handler | None:
    """Return the lowering of an operator such as `array.add`, or None."""
    _load()
    if not operator.startswith(_PREFIX):
        return find_aten(operator)
    return _LOWERINGS.get(operator.removeprefix(_PREFIX))


def args(node: AtenNode) -> Sequence[Operand]:
    """Return the operands of an operation."""
    found: Sequence[Operand] = node["args"]
    return found


def tensor(node: AtenNode, place: int) -> Tensor:
    """Return an operand as a tensor of the program."""
    return node.b.tensor(args(node)[place])


def name_of(node: AtenNode) -> str:
    """Return the name of the operation."""
    return node.call.operator.removeprefix(_PREFIX)


def by_aten(
    node: AtenNode, operator: str, results: Sequence[Any] | None = None, **arguments: Any
) -> Any:
    """Return what the importer of one of PyTorch's operators makes of these arguments.

    Args:
        node: the operation.
        operator: such as `sum`.
        results: the types of its results, where they are not those of the operation.
        arguments: by the names of its schema.
    """
    handler = find_aten(f"aten.{operator}.default")
    if handler is None:
        raise KeyError(operator)
    call = replace(
        node.call,
        operator=f"aten.{operator}.default",
        results=node.call.results if results is None else tuple(results),
    )
    found: Result | Sequence[Result] = handler(AtenNode(call, arguments, node.b))
    return found
