# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the reductions on memrefs whose output is filled right before, and replaces them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.nests.epilogue import Joined, joined
from xyntra.passes.lower.nests.fills import fill_before
from xyntra.passes.lower.nests.following_elementwise import following_elementwise
from xyntra.passes.lower.nests.kernel_function import operations_named

Group = Sequence[ir.Operation]


def rewrite_filled_reductions(
    module: ir.Operation,
    is_wanted: Callable[[ir.Operation], bool],
    rewrite: Callable[[ir.Operation, ir.Operation], Group],
) -> None:
    """Let `rewrite` replace reductions below `module`, and erase what it has replaced.

    Args:
        module: where to look.
        is_wanted: tells whether a linalg.generic is such a reduction.
        rewrite: emits code for a reduction and the fill before it; returns the operations that the
            code takes the place of, in order, none where it has emitted nothing.
    """
    waiting = operations_named(module, "linalg.generic")
    while waiting:
        generic = waiting.pop(0)
        if not is_wanted(generic):
            continue
        fill = fill_before(generic)
        if fill is None:
            continue
        for op in reversed(rewrite(generic, fill)):
            if op in waiting:
                waiting.remove(op)
            op.erase()


def emit_with_following(
    generic: ir.Operation, fill: ir.Operation, emit: Callable[[Joined], bool]
) -> Group:
    """Emit a reduction together with what computes on its output next, or else alone.

    Args:
        generic: the reduction.
        fill: what its output starts from.
        emit: emits the code of one of the two at the insertion point; False where it cannot.

    Returns:
        The operations that the code takes the place of; none where there is no code.
    """
    following = following_elementwise(generic)
    for after in [following, None] if following is not None else [None]:
        group = [fill, generic, *([after] if after is not None else [])]
        with generic.context, generic.location, ir.InsertionPoint(group[-1]):
            together = joined(fill, generic, after)
            if together is not None and emit(together):
                return group
    return ()
