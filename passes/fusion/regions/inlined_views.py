# SPDX-License-Identifier: MIT OR Apache-2.0
"""Brings what regions read through slices, and from fills, into the regions themselves.

A region may read reshapes of a buffer from around it, for which the plan has no code to run. A
part of a buffer and a tensor of one value are nothing that could be passed to a kernel: they are
cloned into every region that reads them. Where something else reads them, they are copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import member_of
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.fusion.graph.block_graph import reads_no_tensor

__all__ = ["inline_views", "inline_views_of_block"]

_CALLERS = frozenset({"func.call", "func.return"})
"""Operations that take buffers, and whose operands no region can compute for itself."""


def inline_views_of_block(block: ir.Block) -> None:
    """Do so for every region of `block`, and copy parts of tensors that calls take."""
    parts = [view.operation for view in block.operations if _is_inlined(view.operation)]
    if not parts:
        return
    readers = [use for op in parts for use in _readers(op)]
    regions = {member_of(block, op): None for op, _ in readers if op.block != block}
    for region in regions:
        if region.name == "xyntra.fused":
            inline_views(region)
    for op, position in readers:
        if op.block == block and op.name in _CALLERS:
            _copy_operand(op, position)
    for op in reversed(parts):
        _erase_unused(op)


def inline_views(fused: ir.Operation) -> None:
    """Clone into the region `fused` the slices and fills around it that it reads."""
    start = next(iter(fused.regions[0].blocks[0].operations)).operation
    cloned: dict[ir.Value, ir.Value] = {}
    for op in list(nested_operations(fused)):
        for position, value in enumerate(op.operands):
            if _shows_part(value, fused.block):
                op.operands[position] = _cloned(value, fused.block, start, cloned)


def _is_inlined(op: ir.Operation) -> bool:
    """Tell whether `op` gives a tensor that only exists where it is read."""
    if op.name == "tensor.extract_slice":
        return len(op.operands) == 1
    return reads_no_tensor(op) and len(op.results) == 1


def _readers(op: ir.Operation) -> Iterator[tuple[ir.Operation, int]]:
    """Who reads the result of `op`, straight or through reshapes."""
    for use in op.results[0].uses:
        reader = use.owner.operation
        if reader.block == op.block and (reader.name in RESHAPES or _is_inlined(reader)):
            yield from _readers(reader)
        else:
            yield reader, use.operand_number


def _shows_part(value: ir.Value, block: ir.Block) -> bool:
    """Whether an inlined operation of `block` lies between `value` and the buffer behind it."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.block == block:
        op = value.owner.operation
        if _is_inlined(op):
            return True
        if op.name not in RESHAPES:
            break
        value = op.operands[0]
    return False


def _cloned(
    value: ir.Value, block: ir.Block, place: ir.Operation, cloned: dict[ir.Value, ir.Value]
) -> ir.Value:
    """Return what stands for `value`, of `block`, in the region that begins with `place`."""
    if value not in cloned:
        op = value.owner.operation
        operands = [
            _cloned(operand, block, place, cloned)
            if _shows_part(operand, block) or _is_empty(operand)
            else operand
            for operand in op.operands
        ]
        clone = op.clone(ip=ir.InsertionPoint(place)).operation
        for position, operand in enumerate(operands):
            clone.operands[position] = operand
        cloned[value] = clone.results[0]
    return cloned[value]


def _is_empty(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == "tensor.empty"


def _copy_operand(op: ir.Operation, position: int) -> None:
    """Let `op` take a copy of its operand."""
    value = op.operands[position]
    kind = ir.RankedTensorType(value.type)
    builder = TensorBuilder(ir.InsertionPoint(op), op.location)
    source = Tensor.of(value)
    copy = builder.view(source, list(kind.shape), lambda *dimensions: list(dimensions))
    op.operands[position] = copy.value


def _erase_unused(op: ir.Operation) -> None:
    """Erase `op`, of one result, with the reshapes of it that nothing reads."""
    for use in list(op.results[0].uses):
        reader = use.owner.operation
        if reader.block == op.block and reader.name in RESHAPES:
            _erase_unused(reader)
    if next(iter(op.results[0].uses), None) is None:
        op.erase()
