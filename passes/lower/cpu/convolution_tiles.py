# SPDX-License-Identifier: MIT OR Apache-2.0
"""`convolution-tiles`: convolutions with channels innermost keep tiles in vector registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.convolution_plan import (
    Convolution,
    find_convolution,
    reordered,
    rows_outside,
    tile_shape,
    tile_shapes,
)
from xyntra.passes.lower.cpu.emitter import Emitter, Stage, TileChoices, check_tile, emit_scheduled
from xyntra.passes.lower.cpu.filled_reductions import Filled, Reduction, filled
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.told import bad_schedule
from xyntra.passes.lower.nests.epilogue import Epilogue
from xyntra.passes.lower.nests.linear_nest import LinearNest, is_linear
from xyntra.passes.lower.nests.memrefs import span
from xyntra.passes.lower.nests.vector_body import is_vectorizable
from xyntra.passes.registry import register_pass

_MATRIX_LOOPS = 3


@dataclass(frozen=True)
class ConvolutionChoices(TileChoices):
    """What the emitter can be told.

    Attributes:
        rows_outside: whether the loop over blocks of rows is around that over tiles of columns.
    """

    rows_outside: bool = False


class _ConvolutionTiles(Emitter):
    name = "convolution-tiles"
    choices = ConvolutionChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> ConvolutionChoices | None:
        registers = machine.registers(place.initial.type)
        for epilogue in (True, False):
            reduction = place.reduction(epilogue=epilogue)
            found = _convolution(reduction)
            if reduction is None or found is None:
                continue
            sizes = found.positions, found.columns
            shape = tile_shape(*sizes, registers, exact=reduction.exact)
            if shape is not None:
                item_bytes = ITEM_BYTES[str(place.initial.type)]
                plan, image = found.tiled(shape), found.nest.inputs[found.image]
                outside = rows_outside(plan, item_bytes * span(image.value), item_bytes)
                return _told(shape, epilogue, outside)
        return None

    def check(self, place: Filled, choices: ConvolutionChoices) -> None:
        reduction = place.checked(epilogue=choices.epilogue)
        found = _convolution(reduction)
        if found is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        sizes = found.positions, found.columns
        check_tile(place, choices, *sizes, exact=reduction.exact)

    def group(self, place: Filled, choices: ConvolutionChoices) -> list[ir.Operation]:
        return place.group(epilogue=choices.epilogue)

    def emit(self, place: Filled, choices: ConvolutionChoices) -> None:
        reduction = place.reduction(epilogue=choices.epilogue, flat=True)
        found = _convolution(reduction)
        if reduction is None or found is None:
            raise ValueError("the schedule has not been checked")
        from xyntra.passes.lower.cpu.convolution_emitter import ConvolutionEmitter

        rows, columns = choices.tile
        plan = found.tiled((rows, columns // choices.vector, choices.vector))
        code = None if reduction.code is None else _reordered(reduction.code, plan.order)
        ConvolutionEmitter(plan, place.initial, code, choices.rows_outside).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[ConvolutionChoices]:
        for epilogue in (True, False):
            found = _convolution(place.reduction(epilogue=epilogue))
            if found is not None:
                registers = machine.registers(place.initial.type)
                for shape in tile_shapes(found.positions, found.columns, registers):
                    yield from (_told(shape, epilogue, outside) for outside in (False, True))


def _told(shape: tuple[int, int, int], epilogue: bool, outside: bool) -> ConvolutionChoices:
    rows, vectors, lanes = shape
    return ConvolutionChoices((rows, vectors * lanes), lanes, epilogue, outside)


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


STAGE = Stage("convolution-tiles", filled(is_candidate), (_ConvolutionTiles(),))


@register_pass
@dataclass(frozen=True)
class ConvolutionTiles:
    """Rewrite convolutions on memrefs whose output channels are innermost as register tiles.

    Applies to a linalg.generic that sums products of an input with constant weights, whose output
    is filled with one value right before; a product of two matrices is left to `register-tiles`.
    Output positions are the rows of a tile, channels its columns; the weights are brought into that
    order when the model is loaded. What comes next and computes on the output element by element is
    done to a tile before it is stored.
    """

    name: ClassVar[str] = "convolution-tiles"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)
