# SPDX-License-Identifier: MIT OR Apache-2.0
"""Walks a recorded graph back and records the gradients of its inputs."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.array.arrays import Array, node_of, wrap
from xyntra.array.autograd import elementwise, matrices, networks, structure
from xyntra.array.autograd.checkpoints import recomputed
from xyntra.array.autograd.registry import CONSTANT, RULES, BackwardStep, rule
from xyntra.array.recorded.graph import LazyNode, attributes
from xyntra.errors import UnsupportedError

__all__ = ["gradients", "pin"]

_RULES = (elementwise, structure, networks, matrices)
"""The modules that hold the rules."""


def _order(roots: Sequence[LazyNode], wanted: set[LazyNode]) -> list[LazyNode]:
    """Return the nodes that depend on wanted ones, each after those that it reads."""
    depends: dict[LazyNode, bool] = dict.fromkeys(wanted, True)
    order: list[LazyNode] = []
    stack = list(roots)
    while stack:
        node = stack[-1]
        if node in depends:
            stack.pop()
            continue
        waiting = [each for each in node.args if each not in depends]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        depends[node] = any(depends[each] for each in node.args)
        if depends[node] and node.op not in CONSTANT:
            order.append(node)
        elif node.op in CONSTANT:
            depends[node] = False
    return order


def pin(outputs: Sequence[Array], inputs: Sequence[LazyNode]) -> None:
    """Let nodes between inputs and outputs keep what they are made of when they are computed."""
    for node in _order([node_of(each) for each in outputs], set(inputs)):
        node.pinned = True


def gradients(
    outputs: Sequence[Array], upstream: Sequence[Array | None], inputs: Sequence[LazyNode]
) -> list[Array | None]:
    """Return the gradients of inputs, None for one that no output depends on.

    Args:
        outputs: what was computed.
        upstream: the gradient of each output, None for 0.
        inputs: nodes of the graph of the outputs.

    Raises:
        UnsupportedError: `array-gradient`: an operation on the way has no rule.
    """
    roots = [node_of(each) for each in outputs]
    order = _order(roots, set(inputs))
    found: dict[LazyNode, Array] = {}
    for node, g in zip(roots, upstream, strict=True):
        if g is not None and node.meta.dtype.kind == "f":
            _add(found, node, g.astype(node.meta.dtype, copy=False))
    active = {*order, *inputs}
    for node in reversed(order):
        own = found.pop(node, None)
        if own is None:
            continue
        rule = RULES.get(node.op)
        if rule is None:
            raise UnsupportedError(
                "array-gradient",
                f"{node.op} has no gradient",
                cause=_why(node),
                hint="xa.stop_gradient(x) leaves it out",
            )
        for each, g in zip(node.args, rule(BackwardStep(node, own)), strict=True):
            if g is not None and each in active and each.meta.dtype.kind == "f":
                _add(found, each, g)
    return [found.get(each) for each in inputs]


@rule("recompute")
def _recomputed(step: BackwardStep) -> list[Array | None]:
    return recomputed(step, gradients)


def _why(node: LazyNode) -> str | None:
    """Return what a kernel consists of that has no gradient; None for other operations."""
    if node.op != "kernel":
        return None
    return f"of its operators, {attributes(node)['refused']} has none"


def _add(found: dict[LazyNode, Array], node: LazyNode, g: Array) -> None:
    known = found.get(node)
    found[node] = wrap(node_of(g)) if known is None else known + g
