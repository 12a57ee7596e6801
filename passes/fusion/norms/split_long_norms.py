# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-long-norms`: norms of long or interleaved rows become statistics of their parts."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.fusion.norms.interleaved_norms import (
    ColumnNorm,
    InterleavedNorm,
    channel_column,
    column_length,
    interleaved_rows,
    is_of_columns,
)
from xyntra.passes.fusion.norms.keep_layout import kept_layout
from xyntra.passes.fusion.norms.norm_in_parts import LAYER_NORM, RMS_NORM, MovedNorm, NormInParts
from xyntra.passes.fusion.norms.rows_of_views import row_source
from xyntra.passes.fusion.partition.group import SMALL_BYTES
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass
from xyntra.passes.targets.table import TARGETS, TargetName
from xyntra.passes.targets.target import Machine, Target

__all__ = ["SplitLongNorms"]

_HELD_ROW = 1 << 18  # elements that the blocks of a cluster hold
_HELD_BY_BLOCK = 36 << 10
_CLUSTER = 8  # blocks
_MULTIPROCESSORS = 132
_BLOCKS = 4  # of each multiprocessor, where each has a part
_PARTS = (256, 8192)  # elements of a part: what a few warps hold in registers
_WIDE = ("float32", "float64")  # what vectors of a CPU add up
_LAUNCHES = 2  # more than for whole rows


@register_pass
@dataclass(frozen=True)
class SplitLongNorms:
    """Replace norms of long or interleaved rows by statistics of parts, and arithmetic.

    A row is computed by a block, or by the blocks of a cluster: where it does not fit them, or
    there are too few to keep memory busy, the parts are the rows instead. On CPUs these are the
    rows where the whole ones are too long for one kernel to keep. A norm of what is only moved,
    such as an image with its channels last, is computed where it lies; the parts of groups of
    channels are columns, so that threads, or elements of a vector, side by side read neighbours.
    """

    name: ClassVar[str] = "split-long-norms"
    target: TargetName = "cuda"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        for block in function_blocks(module):
            norms = [v.operation for v in block.operations if v.name in (LAYER_NORM, RMS_NORM)]
            for op in norms:
                replaced += _split(op, block, TARGETS[self.target])
        erase_unused(replaced)


def _split(op: ir.Operation, block: ir.Block, target: Target) -> list[ir.Operation]:
    """Build what takes the place of a norm, and return what it replaces."""
    if not all(ir.RankedTensorType(value.type).has_static_shape for value in op.operands):
        return []
    builder = TensorBuilder(ir.InsertionPoint(op), op.location)
    x = Tensor.of(op.operands[0])
    norm = _norm_in_parts(op, builder, x, target)
    if norm is None:
        return []
    lies = norm.normalised()
    transposes = [numbers for name, numbers in norm.source.views if name == "transpose"]
    if len(transposes) == 1 and len(op.operands) == 1:
        shape = [lies.shape[each] for each in transposes[0]]
        ends = kept_layout(block, op.results[0], lies, transposes[0], shape)
        if ends:
            return [*ends, op]
    finished = norm.finished(lies, x).value
    op.results[0].replace_all_uses_with(finished)
    return [*_without_detours(finished), op]


def _without_detours(value: ir.Value) -> list[ir.Operation]:
    """Let what reads a reshape of a reshape read what has that shape already.

    Returns the reshapes that nothing reads then.
    """
    known, source = dict[ir.Type, ir.Value](), value
    while (owner := owner_of(source, *RESHAPES)) is not None:
        source = owner.operands[0]
        known.setdefault(source.type, source)
    waiting, unread = [value], list[ir.Operation]()
    while waiting:
        for use in list(waiting.pop().uses):
            op = use.owner.operation
            if op.name not in RESHAPES or op in unread:
                continue
            shaped = known.get(op.results[0].type, op.results[0])
            if shaped not in (op.results[0], value):
                op.results[0].replace_all_uses_with(shaped)
                unread.append(op)
            waiting.append(shaped)
    return unread


def _norm_in_parts(
    op: ir.Operation, builder: TensorBuilder, x: Tensor, target: Target
) -> NormInParts | None:
    """Return a norm with the parts that suit it; None where whole rows are faster."""
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    rows, length = prod(x.shape[:axis]), prod(x.shape[axis:])
    is_moved = target.is_simt or x.dtype in _WIDE
    found = interleaved_rows(x, rows) if is_moved else None
    if found is not None:
        column = column_length(found) if target.is_simt else channel_column(found)
        if column:
            return InterleavedNorm.of(op, builder, found, column)
        if is_of_columns(op, found, target.limits.max_column_bytes):
            return ColumnNorm.of(op, builder, found, found.places)
    part = _part(rows, length)
    kind = ir.RankedTensorType(op.operands[0].type)
    pays = _pays_for_threads if target.is_simt else _pays_for_cores
    source = row_source(x, rows)
    item = ITEM_BYTES.get(str(kind.element_type), 4)
    if part and pays(target.machine, rows, length, item):
        return NormInParts(op, builder, source, rows, length, part)
    is_held = length <= _HELD_ROW and (len(op.operands) == 1 or x.dtype in _WIDE)
    if source.views and is_moved and (is_held or not target.is_simt):
        return MovedNorm(op, builder, source, rows, length, length)
    return None


def _pays_for_threads(machine: Machine, rows: int, length: int, item: int) -> bool:
    """Tell whether blocks for whole rows take longer than more launches with blocks for parts."""
    if length > _HELD_ROW:
        return True
    nanoseconds = 2 * rows * length * item / machine.bytes_per_ns
    blocks = rows * (_CLUSTER if length > _HELD_BY_BLOCK else 1)
    # One multiprocessor by itself has about twice its share of the bandwidth.
    share = min(1.0, 2 * blocks / _MULTIPROCESSORS)
    return nanoseconds / share > 1.5 * nanoseconds + _LAUNCHES * machine.launch_ns


def _pays_for_cores(machine: Machine, rows: int, length: int, item: int) -> bool:
    """Tell whether one kernel would not compute whole rows with what follows them."""
    return length * item > (machine.max_row_bytes if rows > 1 else SMALL_BYTES)


def _part(rows: int, length: int) -> int:
    """Return how many elements each of the equal parts of a row has; 0 where there are none."""
    least, most = _PARTS
    wanted = min(most, max(4 * least, rows * length // (_BLOCKS * _MULTIPROCESSORS)))
    divisors = _divisors(length)
    found = max((each for each in divisors if least <= each <= wanted), default=0)
    return found or min((each for each in divisors if wanted < each <= 4 * most), default=0)


def _divisors(length: int) -> list[int]:
    """Return the divisors of `length` that a part can have, multiples of a vector if any is."""
    found = [each for each in range(1, min(length, 4 * _PARTS[1]) + 1) if length % each == 0]
    return [each for each in found if each % 8 == 0] if length % 8 == 0 else found
