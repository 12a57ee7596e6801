# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses what the emitter of windows that stride along contiguous elements is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.conv.padding_left_out import padding_of
from xyntra.passes.lower.cpu.conv.window_plan import FramedInput, Slide, read_slides
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.cpu.pooling.phase_rows import PhaseRows, Phases
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled
from xyntra.passes.lower.cpu.schedule.emitter import NestEmitter, TileChoices, check_tile, require
from xyntra.passes.lower.cpu.schedule.told import bad_schedule
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, linear_nest, with_loops

__all__ = ["WindowRows", "WindowRowsChoices"]

_MAX_TAPS = 16  # of one row, which are unrolled
_MAX_FRAME = 24  # elements of padding, which are stored one by one
_MAX_STRIDE = 4
_ROWS = 8
_LEAST_LANES = 4
_LONG, _FEW_TAPS = 3, 3  # vectors, and taps, of a row
_MAX_CLONED = 160  # operations that the copies of an epilogue's body may amount to


@dataclass(frozen=True)
class WindowRowsChoices(TileChoices):
    """What the emitter can be told.

    Attributes:
        padding: whether padding that changes nothing is written for the rows of a block alone.
    """

    padding: bool = False


@dataclass(frozen=True)
class _Form:
    """A reduction over windows of rows.

    Attributes:
        nest: the loops, none of which has been left out.
        code: what follows.
        image: what is read.
        slides: how windows slide down the rows, and along them.
        exact: no element of the output may be computed twice.
    """

    nest: LinearNest
    code: Epilogue | None
    image: BufferOperand
    slides: tuple[Slide, Slide]
    exact: bool

    @property
    def has_weights(self) -> bool:
        return bool(list(self.nest.body.arguments[1].uses))


