# SPDX-License-Identifier: MIT OR Apache-2.0
"""`convolution-tiles`: convolutions with channels innermost keep tiles in vector registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.conv.padding_left_out import padding_of
from xyntra.passes.lower.cpu.conv.plan import (
    Convolution,
    find_convolution,
    reordered,
    rows_outside,
    tile_shapes,
)
from xyntra.passes.lower.cpu.conv.position_groups import position_groups
from xyntra.passes.lower.cpu.conv.window_plan import FramedInput, read_slides
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled, Reduction, filled
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
from xyntra.passes.lower.loops.linear_nest import LinearNest, is_linear, linear_nest, with_loops
from xyntra.passes.lower.loops.memrefs import span
from xyntra.passes.lower.loops.vector_body import is_vectorizable
from xyntra.passes.registry import register_pass

_MATRIX_LOOPS = 3
_COPY_CYCLES = 0.1  # of a byte of a padded image


@dataclass(frozen=True)
class ConvolutionChoices(TileChoices):
    """The choices of the convolution emitter.

    Attributes:
        rows_outside: whether the loop over blocks of rows is around that over tiles of columns.
        padding: whether padding is left out, and a tile of positions that meet the same taps.
    """

    rows_outside: bool = False
    padding: bool = False


@dataclass(frozen=True)
class _Form:
    """A convolution with what follows it.

    Attributes:
        found: the convolution.
        code: what follows, over the loops of `found.nest`.
        exact: no element of the output may be computed twice.
    """

    found: Convolution
    code: Epilogue | None
    exact: bool


class _ConvolutionTiles(NestEmitter):
    name = "convolution-tiles"
    choices = ConvolutionChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> ConvolutionChoices | None:
        registers = machine.registers(place.initial.type)
        item_bytes = ITEM_BYTES[str(place.initial.type)]
        for epilogue in (True, False):
            plain = _form(place, None, epilogue=epilogue)
            shape = None if plain is None else plain.found.shape(registers, exact=plain.exact)
            if plain is None or shape is None:
                continue
            padding = padding_of(place)
            form = plain if padding is None else _form(place, padding, epilogue=epilogue)
            other = None if form is None else form.found.shape(registers, exact=form.exact)
            if padding is not None and form is not None and other is not None:
                copied = _COPY_CYCLES * item_bytes * span(place.op.operands[plain.found.image])
                if form.found.cycles(other) < plain.found.cycles(shape) + copied:
                    return _told(other, epilogue, _rows_outside(form, other, item_bytes), True)
            return _told(shape, epilogue, _rows_outside(plain, shape, item_bytes), False)
        return None

    def check(self, place: Filled, choices: ConvolutionChoices) -> None:
        place.checked(epilogue=choices.epilogue)
        padding = padding_of(place) if choices.padding else None
        form = _form(place, padding, epilogue=choices.epilogue)
        left_out = form is not None and form.found.groups is not None
        is_legal = left_out or not choices.padding
        require(is_legal, place, "padding", choices.padding, "there is none that can be left out")
        if form is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        sizes = form.found.positions, form.found.columns
        check_tile(place, choices, *sizes, exact=form.exact)

    def group(self, place: Filled, choices: ConvolutionChoices) -> list[ir.Operation]:
        padding = padding_of(place) if choices.padding else None
        around = () if padding is None else padding.operations
        return [*around, *place.group(epilogue=choices.epilogue)]

    def emit(self, place: Filled, choices: ConvolutionChoices) -> None:
        padding = padding_of(place) if choices.padding else None
        form = _form(place, padding, epilogue=choices.epilogue, flat=True)
        if form is None:
            raise ValueError("the schedule has not been checked")
        from xyntra.passes.lower.cpu.conv.emitter import ConvolutionEmitter

        rows, columns = choices.tile
        plan = form.found.tiled((rows, columns // choices.vector, choices.vector))
        code = None if form.code is None else _reordered(form.code, plan.order)
        ConvolutionEmitter(plan, place.initial, code, choices.rows_outside).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[ConvolutionChoices]:
        registers = machine.registers(place.initial.type)
        for epilogue, left_out in product((True, False), repeat=2):
            padding = padding_of(place) if left_out else None
            form = _form(place, padding, epilogue=epilogue)
            if form is None or (form.found.groups is None) == left_out:
                continue
            for shape in tile_shapes(form.found.positions, form.found.columns, registers):
                for outside in (False, True):
                    yield _told(shape, epilogue, outside, left_out)


def _told(
    shape: tuple[int, int, int], epilogue: bool, outside: bool, padding: bool
) -> ConvolutionChoices:
    rows, vectors, lanes = shape
    return ConvolutionChoices((rows, vectors * lanes), lanes, epilogue, outside, padding)


def _rows_outside(form: _Form, shape: tuple[int, int, int], item_bytes: int) -> bool:
    image = form.found.nest.inputs[form.found.image]
    return rows_outside(form.found.tiled(shape), item_bytes * span(image.value), item_bytes)


def _form(
    place: Filled, padding: FramedInput | None, *, epilogue: bool, flat: bool = False
) -> _Form | None:
    """Return `place` as a convolution that leaves `padding` out; None where it is none."""
    reduction = place.reduction(epilogue=epilogue, flat=flat)
    if reduction is None:
        return None
    if padding is not None:
        return _left_out(place, reduction, padding, flat=flat)
    found = _convolution(reduction)
    return None if found is None else _Form(found, reduction.code, reduction.exact)


def _left_out(
    place: Filled, reduction: Reduction, padding: FramedInput, *, flat: bool
) -> _Form | None:
    whole = with_loops(reduction.together.nest, linear_nest(place.op, flat=False).loops)
    if whole is None:
        return None
    nest, code = reduction.together.parts(whole)
    if len(nest.inputs) != 2 or nest.inputs[0].is_scalar:
        return None
    read = read_slides(place.op, nest, padding, flat=flat)
    if read is None:
        return None
    image, slides = read
    nest = replace(nest, inputs=(image, nest.inputs[1]))
    found = find_convolution(nest, nest.outputs if code is None else code.accesses)
    if found is None or found.image:
        return None
    groups = position_groups([(i, nest.loops[i].extent) for i in found.rows], slides)
    if groups is None or found.reductions[-1] in groups.taps:
        return None
    return _Form(replace(found, groups=groups), code, reduction.exact)


def _convolution(reduction: Reduction | None) -> Convolution | None:
    if reduction is None or _is_plain_product(reduction.nest):
        return None
    nest, code = reduction.nest, reduction.code
    return find_convolution(nest, nest.outputs if code is None else code.accesses)


def _reordered(code: Epilogue, order: Sequence[int]) -> Epilogue:
    """Return `code` for loops in another order."""
    return replace(
        code,
        inputs=tuple(None if each is None else reordered(each, order) for each in code.inputs),
        outputs=tuple(reordered(each, order) for each in code.outputs),
        result=None if code.result is None else reordered(code.result, order),
    )


def _is_plain_product(nest: LinearNest) -> bool:
    """Tell whether `nest` multiplies two matrices, for which `register-tiles` has its blocks."""
    return len(nest.loops) <= _MATRIX_LOOPS and len(nest.reductions) == 1


def is_candidate(generic: ir.Operation) -> bool:
    """Tell whether `generic` reduces floats of one type into one output, by arithmetic alone."""
    if str(generic.attributes["iterator_types"]).count("reduction") < 1:
        return False
    if generic.attributes["operandSegmentSizes"][1] != 1 or not is_linear(generic):
        return False
    body = generic.regions[0].blocks[0]
    kinds = {str(argument.type) for argument in body.arguments}
    return len(kinds) == 1 and kinds <= {"f32", "f64"} and is_vectorizable(body)


STAGE = EmitterSweep("convolution-tiles", filled(is_candidate), (_ConvolutionTiles(),))


@register_pass
@dataclass(frozen=True)
class ConvolutionTiles:
    """Rewrite convolutions on memrefs whose output channels are innermost as register tiles.

    Applies to a linalg.generic that accumulators products of an input with constant weights, whose
    output is filled with one value right before; a product of two matrices is left to
    `register-tiles`. Output positions are the rows of a tile, channels its columns; the weights are
    brought into that order when the model is loaded. What comes next and computes on the output
    element by element is done to a tile before it is stored.
    """

    name: ClassVar[str] = "convolution-tiles"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)
