# SPDX-License-Identifier: MIT OR Apache-2.0
"""`align-operands`: factors whose rows cannot be copied 16 bytes at once get longer rows first.

TMA needs rows that lie a multiple of 16 bytes apart. Where a factor has others, such as a matrix
with 513 columns, a copy with longer rows and then warpgroups take less time than warps that load
its elements one by one: on an H100, 777x1001x513 took 9.8 us instead of 36, 333x555x777 7.7 instead
of 31. So do fused multiply-adds in f32, whose threads wait for copies of single elements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import make_stage
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.cuda.matmul.select import (
    plan_on_cores,
    plan_on_warpgroups,
    plan_on_warps,
    time_on_cores,
    time_on_warps,
)
from xyntra.passes.lower.gpu.contraction.group import ANCHOR, ContractionGroup
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.stages.generalize_copies import copying
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of, tidy
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.memrefs import allocate, is_contiguous
from xyntra.passes.registry import register_pass

_ROW_BYTES = 16  # that rows lie a multiple of apart
_TYPES = ("f16", "bf16", "f32")
_LAUNCH = 1.3  # microseconds, of one more kernel
_COPY = 1.2e6  # bytes in a microsecond, read or written


@register_pass
@dataclass(frozen=True)
class AlignOperands:
    """Put stages before contractions that copy factors to aligned rows, where that is faster."""

    name: ClassVar[str] = "align-operands"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        device = device_of(self.device)
        function = kernel_function(module)
        for stage in stages_of(function):
            for number in _worth_copying(stage, device):
                _copy(stage, number)
        tidy(function)


def _worth_copying(stage: Stage, device: GpuDevice) -> list[int]:
    """Return the numbers of the inputs of a stage's contraction that should be copied."""
    group = stage.contraction
    if group is None or group.windows:
        return []
    if plan_on_warpgroups(group, device) is not None:
        return []
    generic = _contraction(stage)
    inputs = list(group.nest.inputs)
    factors = [
        number
        for number in (group.roles.left, group.roles.right)
        if number < len(generic.operands) and _is_short_of(generic.operands[number])
    ]
    for number in factors:
        longer = _with_longer_rows(inputs[number], generic.operands[number])
        if longer is None:
            return []
        inputs[number] = longer
    if not factors:
        return []
    aligned = replace(group, nest=replace(group.nest, inputs=tuple(inputs)))
    copies = sum(_microseconds(generic.operands[number]) for number in factors)
    return factors if copies < _saved(group, aligned, device) else []


def _saved(group: ContractionGroup, aligned: ContractionGroup, device: GpuDevice) -> float:
    """Return about how many microseconds less a contraction takes with aligned factors."""
    on_warps = plan_on_warps(group, device)
    if on_warps is not None:
        plan = plan_on_warpgroups(aligned, device)
        return 0.0 if plan is None else time_on_warps(on_warps) - plan.microseconds
    before, after = (plan_on_cores(each, device) for each in (group, aligned))
    if before is None or after is None or after.copies_singles:
        return 0.0
    return time_on_cores(before) - time_on_cores(after)


def _contraction(stage: Stage) -> ir.Operation:
    return next(op for op in stage.operations if ANCHOR in op.attributes)


def _is_short_of(value: ir.Value) -> bool:
    """Tell whether rows of a memref are a few elements too short for copies of 16 bytes."""
    kind = ir.MemRefType(value.type)
    if str(kind.element_type) not in _TYPES or kind.rank < 2 or not is_contiguous(value):
        return False
    return bool(kind.shape[-1] % _lanes(kind))


def _with_longer_rows(access: BufferOperand, value: ir.Value) -> BufferOperand | None:
    """Return `access` to a copy of `value` with longer rows; None where rows are not walked so."""
    row = ir.MemRefType(value.type).shape[-1]
    if any(step > 1 and step % row for step in access.strides) or access.offset:
        return None
    longer = _longer(value)
    strides = tuple(step if step <= 1 else step // row * longer for step in access.strides)
    return replace(access, strides=strides)


def _longer(value: ir.Value) -> int:
    kind = ir.MemRefType(value.type)
    lanes = _lanes(kind)
    return int(-(-kind.shape[-1] // lanes) * lanes)


def _lanes(kind: ir.MemRefType) -> int:
    return _ROW_BYTES // ITEM_BYTES[str(kind.element_type)]


def _microseconds(value: ir.Value) -> float:
    """Return about how long it takes to copy a memref that is in the cache."""
    kind = ir.MemRefType(value.type)
    nbytes: int = prod(kind.shape) * ITEM_BYTES[str(kind.element_type)]
    return _LAUNCH + 2 * nbytes / _COPY


def _copy(stage: Stage, number: int) -> None:
    """Put a stage that copies input `number` of a stage's contraction before the stage."""
    generic = _contraction(stage)
    source = generic.operands[number]
    with stage.op.location, ir.InsertionPoint(stage.op):
        target = _longer_rows(source)
        make_stage([copying(source, target)])
    generic.operands[number] = target


def _longer_rows(value: ir.Value) -> ir.Value:
    """Return new memory for what `value` holds, as a view of its shape on longer rows."""
    kind = ir.MemRefType(value.type)
    shape = [*kind.shape[:-1], _longer(value)]
    whole = allocate(shape, kind.element_type)
    strides = [prod(shape[place + 1 :]) for place in range(len(shape))]
    layout = ir.StridedLayoutAttr.get(0, strides)
    view = ir.MemRefType.get(kind.shape, kind.element_type, layout)
    return ir.Operation.create(
        "memref.subview",
        results=[view],
        operands=[whole],
        attributes={
            "static_offsets": ir.DenseI64ArrayAttr.get([0] * kind.rank),
            "static_sizes": ir.DenseI64ArrayAttr.get(list(kind.shape)),
            "static_strides": ir.DenseI64ArrayAttr.get([1] * kind.rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
        },
    ).result
