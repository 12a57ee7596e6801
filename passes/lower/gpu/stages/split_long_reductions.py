# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-long-reductions`: reduces in two launches where outputs are too few to fill the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function, operations_named
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.reductions.reductions import farthest_stride
from xyntra.passes.lower.gpu.stages.collapsed_loops import with_joined_reductions
from xyntra.passes.lower.gpu.stages.long_reductions import (
    ReductionSplit,
    has_plain_maps,
    reduces,
    split,
)
from xyntra.passes.lower.gpu.stages.stage import Work, tidy
from xyntra.passes.lower.loops.access_strides import loop_extents
from xyntra.passes.lower.loops.linear_nest import LinearNest, is_linear, linear_nest
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.scalar_nest import is_scalar_code
from xyntra.passes.registry import register_pass

_MOST_BLOCKS = 2  # for each multiprocessor
_COLUMN_BYTES = 128  # of a block, where outputs are contiguous in memory
_MIN_ELEMENTS = 1 << 18
# Steps of the threads of a block, one after the other, that take longer than another launch: those
# of rows load vectors, and those of columns wait for memory with eight elements on their way.
_MOST_ROW_STEPS = 32
_MOST_COLUMN_STEPS = 12
_ROW_THREADS = 512
_COLUMN_STEP = 32 * 8  # elements
_MIN_PART = 256  # elements that are left to reduce to one
_LANES = 8  # of the longest vector
_VECTOR_BYTES = 16
# Elements of a row, and of a column, that the threads of a launch can hold for several operations.
_HELD_ROW = 1 << 18
_HELD_COLUMN = 1 << 10


@register_pass
@dataclass(frozen=True)
class SplitLongReductions:
    """Reduce parts first, and then what they give, where few blocks would have much to do.

    Contractions for tiles are left alone, and so are reductions of what other operations of the
    kernel read or write as well where these may share rows with them, in registers or in shared
    memory. Reductions over columns share no rows with one another.
    """

    name: ClassVar[str] = "split-long-reductions"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function, device = kernel_function(module), device_of(self.device)
        users = operations_named(function, "linalg.generic")
        among = Work.of(function).rest
        generics = [op for op in among if op.name == "linalg.generic" and reduces(op)]
        long = [each for each in generics if _is_long(each, device, users)]
        joined = [with_joined_reductions(each) for each in long]
        replaced = [each for each in long if each not in joined]
        for generic in joined:
            cut = _cut(generic, device)
            if cut is not None:
                split(generic, cut)
        for generic in replaced:
            generic.erase()
        tidy(function)


def _is_long(generic: ir.Operation, device: GpuDevice, generics: Sequence[ir.Operation]) -> bool:
    """Tell whether a reduction would leave most of the device idle, and has its rows to itself."""
    if not is_linear(generic) or not is_scalar_code(generic.regions[0].blocks[0]):
        return False
    if 0 in loop_extents(generic) or not has_plain_maps(generic):
        return False
    nest = linear_nest(generic, flat=False)
    outputs, length, of_rows = _sizes(nest)
    if _blocks(nest) > device.multiprocessors:
        return False
    if outputs * length < _MIN_ELEMENTS and not _has_many_steps(nest):
        return False
    held = _HELD_ROW if of_rows else _HELD_COLUMN
    if length > held and _blocks(nest) < device.multiprocessors:
        return True
    return not _shares_inputs(generic, generics)


def _has_many_steps(nest: LinearNest) -> bool:
    """Tell whether the threads of a block would wait for memory more often than a launch takes."""
    _, length, of_rows = _sizes(nest)
    if of_rows:
        step = _ROW_THREADS * max(1, _VECTOR_BYTES // _item_bytes(nest))
        return length > _MOST_ROW_STEPS * step
    return length > _MOST_COLUMN_STEPS * _COLUMN_STEP


def _sizes(nest: LinearNest) -> tuple[int, int, bool]:
    """Return how many outputs and elements of each there are, and if these are contiguous."""
    outputs = prod(loop.extent for loop in nest.loops if not loop.is_reduction)
    length = prod(nest.loops[number].extent for number in nest.reductions)
    of_rows = min(farthest_stride(nest, number) for number in nest.reductions) == 1
    return outputs, length, of_rows


def _blocks(nest: LinearNest) -> int:
    outputs, _, of_rows = _sizes(nest)
    return outputs if of_rows else -(-outputs * _item_bytes(nest) // _COLUMN_BYTES)


def _shares_inputs(generic: ir.Operation, generics: Sequence[ir.Operation]) -> bool:
    """Tell whether another operation may share rows of what a reduction reads."""
    read = set(map(root, _inputs(generic)))
    others = [op for op in generics if op != generic and read & set(map(root, _memory(op)))]
    if others and all(map(reduces, others)) and _is_of_columns(generic):
        return any(read & {root(list(op.operands)[-1])} for op in others)
    return bool(others)


def _is_of_columns(generic: ir.Operation) -> bool:
    """Tell whether a reduction shares no rows with any other: it does not walk through memory."""
    if not is_linear(generic):
        return False
    nest = linear_nest(generic, flat=False)
    return min(farthest_stride(nest, number) for number in nest.reductions) != 1


def _inputs(generic: ir.Operation) -> list[ir.Value]:
    count = generic.attributes["operandSegmentSizes"][0]
    given = list(generic.operands)[:count]
    return [value for value in given if isinstance(value.type, ir.MemRefType)]


def _memory(op: ir.Operation) -> list[ir.Value]:
    return [value for value in op.operands if isinstance(value.type, ir.MemRefType)]


def _cut(generic: ir.Operation, device: GpuDevice) -> ReductionSplit | None:
    """Return how to split a long reduction; None where it has no parts that can be combined."""
    nest = linear_nest(generic)
    combiner = Combiner.of(nest)
    if combiner is None:
        return None
    _, length, of_rows = _sizes(nest)
    most = min(_MOST_BLOCKS * device.multiprocessors // _blocks(nest), length // _MIN_PART)
    cuts = [_parts(nest.loops[number].extent, most) for number in nest.reductions]
    (parts, rest), loop = max(zip(cuts, nest.reductions, strict=True), key=lambda cut: cut[0])
    return ReductionSplit(loop, parts, of_rows, combiner, rest) if parts > 1 else None


def _parts(extent: int, most: int) -> tuple[int, int]:
    """Return in how many equal parts, which start where vectors can, and what is left behind."""
    found = max((each for each in range(1, most + 1) if _divides(each, extent)), default=1)
    if found * 4 >= min(most, extent // _MIN_PART):
        return found, 0
    length = extent // most // _LANES * _LANES
    return (most, extent - most * length) if length >= _MIN_PART else (found, 0)


def _divides(parts: int, extent: int) -> bool:
    """Tell whether `extent` has so many equal parts, which start where vectors can."""
    return extent % parts == 0 and gcd(extent // parts, _LANES) == gcd(extent, _LANES)


def _item_bytes(nest: LinearNest) -> int:
    kinds = [str(each.element_type) for each in nest.inputs]
    return max((ITEM_BYTES.get(kind, 1) for kind in kinds), default=1)
