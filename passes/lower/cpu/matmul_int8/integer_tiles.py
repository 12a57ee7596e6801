# SPDX-License-Identifier: MIT OR Apache-2.0
"""`integer-tiles`: products of narrow integers by dot-product instructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul_int8.dot_products import KINDS, dot_product
from xyntra.passes.lower.cpu.matmul_int8.product import (
    IntegerMatmul,
    Narrow,
    factor_types,
    product_of,
)
from xyntra.passes.lower.cpu.matmul_int8.shape import Shape
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
from xyntra.passes.lower.kernels.prepared_operands import is_constant
from xyntra.passes.lower.loops.linear_nest import is_linear
from xyntra.passes.registry import register_pass

_MIN_LANES = 4
_MIN_ROWS = 4  # fewer do not pay for packing in every call
_MIN_DEPTH = 8
_VECTORS = (1, 2, 3)


@dataclass(frozen=True)
class IntegerChoices(TileChoices):
    """The choices of the emitter of integer matmuls.

    Attributes:
        dot: how products of neighbours are added, one of `dot_products.KINDS`.
    """

    dot: str = "none"


class _IntegerTiles(NestEmitter):
    name = "integer-tiles"
    choices = IntegerChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> IntegerChoices | None:
        if machine.dot_products == "none":
            return None
        for epilogue in (True, False):
            reduction = place.reduction(epilogue=epilogue)
            product = None if reduction is None else _product(place, reduction)
            if reduction is None or product is None or not _pays(product):
                continue
            rows, columns = product.rows.extent, product.columns.extent
            shape = min(
                _shapes(product, machine, exact=reduction.exact),
                key=lambda shape: _cycles(shape, rows, columns),
                default=None,
            )
            if shape is not None:
                return _told(shape, machine, epilogue=epilogue)
        return None

    def check(self, place: Filled, choices: IntegerChoices) -> None:
        reduction = place.checked(epilogue=choices.epilogue)
        product = _product(place, reduction)
        if product is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        kinds = [kind for kind in KINDS if kind != "none"]
        require(choices.dot in kinds, place, "dot", choices.dot, f"allowed are {', '.join(kinds)}")
        extents = product.rows.extent, product.columns.extent
        check_tile(place, choices, *extents, exact=reduction.exact)

    def group(self, place: Filled, choices: IntegerChoices) -> list[ir.Operation]:
        return place.group(epilogue=choices.epilogue)

    def emit(self, place: Filled, choices: IntegerChoices) -> None:
        from xyntra.passes.lower.cpu.matmul_int8.emitter import IntegerEmitter

        reduction = place.reduction(epilogue=choices.epilogue, flat=True)
        product = None if reduction is None else _product(place, reduction)
        types = _factor_types(place.op)
        dot = None if types is None else dot_product(choices.dot, max(n.bits for n in types))
        if reduction is None or product is None or dot is None:
            raise ValueError("the schedule has not been checked")
        rows, columns = choices.tile
        shape = Shape(rows, columns // choices.vector, choices.vector)
        IntegerEmitter(product, shape, dot, place.initial, reduction.code).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[IntegerChoices]:
        if machine.dot_products == "none":
            return
        for epilogue in (True, False):
            reduction = place.reduction(epilogue=epilogue)
            product = None if reduction is None else _product(place, reduction)
            if reduction is not None and product is not None:
                for shape in _shapes(product, machine, exact=reduction.exact):
                    yield _told(shape, machine, epilogue=epilogue)


def _told(shape: Shape, machine: LoweringOptions, *, epilogue: bool) -> IntegerChoices:
    tile = (shape.rows, shape.columns)
    return IntegerChoices(tile, shape.lanes, epilogue, machine.dot_products)


def _product(place: Filled, reduction: Reduction) -> IntegerMatmul | None:
    types = _factor_types(place.op)
    companions = () if reduction.code is None else reduction.code.accesses
    found = None if types is None else product_of(reduction.nest, types, companions)
    return found if found is not None and found.depth >= _MIN_DEPTH else None


def _pays(product: IntegerMatmul) -> bool:
    return product.rows.extent >= _MIN_ROWS or is_constant(product.columns.access)


def _shapes(product: IntegerMatmul, machine: LoweringOptions, *, exact: bool) -> Iterator[Shape]:
    """Yield the tiles that fit the registers; with `exact`, no column may be in two of them."""
    rows, columns = product.rows.extent, product.columns.extent
    lanes = machine.vector_bits // 32
    while lanes >= _MIN_LANES:
        for vectors in _VECTORS:
            # One register takes the products, one the row's factor.
            most = (machine.vector_registers - vectors - 2) // vectors
            if vectors * lanes <= columns and not (exact and columns % (vectors * lanes)):
                for height in range(1, min(rows, most) + 1):
                    yield Shape(height, vectors, lanes)
        lanes //= 2


def _cycles(shape: Shape, rows: int, columns: int) -> float:
    """Estimate the cycles of one group of steps: two products and four additions a cycle."""
    accumulators = shape.rows * shape.vectors
    work = max(accumulators / 2, 0.5 * (shape.rows + shape.vectors), 4.0)
    return -(-rows // shape.rows) * -(-columns // shape.columns) * (work + 0.5)


def _is_wanted(generic: ir.Operation) -> bool:
    return _factor_types(generic) is not None


def _factor_types(generic: ir.Operation) -> tuple[Narrow, Narrow] | None:
    if "reduction" not in str(generic.attributes["iterator_types"]):
        return None
    if list(generic.attributes["operandSegmentSizes"]) != [2, 1] or not is_linear(generic):
        return None
    return factor_types(generic.regions[0].blocks[0])


STAGE = EmitterSweep("integer-tiles", filled(_is_wanted), (_IntegerTiles(),))


@register_pass
@dataclass(frozen=True)
class IntegerTiles:
    """Rewrite products and convolutions of 8- and 16-bit integers on memrefs as register tiles.

    Applies to a linalg.generic that accumulators products of two inputs, extended to 32 bits, into
    an output that is filled with one value right before; what follows element by element is done to
    the accumulators before they are stored. Both factors are copied into panels.
    """

    name: ClassVar[str] = "integer-tiles"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)
