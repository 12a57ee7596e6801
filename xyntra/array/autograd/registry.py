# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps a rule for the gradient of each operation, and what the rules have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xyntra.array.arrays import Array, node_of, wrap
from xyntra.array.functions.reductions import reduced
from xyntra.array.recorded.graph import LazyNode, attributes
from xyntra.array.views import broadcast, reshape

__all__ = ["CONSTANT", "RULES", "BackwardStep", "rule", "rules", "summed_to", "zeros_of"]


class BackwardStep:
    """One operation on the way back.

    Attributes:
        node: the operation.
        g: the gradient of its result.
        out: its result.
        args: its operands.
    """

    __slots__ = ("args", "g", "node", "out")

    def __init__(self, node: LazyNode, g: Array) -> None:
        self.node = node
        self.g = g
        self.out = wrap_again(node)
        self.args = tuple(wrap_again(each) for each in node.args)

    def attr(self, name: str) -> Any:
        """Return an attribute of the operation."""
        return attributes(self.node)[name]


Rule = Callable[[BackwardStep], Sequence["Array | None"]]
RULES: dict[str, Rule] = {}
"""For each operation what makes the gradients of its operands; None for one that has none."""
CONSTANT = frozenset(
    """
    floor ceil round trunc sign isnan isinf isfinite signbit logical_not logical_and logical_or
    logical_xor equal not_equal less less_equal greater greater_equal bitwise_and bitwise_or
    bitwise_xor bitwise_invert bitwise_left_shift bitwise_right_shift any all argmax argmin argsort
    top_k_places searchsorted stop full arange linspace eye random_bits floor_divide nextafter
    matrix_rank
    """.split()
)
"""Operations whose results do not change with their operands, or only by steps."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the rule of the operations `names`."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


def rules(**functions: Callable[[BackwardStep], Any]) -> None:
    """Register rules of operations of one operand."""
    for name, function in functions.items():
        RULES[name] = _single(function)


def _single(function: Callable[[BackwardStep], Any]) -> Rule:
    return lambda step: (function(step),)


def wrap_again(node: LazyNode) -> Array:
    """Return an array for a node, which stays that of the array that the user holds."""
    handle = node.handle
    array = wrap(node)
    node.handle = handle
    return array


def summed_to(g: Array, shape: tuple[int, ...]) -> Array:
    """Return a gradient summed over the dimensions in which its operand was broadcast."""
    own = g.shape
    if own == shape:
        return g
    extra = len(own) - len(shape)
    axes = tuple(
        d for d, size in enumerate(own) if d < extra or (shape[d - extra] == 1 and size != 1)
    )
    node = reduced("sum", node_of(g), axes, False, g.dtype) if axes else node_of(g)
    return wrap(reshape(node, shape))


def spread(g: Array, axes: Sequence[int], shape: tuple[int, ...]) -> Array:
    """Return the gradient of a reduction's result beside each element of its operand."""
    single = tuple(1 if d in axes else n for d, n in enumerate(shape))
    return wrap(broadcast(reshape(node_of(g), single), shape))


def zeros_of(array: Array) -> Array:
    """Return zeros of the shape and the type of an array."""
    return wrap(LazyNode("full", (), (("value", 0),), array._node.meta))
