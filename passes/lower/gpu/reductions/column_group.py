# SPDX-License-Identifier: MIT OR Apache-2.0
"""A reduction whose outputs are contiguous in memory, with what is done to single outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.kernels.row_group import aligned
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, collapsed, reordered
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.vector_body import is_vectorizable, takes_indices

_MIN_LENGTH = 2
_MIN_COLUMNS = 2
_Where = tuple[int, tuple[int, ...]]  # the first element, and how far each loop moves on


@dataclass(frozen=True)
class ColumnGroup:
    """Nests with the same loops over outputs, the last of which walks through memory.

    Attributes:
        before: nests without reductions, in order.
        reduction: its loops that reduce come last.
        after: as `before`.
        combiner: how the reduction combines.
    """

    before: tuple[LinearNest, ...]
    reduction: LinearNest
    after: tuple[LinearNest, ...]
    combiner: Combiner

    @property
    def columns(self) -> tuple[tuple[int, int], ...]:
        """Number and extent of the loops over outputs."""
        loops = enumerate(self.reduction.loops)
        return tuple((number, loop.extent) for number, loop in loops if not loop.is_reduction)

    @property
    def rows(self) -> tuple[tuple[int, int], ...]:
        """Number and extent of the loops that reduce."""
        loops = self.reduction.loops
        return tuple((number, loops[number].extent) for number in self.reduction.reductions)


def column_group(nests: Sequence[LinearNest]) -> ColumnGroup | None:
    """Return `nests` as one group, None where they are none."""
    places = [number for number, nest in enumerate(nests) if nest.reductions]
    if len(places) != 1 or not all(_is_plain(nest) for nest in nests):
        return None
    place = places[0]
    combiner = Combiner.of(nests[place])
    if combiner is None:
        return None
    found = aligned([_parallel_first(nest) for nest in nests])
    if len(found) == 1:
        found = [_parallel_first(collapsed(nests[place]))]
    reduction = found[place]
    outputs = len(reduction.loops) - len(reduction.reductions)
    if outputs == 0 or any(nest.loops[:outputs] != reduction.loops[:outputs] for nest in found):
        return None
    if any(len(nest.loops) != outputs for nest in found if nest is not reduction):
        return None
    if not _walks_along_outputs(reduction, outputs) or not _are_linked(found, reduction):
        return None
    if not _is_legal(found, place, outputs):
        return None
    return ColumnGroup(tuple(found[:place]), reduction, tuple(found[place + 1 :]), combiner)


def _is_plain(nest: LinearNest) -> bool:
    if nest.reductions and nest.indices:
        return takes_indices(nest.body)
    return not nest.indices and is_vectorizable(nest.body)


def _parallel_first(nest: LinearNest) -> LinearNest:
    """Return a nest with the loops that reduce last, the others as its first output lies."""

    def place(number: int) -> tuple[bool, int]:
        is_reduction = nest.loops[number].is_reduction
        in_order = is_reduction or not nest.reductions or nest.loops[number].extent == 1
        return is_reduction, 0 if in_order else -nest.outputs[0].strides[number]

    return reordered(nest, sorted(range(len(nest.loops)), key=place))


def _walks_along_outputs(nest: LinearNest, outputs: int) -> bool:
    """Tell whether neighbouring outputs come from contiguous elements, and there are enough."""
    inner = outputs - 1
    steps = {each.strides[inner] for each in nest.inputs if not each.is_scalar}
    if nest.outputs[0].strides[inner] != 1 or 1 not in steps or not steps <= {0, 1}:
        return False
    length = prod(nest.loops[number].extent for number in nest.reductions)
    return length >= _MIN_LENGTH and nest.loops[inner].extent >= _MIN_COLUMNS


def _are_linked(nests: Sequence[LinearNest], reduction: LinearNest) -> bool:
    """Tell whether every nest has to do with what the reduction writes, or what comes of that."""
    linked = {root(reduction.outputs[0].value)}
    for nest in nests:
        touched = {root(each.value) for each in nest.accesses if not each.is_scalar}
        if not touched & linked:
            return False
        linked |= {root(each.value) for each in nest.outputs}
    return True


def _is_legal(nests: Sequence[LinearNest], place: int, outputs: int) -> bool:
    """Tell whether what one nest writes is touched, in all nests, at the same output alone."""
    written = {root(each.value) for nest in nests for each in nest.outputs}
    if any(root(each.value) in written for each in nests[place].inputs if not each.is_scalar):
        return False
    touched: dict[ir.Value, set[_Where]] = {}
    for nest in nests:
        for access in nest.accesses:
            if not access.is_scalar and root(access.value) in written:
                touched.setdefault(root(access.value), set()).add(_where(access, outputs))
    if any(len(found) != 1 for found in touched.values()):
        return False
    return all(_are_apart(found.pop(), nests[place]) for found in touched.values())


def _where(access: BufferOperand, outputs: int) -> _Where:
    return access.start, access.strides[:outputs]


def _are_apart(where: _Where, nest: LinearNest) -> bool:
    """Tell whether different outputs are different elements."""
    steps = sorted((step, loop.extent) for step, loop in zip(where[1], nest.loops, strict=False))
    occupied = 1
    for step, extent in steps:
        if step < occupied:
            return False
        occupied = step * extent
    return True
