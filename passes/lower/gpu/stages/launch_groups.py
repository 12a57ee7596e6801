# SPDX-License-Identifier: MIT OR Apache-2.0
"""Groups neighbouring operations that one launch computes: exchanged rows and reductions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product, takewhile
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.elementwise.side_by_side import side_by_side_length
from xyntra.passes.lower.gpu.reductions.column_group import column_group
from xyntra.passes.lower.gpu.rows.row_accesses import wastes_sectors
from xyntra.passes.lower.gpu.rows.row_order import in_rows, in_single_rows
from xyntra.passes.lower.gpu.rows.row_plan import is_across, row_plan
from xyntra.passes.lower.gpu.stages.long_reductions import SPLIT
from xyntra.passes.lower.kernels.element_nests import are_independent
from xyntra.passes.lower.kernels.row_group import exchange_values
from xyntra.passes.lower.loops.linear_nest import LinearNest, is_linear, linear_nest
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.scalar_nest import is_scalar_code

_LONG_ROW = 4096  # elements
_SHORT_ROW = 16  # elements: a block is too much for a shorter one, where there are many
_FEW_ROWS = 1024  # whose blocks take less time than another launch
_BEFORE = 3  # operations before a reduction that it takes along at most


def launch_groups(
    work: Sequence[ir.Operation], device: GpuDevice, *, side_by_side: bool = True
) -> Iterator[list[ir.Operation]]:
    """Yield the operations of `work` in order, those that one launch computes together.

    Args:
        work: in order.
        device: that the code is for.
        side_by_side: whether operations that have nothing to do with one another may share one.
    """
    waiting = list(work)
    nests = [linear_nest(op) if is_nest(op) else None for op in work]
    while waiting:
        end = _end_of_split(waiting)
        first = list(_known(nests[:end]))
        length = max(_shared_length(first, waiting, device), _column_length(first))
        if side_by_side and length == 1 and not any(nest.reductions for nest in first):
            length = side_by_side_length(first, device)
        yield waiting[:length]
        del waiting[:length], nests[:length]


def _known(nests: Sequence[LinearNest | None]) -> Iterator[LinearNest]:
    """Yield `nests` up to the first None."""
    for nest in nests:
        if nest is None:
            return
        yield nest


def _end_of_split(work: Sequence[ir.Operation]) -> int:
    """Return how many of the first operations may share a launch: marked ones do so alone."""
    marked = [SPLIT in op.attributes for op in work]
    if not any(marked):
        return len(work)
    first = marked.index(True)
    return first or sum(takewhile(bool, marked))


def _column_length(nests: Sequence[LinearNest]) -> int:
    """Return how many of the first operations a reduction takes along; at least 1."""
    length = 1
    for count in range(1, len(nests) + 1):
        has_reduction = any(nest.reductions for nest in nests[:count])
        if has_reduction and column_group(nests[:count]) is None:
            break
        if has_reduction:
            length = count
        elif count >= _BEFORE:
            break
    return length


def _shared_length(
    nests: Sequence[LinearNest], work: Sequence[ir.Operation], device: GpuDevice
) -> int:
    """Return how many of the first operations can run row by row."""
    if not _exchange(nests):
        return 1
    length, longer = 1, _longer(nests, work, 1, device)
    while longer:
        length, longer = longer, _longer(nests, work, longer, device)
    return length if _exchange(nests[:length]) else 1


def _longer(
    nests: Sequence[LinearNest], work: Sequence[ir.Operation], length: int, device: GpuDevice
) -> int:
    """Return how many of the first operations share rows if more than `length` do; 0 if none do.

    What comes before a reduction may share rows for its sake alone.
    """
    for end in range(length + 1, min(len(nests), length + _BEFORE) + 1):
        if _share_rows(nests[:end], work[:end], device):
            if not _loses_registers(nests, work, length, end, device):
                return end
            continue  # what is filled first may be added to by what has to do with the others
        if any(nest.reductions for nest in nests[:end]):
            break
    return 0


def _loses_registers(
    nests: Sequence[LinearNest],
    work: Sequence[ir.Operation],
    length: int,
    end: int,
    device: GpuDevice,
) -> bool:
    """Tell whether rows would leave registers for operations that have nothing to do with them."""
    if not all(are_independent(*each) for each in product(nests[:length], nests[length:end])):
        return False

    def held(count: int) -> bool:
        if not any(nest.reductions for nest in nests[:count]):
            return False
        return row_plan(*in_single_rows(nests[:count]), work[:count], device) is not None

    return held(length) and not held(end)


def _share_rows(
    nests: Sequence[LinearNest], generics: Sequence[ir.Operation], device: GpuDevice
) -> bool:
    """Tell whether `nests` have rows in common, or all of them one row that threads can hold."""
    same, count = in_rows(nests)
    reduces = any(nest.reductions for nest in nests)
    if count and _longest(same, count) < _SHORT_ROW and _rows(same, count) > _FEW_ROWS:
        return row_plan(same, count, generics, device) is not None
    apart = reduces and count and (is_across(same, count) or wastes_sectors(same, count))
    if count and not apart and not _starves(same, count, device):
        return True
    return reduces and row_plan(*in_single_rows(nests), generics, device) is not None


def _starves(nests: Sequence[LinearNest], count: int, device: GpuDevice) -> bool:
    """Tell whether a block for each row would leave most of the device idle for long.

    Where a single nest goes along the rows, blocks share it out in the same way by itself.
    """
    if sum(len(nest.loops) > count for nest in nests) < 2:
        return False
    return _rows(nests, count) < device.multiprocessors and _longest(nests, count) >= _LONG_ROW


def _rows(nests: Sequence[LinearNest], count: int) -> int:
    return prod(loop.extent for loop in nests[0].loops[:count])


def _longest(nests: Sequence[LinearNest], count: int) -> int:
    """Return the most elements of a row that a nest goes through."""
    return max(prod(loop.extent for loop in nest.loops[count:]) for nest in nests)


def _exchange(nests: Sequence[LinearNest]) -> bool:
    """Tell whether one of `nests` reads, or adds to, what another one writes."""
    if exchange_values(nests):
        return True
    filled: set[ir.Value] = set()
    for nest in nests:
        outputs = {root(each.value) for each in nest.outputs}
        if nest.reductions and outputs & filled:
            return True
        filled |= outputs
    return False


def is_nest(op: ir.Operation) -> bool:
    """Tell whether `op` is loops around scalar code, with accesses linear in the loops."""
    if op.name != "linalg.generic" or not is_linear(op):
        return False
    return is_scalar_code(op.regions[0].blocks[0])
