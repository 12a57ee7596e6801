# SPDX-License-Identifier: MIT OR Apache-2.0
"""`integer-tiles`: products of narrow integers by dot-product instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.dot_products import DotProduct, dot_product
from xyntra.passes.lower.cpu.integer_product import Narrow, Product, factor_types, product_of
from xyntra.passes.lower.cpu.integer_shape import Shape
from xyntra.passes.lower.nests.epilogue import Joined, joined
from xyntra.passes.lower.nests.fills import fill_before
from xyntra.passes.lower.nests.following_elementwise import following_elementwise
from xyntra.passes.lower.nests.kernel_function import operations_named, terminator
from xyntra.passes.lower.nests.linear_nest import collapsed, is_linear
from xyntra.passes.lower.nests.prepared_operands import is_constant
from xyntra.passes.registry import register_pass

_MIN_LANES = 4
_MIN_ROWS = 4  # fewer do not pay for packing in every call
_MIN_DEPTH = 8


@register_pass
@dataclass(frozen=True)
class IntegerTiles:
    """Rewrite products and convolutions of 8- and 16-bit integers on memrefs as register tiles.

    Applies to a linalg.generic that sums products of two inputs, extended to 32 bits, into an
    output that is filled with one value right before; what follows element by element is done to
    the sums before they are stored. Both factors are copied into panels. What does not fit, or
    would not gain, is left alone.
    """

    name: ClassVar[str] = "integer-tiles"
    vector_bits: int = 256
    vector_registers: int = 16
    dot_products: str = "none"
    """What the processor can do: none, pairs, quads, pmaddwd or vnni."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is worth it below `module`."""
        waiting = operations_named(module, "linalg.generic")
        while waiting:
            generic = waiting.pop(0)
            types = _factor_types(generic)
            if types is None:
                continue
            dot = dot_product(self.dot_products, max(each.bits for each in types))
            if dot is not None:
                self._rewrite(generic, types, dot, waiting)

    def _rewrite(
        self,
        generic: ir.Operation,
        types: tuple[Narrow, Narrow],
        dot: DotProduct,
        waiting: list[ir.Operation],
    ) -> None:
        fill = fill_before(generic)
        if fill is None:
            return
        following = following_elementwise(generic)
        for after in [following, None] if following is not None else [None]:
            with generic.context:
                together = joined(fill, generic, after)
            group = [fill, generic, *([after] if after is not None else [])]
            if together is not None and self._emit(group, together, types, dot):
                if after is not None:
                    waiting.remove(after)
                for op in reversed(group):
                    op.erase()
                return

    def _emit(
        self,
        group: list[ir.Operation],
        together: Joined,
        types: tuple[Narrow, Narrow],
        dot: DotProduct,
    ) -> bool:
        fill, generic = group[:2]
        with generic.context, generic.location, ir.InsertionPoint(group[-1]):
            nest, epilogue = together.parts(collapsed(together.nest))
            product = product_of(nest, types, () if epilogue is None else epilogue.accesses)
            shape = None if product is None else self._shape(product, exact=together.is_in_place)
            if product is None or shape is None:
                return False
            from xyntra.passes.lower.cpu.integer_emitter import IntegerEmitter

            initial = terminator(fill.regions[0].blocks[0]).operands[0]
            if initial == fill.regions[0].blocks[0].arguments[0]:
                initial = fill.operands[0]
            IntegerEmitter(product, shape, dot, initial, epilogue).emit()
        return True

    def _shape(self, product: Product, *, exact: bool) -> Shape | None:
        """Return the tile that computes least beside the result; None where none pays.

        With `exact`, no column may be in two tiles.
        """
        rows, columns = product.rows.extent, product.columns.extent
        is_packed_before = is_constant(product.columns.access)
        if product.depth < _MIN_DEPTH or (rows < _MIN_ROWS and not is_packed_before):
            return None
        shapes = []
        lanes = self.vector_bits // 32
        while lanes >= _MIN_LANES:
            for vectors in (1, 2, 3):
                # One register takes the products, one the row's factor.
                most = (self.vector_registers - vectors - 2) // vectors
                if vectors * lanes <= columns and not (exact and columns % (vectors * lanes)):
                    shapes += [
                        Shape(height, vectors, lanes) for height in range(1, min(rows, most) + 1)
                    ]
            lanes //= 2
        return min(shapes, key=lambda shape: _cycles(shape, rows, columns), default=None)


def _cycles(shape: Shape, rows: int, columns: int) -> float:
    """Estimate the cycles of one group of steps: two products and four additions a cycle."""
    sums = shape.rows * shape.vectors
    work = max(sums / 2, 0.5 * (shape.rows + shape.vectors), 4.0)
    return -(-rows // shape.rows) * -(-columns // shape.columns) * (work + 0.5)


def _factor_types(generic: ir.Operation) -> tuple[Narrow, Narrow] | None:
    if "reduction" not in str(generic.attributes["iterator_types"]):
        return None
    if list(generic.attributes["operandSegmentSizes"]) != [2, 1] or not is_linear(generic):
        return None
    return factor_types(generic.regions[0].blocks[0])
