# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes what a function keeps for its gradient again, where the gradient needs it.

The result of a checkpointed function is one node for the walk back. There, what was recorded is
recorded a second time on inputs that wait for the gradient, so that it is computed after the rest
of the forward pass and its first values need not be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from xyntra.array.arrays import Array, node_of, wrap
from xyntra.array.autograd.registry import BackwardStep
from xyntra.array.recorded.graph import LazyNode, RecordState, meta_of, number
from xyntra.array.recorded.record import COMPARE, numbers, where
from xyntra.array.trees import flatten, unflatten
from xyntra.array.views import reshape, slice_

__all__ = ["checkpoint", "recomputed"]

Gradients = Callable[
    [Sequence[Array], Sequence[Array | None], Sequence[LazyNode]], list[Array | None]
]


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes less memory where it is differentiated, and more time.

    What is computed between its arguments and its results is not kept for the gradient, but
    computed again. Arrays that it reads beside its arguments are kept. Random numbers are the same.

    Args:
        function: takes and returns arrays, and tuples, lists and dictionaries of them. Of several
            results, what the gradient of each needs is computed apart.
    """

    @wraps(function)
    def found(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        if not RecordState.keep:
            return result
        given = flatten((arguments, tuple(named.values())))
        inputs = [node_of(each) for each in given if isinstance(each, Array)]
        return unflatten(result, [_marked(each, inputs) for each in flatten(result)])

    return found


def _marked(result: Any, inputs: Sequence[LazyNode]) -> Any:
    if not isinstance(result, Array) or result.dtype.kind != "f":
        return result
    root = node_of(result)
    reached, ends = _between(root, inputs)
    if not reached:
        return result
    attrs = (("inputs", sum(each in inputs for each in ends)),)
    return wrap(LazyNode("recompute", (root, *ends), attrs, root.meta))


def _between(
    root: LazyNode, inputs: Sequence[LazyNode], only: bool = False
) -> tuple[list[LazyNode], list[LazyNode]]:
    """Return what is computed for a node, each after what it reads, and what that begins with.

    It begins with the inputs, which come first, and with what is there on the way back, too:
    values, arguments, what is differentiated by. With `only`, it begins with inputs alone.
    """
    known = set(inputs)
    order: list[LazyNode] = []
    ends: list[LazyNode] = []
    seen: set[LazyNode] = set()
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            if node in known or (not only and _is_there(node)):
                ends.append(node)
            elif node.args:
                stack.append((node, True))
                stack += [(each, False) for each in reversed(node.args)]
    ends.sort(key=lambda node: node not in known)
    return order, ends


def _is_there(node: LazyNode) -> bool:
    return node.value is not None or node.op in ("argument", "identity")


def recomputed(step: BackwardStep, gradients: Gradients) -> list[Array | None]:
    """Record the function again, and return the gradients of what it reads.

    Args:
        step: on the way back, at what a checkpointed function returned.
        gradients: walks back from results with their gradients to nodes.
    """
    root, *ends = step.node.args
    inputs = ends[: step.attr("inputs")]
    order, _ = _between(root, ends, only=True)
    late = _after(node_of(step.g))
    copies: dict[LazyNode, LazyNode] = {}
    for each in inputs:
        copies[each] = _waiting(each, late)
    for each in ends[len(inputs) :]:
        copies[each] = LazyNode("identity", (each,), (), each.meta)
    for node in order:
        args = tuple(copies.get(each, each) for each in node.args)
        copies[node] = LazyNode(node.op, args, node.attrs, node.meta)
    again = wrap(copies[root])
    found = gradients([again], [step.g], [copies[each] for each in ends])
    return [None, *found]


def _after(g: LazyNode) -> LazyNode:
    """Return a flag that never holds, which is known when a gradient is.

    No number exceeds infinity; compilers do not know that of a gradient.
    """
    rank = len(g.meta.shape)
    first = reshape(slice_(g, (0,) * rank, (1,) * rank, (1,) * rank), ())
    return numbers("greater", COMPARE, first, float("inf"))


def _waiting(node: LazyNode, late: LazyNode) -> LazyNode:
    """Return an array that is the given one once a flag is known."""
    zero = number(False if node.meta.dtype.kind == "b" else 0, meta_of((), node.meta.dtype))
    return where(late, zero, node)
