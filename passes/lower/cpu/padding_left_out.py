# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds padding in front of a window that changes nothing, so that it need not be written."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.filled_reductions import Filled
from xyntra.passes.lower.cpu.told import own_schedule
from xyntra.passes.lower.cpu.window_plan import Padding, ignores
from xyntra.passes.lower.nests.fills import initial_of
from xyntra.passes.lower.nests.kernel_function import terminator
from xyntra.passes.lower.nests.memrefs import root
from xyntra.passes.lower.nests.taken import Taken

__all__ = ["padding_of"]


def padding_of(place: Filled) -> Padding | None:
    """What pads the first input, where it pads with something that changes nothing."""
    generic, initial = place.op, place.initial
    memory = generic.operands[0]
    if isinstance(memory.owner, ir.Block) or memory.owner.name != "memref.alloc":
        return None
    uses = [use.owner.operation for use in memory.uses]
    views = [op for op in uses if op.name == "memref.subview"]
    others = [op for op in uses if op not in views and op != generic]
    if len(views) != 1 or len(others) != 1 or not place.taken.is_nest(others[0]):
        return None
    copies = [use.owner.operation for use in views[0].results[0].uses]
    if len(copies) != 1 or copies[0] in place.taken:
        return None
    if own_schedule(others[0]) or own_schedule(copies[0]):
        return None
    if not _is_copy(copies[0], views[0].results[0]):
        return None
    value = _filled_with(others[0])
    body = generic.regions[0].blocks[0]
    if not _come_in_order([others[0], copies[0], generic]) or not ignores(body, value, initial):
        return None
    source = copies[0].operands[0]
    if _is_written_between(copies[0], generic, source, place.taken):
        return None
    lows = tuple(ir.DenseI64ArrayAttr(views[0].attributes["static_offsets"]))
    steps = set(ir.DenseI64ArrayAttr(views[0].attributes["static_strides"]))
    if steps != {1} or len(lows) != len(source.type.shape):
        return None
    return Padding(source, lows, (others[0], copies[0]))


def _filled_with(op: ir.Operation) -> ir.Value | None:
    """The value that a linalg.generic without memory to read writes everywhere."""
    body = op.regions[0].blocks[0]
    if len(list(body.operations)) != 1 or op.attributes["operandSegmentSizes"][1] != 1:
        return None
    if len(op.operands) == 1:
        return initial_of(op)
    scalar = len(op.operands) == 2 and not isinstance(op.operands[0].type, ir.MemRefType)
    return initial_of(op) if scalar else None


def _is_copy(op: ir.Operation, target: ir.Value) -> bool:
    if op.name != "linalg.generic" or len(op.operands) != 2 or op.operands[1] != target:
        return False
    body = op.regions[0].blocks[0]
    if len(list(body.operations)) != 1 or terminator(body).operands[0] != body.arguments[0]:
        return False
    source = op.operands[0].type
    if not isinstance(source, ir.MemRefType) or "reduction" in str(op.attributes["iterator_types"]):
        return False
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    rank = len(source.shape)
    plain = ir.AffineMap.get_identity(rank, op.context)
    return bool(maps[0] == maps[1] == plain and source.has_static_shape)


def _come_in_order(ops: list[ir.Operation]) -> bool:
    block = [view.operation for view in ops[-1].block.operations]
    places = [block.index(op) if op in block else -1 for op in ops]
    return -1 not in places and places == sorted(places)


def _is_written_between(
    first: ir.Operation, last: ir.Operation, memory: ir.Value, taken: Taken
) -> bool:
    """Whether an operation between the two may write to `memory`."""
    whole = root(memory)
    block = list(taken.left(last.block))
    for op in block[block.index(first) + 1 : block.index(last)]:
        if taken.is_nest(op):
            written = list(op.operands)[op.attributes["operandSegmentSizes"][0] :]
            if any(root(value) == whole for value in written):
                return True
        elif len(op.regions) or op.name.startswith(("memref.store", "memref.copy", "scf.")):
            return True
    return False
