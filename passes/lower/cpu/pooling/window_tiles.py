# SPDX-License-Identifier: MIT OR Apache-2.0
"""`window-tiles`: depthwise convolutions and poolings compute on vectors of channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.conv.convolution_tiles import is_candidate
from xyntra.passes.lower.cpu.conv.padding_left_out import padding_of
from xyntra.passes.lower.cpu.conv.window_plan import FramedInput, WindowReduction, read_window
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.cpu.pooling.window_rows import WindowRows
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled, filled
from xyntra.passes.lower.cpu.schedule.emitter import (
    EmitterSweep,
    NestEmitter,
    TileChoices,
    check_tile,
    emit_scheduled,
    require,
)
from xyntra.passes.lower.cpu.schedule.told import bad_schedule
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.kernels.prepared_operands import is_constant, prepared
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, linear_nest, with_loops
from xyntra.passes.lower.loops.loop_builder import Position, load, nested_loops, offset, store
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.registry import register_pass

_MAX_TAPS = 16  # of one row, which are unrolled
_MAX_EDGES = 12  # positions of a row with code of their own
_MAX_CLONED = 160  # operations that the copies of an epilogue's body may amount to


@dataclass(frozen=True)
class ChannelWindowChoices(TileChoices):
    """The choices of the emitter of windows over channels.

    Attributes:
        padding: whether padding that changes nothing is left out rather than read.
    """

    padding: bool = False


@dataclass(frozen=True)
class _Form:
    """A reduction over windows.

    Attributes:
        reduction: the loops, none of which has been left out.
        window: how it reads.
        exact: no channel may be in two tiles.
    """

    nest: LinearNest
    code: Epilogue | None
    window: WindowReduction
    exact: bool

    @property
    def channels(self) -> int:
        return self.nest.loops[self.window.channel].extent

    @property
    def is_looped(self) -> bool:
        """Tell whether a row has too many taps, or border positions, for code of their own."""
        slide = self.window.slides[-1]
        return slide.taps > _MAX_TAPS or slide.places - len(slide.inner) > _MAX_EDGES

    @property
    def rows(self) -> int:
        """Return how many positions of a row a tile may have."""
        return 1 if self.is_looped else max(1, len(self.window.slides[-1].inner))


class _WindowTiles(NestEmitter):
    name = "window-tiles"
    choices = ChannelWindowChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> ChannelWindowChoices | None:
        padding = padding_of(place)
        for epilogue in (True, False):
            form = _form(place, padding, epilogue=epilogue)
            tile = None if form is None else _tile(form, machine)
            if tile is not None:
                return ChannelWindowChoices(*tile, epilogue, padding is not None)
        return None

    def check(self, place: Filled, choices: ChannelWindowChoices) -> None:
        place.checked(epilogue=choices.epilogue)
        padding = padding_of(place) if choices.padding else None
        found = padding is not None or not choices.padding
        require(found, place, "padding", choices.padding, "there is none that can be left out")
        form = _form(place, padding, epilogue=choices.epilogue)
        if form is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        check_tile(place, choices, form.rows, form.channels, exact=form.exact)

    def group(self, place: Filled, choices: ChannelWindowChoices) -> list[ir.Operation]:
        padding = padding_of(place) if choices.padding else None
        around = () if padding is None else padding.operations
        return [*around, *place.group(epilogue=choices.epilogue)]

    def emit(self, place: Filled, choices: ChannelWindowChoices) -> None:
        padding = padding_of(place) if choices.padding else None
        form = _form(place, padding, epilogue=choices.epilogue, flat=True)
        if form is None:
            raise ValueError("the schedule has not been checked")
        from xyntra.passes.lower.cpu.pooling.window_emitter import WindowEmitter

        nest, window = form.nest, form.window
        rows, columns = choices.tile
        sizes = (rows, columns // choices.vector, choices.vector)
        tile = TilePlan(window.slides[-1].place, (window.channel,), *sizes, frozenset(), 0.0)
        epilogue = TileEpilogue.of(tile, nest.outputs[0], form.code)
        emitter = WindowEmitter(nest, window, _weights(nest, window), place.initial, epilogue)
        emitter.emit(overlap=not form.exact, looped=form.is_looped)

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[ChannelWindowChoices]:
        padding = padding_of(place)
        for epilogue in (True, False):
            form = _form(place, padding, epilogue=epilogue)
            if form is None:
                continue
            for vectors, lanes in _vectors(form, machine):
                for rows in (1, 2, 4, 8):
                    tile = (rows, vectors * lanes)
                    yield ChannelWindowChoices(tile, lanes, epilogue, padding is not None)


def _form(
    place: Filled, padding: FramedInput | None, *, epilogue: bool, flat: bool = False
) -> _Form | None:
    found = place.reduction(epilogue=epilogue, flat=flat)
    if found is None:
        return None
    loops = linear_nest(place.op, flat=False).loops
    whole = with_loops(found.together.nest, loops)
    if whole is None:
        return None
    nest, code = found.together.parts(whole)
    window = read_window(place.op, nest, padding, flat=flat)
    if window is None or not _weights_are_shared(nest, window):
        return None
    companions = nest.outputs if code is None else code.accesses
    if any(each.strides[window.channel] not in (0, 1) for each in companions):
        return None
    form = _Form(nest, code, window, found.exact)
    # Each step then takes two loads, which is measured for windows in one direction alone.
    is_flat = sum(slide.taps > 1 for slide in window.slides) == 1
    return form if is_flat or not form.is_looped else None


def _tile(form: _Form, machine: LoweringOptions) -> tuple[tuple[int, int], int] | None:
    """Return the tile, and the elements of a vector."""
    size = 0 if form.code is None else len(list(form.code.body.operations))
    for vectors, lanes in _vectors(form, machine):
        columns = vectors * lanes
        if columns > form.channels or (form.exact and form.channels % columns):
            continue
        most = _MAX_CLONED // max(1, size * vectors)
        return (max(1, min(8 // vectors, form.rows, most)), columns), lanes
    return None


def _vectors(form: _Form, machine: LoweringOptions) -> tuple[tuple[int, int], ...]:
    """Vectors and lanes of the tiles that there may be, the best first."""
    widest = machine.registers(form.nest.outputs[0].element_type).lanes
    few = ((2, widest), (1, widest), (1, widest // 2))
    # One position has no other sums to be added meanwhile than those of its channels.
    return ((4, widest), (3, widest), *few) if form.is_looped else few


def _has_two_inputs(generic: ir.Operation) -> bool:
    return is_candidate(generic) and bool(generic.attributes["operandSegmentSizes"][0] == 2)


def _weights_are_shared(nest: LinearNest, window: WindowReduction) -> bool:
    """Tell whether there is one weight for every tap and channel, or none, at all positions."""
    if not list(nest.body.arguments[1].uses):
        return True
    used = {window.channel, *(slide.tap for slide in window.slides)}
    return not any(step for loop, step in enumerate(nest.inputs[1].strides) if loop not in used)


def _weights(nest: LinearNest, window: WindowReduction) -> BufferOperand | None:
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

    def copy(read: BufferOperand, write: BufferOperand) -> None:
        def one(position: Position) -> None:
            store(load(read, offset(read, position)), write, offset(write, position))

        nested_loops(loops, {}, one)

    if is_constant(source):
        memory = prepared(source, size)
        with memory.filling():
            copy(memory.source, BufferOperand(memory.copy, 0, tuple(strides)))
        return BufferOperand(memory.memory, 0, tuple(strides))
    made = BufferOperand(allocate(size, source.element_type), 0, tuple(strides))
    copy(source, made)
    return made


STAGE = EmitterSweep("window-tiles", filled(_has_two_inputs), (_WindowTiles(), WindowRows()))


@register_pass
@dataclass(frozen=True)
class WindowTiles:
    """Rewrite depthwise convolutions and poolings on memrefs.

    Applies to a linalg.generic over windows of each channel, whose output is filled with one value
    right before: where channels are innermost, or windows stride along contiguous elements. Padding
    that changes nothing is not written: taps outside are left out, or read from a few copied rows.
    What comes next and computes on the output element by element is done before it is stored.
    """

    name: ClassVar[str] = "window-tiles"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)
