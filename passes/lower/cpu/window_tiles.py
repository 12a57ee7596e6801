# SPDX-License-Identifier: MIT OR Apache-2.0
"""`window-tiles`: depthwise convolutions and poolings compute on vectors of channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.convolution_tiles import is_candidate
from xyntra.passes.lower.cpu.filled_reductions import (
    Group,
    emit_with_following,
    rewrite_filled_reductions,
)
from xyntra.passes.lower.cpu.tile_epilogue import TileEpilogue
from xyntra.passes.lower.cpu.tile_plan import TilePlan
from xyntra.passes.lower.cpu.window_plan import Padding, Window, ignores, read_window
from xyntra.passes.lower.nests.epilogue import Joined
from xyntra.passes.lower.nests.fills import initial_of
from xyntra.passes.lower.nests.kernel_function import terminator
from xyntra.passes.lower.nests.linear_nest import Access, LinearNest, linear_nest, with_loops
from xyntra.passes.lower.nests.loop_builder import Position, load, nested_loops, offset, store
from xyntra.passes.lower.nests.memrefs import allocate, root
from xyntra.passes.lower.nests.prepared_operands import is_constant, prepared
from xyntra.passes.registry import register_pass

_MAX_TAPS = 16  # of one row, which are unrolled
_MAX_EDGES = 12  # positions of a row with code of their own
_MAX_CLONED = 160  # operations that the copies of an epilogue's body may amount to


@register_pass
@dataclass(frozen=True)
class WindowTiles:
    """Rewrite depthwise convolutions and poolings on memrefs with channels innermost.

    Applies to a linalg.generic over windows of each channel, whose output is filled with one value
    right before. Padding that changes nothing is not written: taps outside are left out. What comes
    next and computes on the output element by element is done before it is stored.
    """

    name: ClassVar[str] = "window-tiles"
    vector_bits: int = 256
    vector_registers: int = 16

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is of this form below `module`."""
        rewrite_filled_reductions(module, _has_two_inputs, self._rewrite)

    def _rewrite(self, generic: ir.Operation, fill: ir.Operation) -> Group:
        padding = _padding_of(generic, initial_of(fill))
        group = emit_with_following(
            generic, fill, lambda together: self._emit(generic, together, fill, padding)
        )
        return [*padding.operations, *group] if group and padding is not None else group

    def _emit(
        self,
        generic: ir.Operation,
        together: Joined,
        fill: ir.Operation,
        padding: Padding | None,
    ) -> bool:
        whole = with_loops(together.nest, linear_nest(generic).loops)
        if whole is None:
            return False
        nest, code = together.parts(whole)
        window = read_window(generic, nest, padding)
        if window is None or not _weights_are_shared(nest, window):
            return False
        companions = nest.outputs if code is None else code.accesses
        if any(each.strides[window.channel] not in (0, 1) for each in companions):
            return False
        size = 0 if code is None else len(list(code.body.operations))
        tile = self._tile(nest, window, size, exact=together.is_in_place)
        if tile is None:
            return False
        from xyntra.passes.lower.cpu.window_emitter import WindowEmitter

        epilogue = TileEpilogue.of(tile, nest.outputs[0], code)
        weights = _weights(nest, window)
        emitter = WindowEmitter(nest, window, weights, initial_of(fill), epilogue)
        emitter.emit(overlap=not together.is_in_place)
        return True

    def _tile(self, nest: LinearNest, window: Window, size: int, *, exact: bool) -> TilePlan | None:
        slide = window.slides[-1]
        if slide.taps > _MAX_TAPS or slide.places - len(slide.inner) > _MAX_EDGES:
            return None
        channels = nest.loops[window.channel].extent
        element = ir.MemRefType(nest.outputs[0].value.type).element_type
        widest = self.vector_bits // (8 * ITEM_BYTES[str(element)])
        for vectors, lanes in ((2, widest), (1, widest), (1, widest // 2)):
            columns = vectors * lanes
            if columns > channels or (exact and channels % columns):
                continue
            most = _MAX_CLONED // max(1, size * vectors)
            rows = max(1, min(8 // vectors, len(slide.inner), most))
            return TilePlan(slide.place, (window.channel,), rows, vectors, lanes, frozenset(), 0.0)
        return None


def _has_two_inputs(generic: ir.Operation) -> bool:
    return is_candidate(generic) and bool(generic.attributes["operandSegmentSizes"][0] == 2)


def _weights_are_shared(nest: LinearNest, window: Window) -> bool:
    """Tell whether there is one weight for every tap and channel, or none, at all positions."""
    if not list(nest.body.arguments[1].uses):
        return True
    used = {window.channel, *(slide.tap for slide in window.slides)}
    return not any(step for loop, step in enumerate(nest.inputs[1].strides) if loop not in used)


def _weights(nest: LinearNest, window: Window) -> Access | None:
    """The weights with channels innermost, copied if they are not; None if there are none."""
    if not list(nest.body.arguments[1].uses):
        return None
    source = nest.inputs[1]
    if source.strides[window.channel] == 1:
        return source
    strides, size = [0] * len(nest.loops), 1
    for number in (window.channel, *reversed([slide.tap for slide in window.slides])):
        strides[number] = size
        size *= nest.loops[number].extent
    loops = [(slide.tap, slide.taps) for slide in window.slides]
    loops.append((window.channel, nest.loops[window.channel].extent))

    def copy(read: Access, write: Access) -> None:
        def one(position: Position) -> None:
            store(load(read, offset(read, position)), write, offset(write, position))

        nested_loops(loops, {}, one)

    if is_constant(source):
        memory = prepared(source, size)
        with memory.filling():
            copy(memory.source, Access(memory.copy, 0, tuple(strides)))
        return Access(memory.memory, 0, tuple(strides))
    made = Access(allocate(size, source.element_type), 0, tuple(strides))
    copy(source, made)
    return made


def _padding_of(generic: ir.Operation, initial: ir.Value) -> Padding | None:
    """What pads the first input, where it pads with something that changes nothing."""
    memory = generic.operands[0]
    if isinstance(memory.owner, ir.Block) or memory.owner.name != "memref.alloc":
        return None
    uses = [use.owner.operation for use in memory.uses]
    views = [op for op in uses if op.name == "memref.subview"]
    others = [op for op in uses if op not in views and op != generic]
    if len(views) != 1 or len(others) != 1 or others[0].name != "linalg.generic":
        return None
    copies = [use.owner.operation for use in views[0].results[0].uses]
    if len(copies) != 1 or not _is_copy(copies[0], views[0].results[0]):
        return None
    value = _filled_with(others[0])
    body = generic.regions[0].blocks[0]
    if not _come_in_order([others[0], copies[0], generic]) or not ignores(body, value, initial):
        return None
    source = copies[0].operands[0]
    if _is_written_between(copies[0], generic, source):
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


def _is_written_between(first: ir.Operation, last: ir.Operation, memory: ir.Value) -> bool:
    """Whether an operation between the two may write to `memory`."""
    whole = root(memory)
    block = [view.operation for view in last.block.operations]
    for op in block[block.index(first) + 1 : block.index(last)]:
        if op.name == "linalg.generic":
            written = list(op.operands)[op.attributes["operandSegmentSizes"][0] :]
            if any(root(value) == whole for value in written):
                return True
        elif len(op.regions) or op.name.startswith(("memref.store", "memref.copy", "scf.")):
            return True
    return False
