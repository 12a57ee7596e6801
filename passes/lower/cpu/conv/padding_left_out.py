# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds padding in front of a window that changes nothing, so that it need not be written."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.lower.cpu.conv.window_plan import FramedInput, ignores
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled
from xyntra.passes.lower.cpu.schedule.told import own_schedule
from xyntra.passes.lower.kernels.fills import initial_of
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.taken import Taken

__all__ = ["padding_of"]


def padding_of(place: Filled) -> FramedInput | None:
    """Return what pads the first input, where it pads with something that changes nothing."""
    generic, initial = place.op, place.initial
    memory = generic.operands[0]
    if isinstance(memory.owner, ir.Block) or memory.owner.name != "memref.alloc":
        return None
    uses = [use.owner.operation for use in memory.uses]
    views = [op for op in uses if op.name == "memref.subview"]
    others = [op for op in uses if op not in views and op != generic]
    if len(views) != 1 or len(others) != 1 or not place.taken.is_nest(others[0]):
        return None
    frame, view = others[0], views[0]
    writers = [use.owner.operation for use in view.results[0].uses]
    if len(writers) != 1 or writers[0] in place.taken or own_schedule(frame):
        return None
    body = generic.regions[0].blocks[0]
    is_ordered = _come_in_order([frame, writers[0], generic])
    if not is_ordered or not ignores(body, _filled_with(frame), initial):
        return None
    lows = tuple(ir.DenseI64ArrayAttr(view.attributes["static_offsets"]))
    steps = set(ir.DenseI64ArrayAttr(view.attributes["static_strides"]))
    if steps != {1} or len(lows) != len(view.results[0].type.shape):
        return None
    return _inside(place, frame, view.results[0], writers[0], lows)


def _inside(
    place: Filled,
    frame: ir.Operation,
    inside: ir.Value,
    writer: ir.Operation,
    lows: tuple[int, ...],
) -> FramedInput | None:
    """Return what is read instead: what is copied into the frame, or else what is written there."""
    if _is_copy(writer, inside) and not own_schedule(writer):
        source = writer.operands[0]
        if not _is_written_between(writer, place.op, source, place.taken):
            return FramedInput(source, lows, (frame, writer))
    if not _only_writes(writer, inside) or not inside.type.has_static_shape:
        return None
    return FramedInput(inside, lows, (frame,), is_part=True)


def _only_writes(op: ir.Operation, target: ir.Value) -> bool:
    """Tell whether `op` writes every element of `target` once, and reads none."""
    if op.name != "linalg.generic" or "reduction" in str(op.attributes["iterator_types"]):
        return False
    inputs = op.attributes["operandSegmentSizes"][0]
    places = [number for number, value in enumerate(op.operands) if value == target]
    if len(places) != 1 or places[0] < inputs:
        return False
    map_ = ir.AffineMapAttr(op.attributes["indexing_maps"][places[0]]).value
    is_read = bool(list(op.regions[0].blocks[0].arguments[places[0]].uses))
    return bool(map_.is_permutation) and not is_read


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
    """Tell whether an operation between the two may write to `memory`."""
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
