# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the operations right before a contraction that make what it reads."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.lower.cpu.schedule.told import own_schedule
from xyntra.passes.lower.kernels.row_group import aligned, shared_loops
from xyntra.passes.lower.loops.linear_nest import is_linear, linear_nest
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.scalar_nest import is_scalar_code
from xyntra.passes.lower.loops.taken import NOTHING_TAKEN, Taken

_PASSIVE = MEMREF_VIEWS | {"arith.constant", "memref.alloc"}
_MOST = 6  # operations


def preceding_nests(
    fill: ir.Operation,
    contraction: ir.Operation,
    following: ir.Operation | None,
    taken: Taken = NOTHING_TAKEN,
) -> list[ir.Operation]:
    """Return neighbours in front of `contraction` that can share outer loops with it.

    Such is a padding for a window over each channel: with the loop over channels shared, one padded
    channel is all that is ever in memory. Empty where nothing of the kind is there.

    Args:
        fill: gives the result its first value; does not count as a neighbour.
        contraction: a linalg.generic that satisfies `is_linear`.
        following: what is computed in its loops as well.
        taken: what is no neighbour any more.
    """
    neighbours = _neighbours(fill, contraction, following, taken)
    read = {root(each) for each in contraction.operands if isinstance(each.type, ir.MemRefType)}
    while neighbours:
        written = {root(value) for op in neighbours for value in _outputs(op)}
        if not written & read:
            return []
        with contraction.context:
            nests = [linear_nest(op, flat=False) for op in [*neighbours, contraction]]
            if shared_loops(aligned(nests)):
                return neighbours
        neighbours = neighbours[1:]
    return []


def _neighbours(
    fill: ir.Operation, contraction: ir.Operation, following: ir.Operation | None, taken: Taken
) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    passed = False
    for op in taken.left(contraction.parent.regions[0].blocks[0]):
        if op.name in _PASSIVE or op == fill:
            continue
        if op == contraction:
            passed = True
        elif passed:
            return found[-_MOST:] if following is None or op == following else []
        elif taken.is_nest(op) and is_linear(op) and _is_plain(op) and not own_schedule(op):
            found.append(op)
        else:
            found = []
    return found[-_MOST:]


def _is_plain(op: ir.Operation) -> bool:
    return is_scalar_code(op.regions[0].blocks[0])


def _outputs(op: ir.Operation) -> list[ir.Value]:
    return list(op.operands)[op.attributes["operandSegmentSizes"][0] :]