class WindowRows(NestEmitter):
    """Emits windows that stride along contiguous elements."""

    name = "window-rows"
    choices = WindowRowsChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> WindowRowsChoices | None:
        """Take as many rows as keep the adders busy, and vectors as wide as rows are."""
        padding = padding_of(place)
        for epilogue in (True, False):
            form = _form(place, padding, epilogue=epilogue)
            tile = None if form is None else _tile(form, machine)
            is_padded = padding is not None
            if form is not None and tile is not None:
                if not _pays(form, tile[1], is_padded=is_padded):
                    return None
                return WindowRowsChoices(*tile, epilogue, is_padded)
        return None

    def check(self, place: Filled, choices: WindowRowsChoices) -> None:
        """Check that the tile fits the output."""
        place.checked(epilogue=choices.epilogue)
        padding = padding_of(place) if choices.padding else None
        found = padding is not None or not choices.padding
        require(found, place, "padding", choices.padding, "there is none that can be left out")
        form = _form(place, padding, epilogue=choices.epilogue)
        if form is None or not Phases(form.slides[1]).lanes(choices.vector):
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        rows, columns = (slide.places for slide in form.slides)
        check_tile(place, choices, rows, columns, exact=form.exact)
        divides = not form.exact or rows % choices.tile[0] == 0
        allowed = f"only divisors of {rows} rows are allowed here"
        require(divides, place, "tile", choices.tile, allowed)

    def group(self, place: Filled, choices: WindowRowsChoices) -> list[ir.Operation]:
        """Return the reduction, with its padding and what follows."""
        padding = padding_of(place) if choices.padding else None
        around = () if padding is None else padding.operations
        return [*around, *place.group(epilogue=choices.epilogue)]

    def emit(self, place: Filled, choices: WindowRowsChoices) -> None:
        """Emit all loops."""
        padding = padding_of(place) if choices.padding else None
        form = _form(place, padding, epilogue=choices.epilogue, flat=True)
        if form is None:
            raise ValueError("the schedule has not been checked")
        down, along = form.slides
        rows, columns = choices.tile
        sizes = (rows, columns // choices.vector, choices.vector)
        tile = TilePlan(down.place, (along.place,), *sizes, frozenset(), 0.0)
        epilogue = TileEpilogue.of(tile, form.nest.outputs[0], form.code)
        weights = form.nest.inputs[1] if form.has_weights else None
        filling = place.initial if weights is None else _zero(place.initial.type)
        given = (form.nest, form.image, form.slides, weights, place.initial, filling, epilogue)
        PhaseRows(*given).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[WindowRowsChoices]:
        """Yield a few sizes of tiles."""
        padding = padding_of(place)
        widest = machine.registers(place.initial.type).lanes
        for epilogue in (True, False):
            if _form(place, padding, epilogue=epilogue) is None:
                continue
            for lanes in (widest, widest // 2):
                for rows in (2, 4, _ROWS):
                    tile = (rows, lanes)
                    yield WindowRowsChoices(tile, lanes, epilogue, padding is not None)


def _form(
    place: Filled, padding: FramedInput | None, *, epilogue: bool, flat: bool = False
) -> _Form | None:
    found = place.reduction(epilogue=epilogue, flat=flat)
    if found is None:
        return None
    whole = with_loops(found.together.nest, linear_nest(place.op, flat=False).loops)
    if whole is None:
        return None
    nest, code = found.together.parts(whole)
    read = read_slides(place.op, nest, padding, flat=flat)
    if read is None or len(read[1]) != 2:
        return None
    image, slides = read
    down, along = sorted(slides, key=lambda slide: -image.strides[slide.tap])
    if {down.tap, along.tap} != set(nest.reductions):
        return None
    if image.strides[along.tap] != along.dilation or not _are_rows(nest, code, along):
        return None
    weights = nest.inputs[1]
    moves = not weights.is_scalar and any(weights.strides[each.place] for each in slides)
    if moves and list(nest.body.arguments[1].uses):
        return None
    is_small = along.taps <= _MAX_TAPS and along.stride <= _MAX_STRIDE
    if not is_small or len(Phases(along).frame) > _MAX_FRAME:
        return None
    return _Form(nest, code, image, (down, along), found.exact)


def _are_rows(nest: LinearNest, code: Epilogue | None, along: Slide) -> bool:
    """Tell whether positions are contiguous in what is written, or the same there."""
    companions = nest.outputs if code is None else code.accesses
    strides = [each.strides[along.place] for each in companions if not each.is_scalar]
    return nest.outputs[0].strides[along.place] == 1 and all(step in (0, 1) for step in strides)


def _pays(form: _Form, lanes: int, *, is_padded: bool) -> bool:
    """Tell whether elements are read often enough to be copied first.

    Without a stride, that only saves to copy the whole image into its padding, which more taps
    than a few take far longer than.
    """
    along = form.slides[1]
    is_long = is_padded and along.places >= _LONG * lanes and along.taps <= _FEW_TAPS
    return along.stride < along.taps and (along.stride > 1 or is_long)


def _tile(form: _Form, machine: LoweringOptions) -> tuple[tuple[int, int], int] | None:
    """Return the tile, and the elements of a vector."""
    rows, columns = (slide.places for slide in form.slides)
    lanes = machine.registers(form.nest.outputs[0].element_type).lanes
    while lanes > columns or (form.exact and columns % lanes):
        lanes //= 2
    if lanes < _LEAST_LANES or not Phases(form.slides[1]).lanes(lanes):
        return None
    size = 0 if form.code is None else len(list(form.code.body.operations))
    most = max(1, min(_ROWS, rows, _MAX_CLONED // max(1, size)))
    if form.exact:
        return (max(n for n in range(1, most + 1) if rows % n == 0), lanes), lanes
    return (-(-rows // -(-rows // most)), lanes), lanes


def _zero(kind: ir.Type) -> ir.Value:
    return emit("arith.constant", [], kind, value=ir.FloatAttr.get(kind, 0.0))
