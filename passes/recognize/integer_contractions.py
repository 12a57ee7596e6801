# SPDX-License-Identifier: MIT OR Apache-2.0
"""`integer-contractions`: contractions of dequantized tensors multiply the integers themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from xyntra.dialects.builder import Body, Iterator, Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.narrow import FLOAT8_TYPES, convert
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.fusion.weights.weights import constant_of_fill
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.recognize.dequantized import Dequantized, DequantizedParameter, dequantized
from xyntra.passes.registry import register_pass

__all__ = ["MOST_STEPS", "IntegerContractions"]

MOST_STEPS = 2**31 // 255**2
"""Products of two differences of bytes that surely fit 32 bits."""


@register_pass
@dataclass(frozen=True)
class IntegerContractions:
    """Rewrite contractions of dequantized integers as integer contractions, dequantized afterwards.

    Sum s (a - p) t (b - q) is s t (sum ab - p sum b - q sum a + k pq) over k steps, in which the
    parenthesis is an integer and exact. It applies to f32 contractions and convolutions of two
    tensors of 8-bit integers that DequantizeLinear, reshapes and padding with zeros have led
    through, where scales do not vary along the sum. Zero points that are not known numbers, and
    vary, are subtracted from the integers first, which then take 16 bits.
    """

    name: ClassVar[str] = "integer-contractions"
    float8: bool = False
    """Whether contractions of dequantized floats of 8 bits multiply these, too, and sum in f32."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced: list[ir.Operation] = []
        reductions = Reductions()
        for block in function_blocks(module):
            generics = [view for view in block.operations if view.name == "linalg.generic"]
            for op in [view.operation for view in generics if reductions.has(view.operation)]:
                contraction = _contraction(op, float8=self.float8)
                if contraction is not None:
                    with contraction.op.context, contraction.op.location:
                        result = _Rewriter(contraction).build()
                    contraction.op.results[0].replace_all_uses_with(result.value)
                    replaced.append(contraction.op)
        erase_unused(replaced)


@dataclass(frozen=True)
class _Contraction:
    """A contraction of two dequantized factors.

    Attributes:
        op: the operation.
        factors: what it multiplies.
        maps: indexing maps of both and of the result.
        extents: of the loops.
        reductions: the loops that are summed over.
    """

    op: ir.Operation
    factors: tuple[Dequantized, Dequantized]
    maps: Sequence[ir.AffineMap]
    extents: tuple[int, ...]
    reductions: tuple[int, ...]


def _contraction(op: ir.Operation, *, float8: bool) -> _Contraction | None:
    if list(op.attributes["operandSegmentSizes"]) != [2, 1]:
        return None
    first = dequantized(op.operands[0])
    if first is None or not _adds_products(op.regions[0].blocks[0]):
        return None
    initial = constant_of_fill(op.operands[2])
    if not isinstance(initial, ir.FloatAttr) or initial.value != 0:
        return None
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    kinds = ["reduction" in str(kind) for kind in op.attributes["iterator_types"]]
    reductions = tuple(number for number, kind in enumerate(kinds) if kind)
    written = [_dim(expression) for expression in maps[2].results]
    if sorted(written) != [number for number, kind in enumerate(kinds) if not kind]:
        return None
    extents = _extents(op, maps)
    if extents is None or prod(extents[number] for number in reductions) > MOST_STEPS:
        return None
    second = dequantized(op.operands[1])
    if second is None or not _are_alike(first, second, float8=float8):
        return None
    for factor, map_ in zip((first, second), maps, strict=False):
        if not _is_summable(factor, map_, reductions):
            return None
    return _Contraction(op, (first, second), maps, extents, reductions)


def _are_alike(first: Dequantized, second: Dequantized, *, float8: bool) -> bool:
    """Tell whether both are integers, or both are floats where these are wanted."""
    kinds = [factor.integers.dtype in FLOAT8_TYPES for factor in (first, second)]
    return kinds[0] == kinds[1] and (float8 or not kinds[0])


def _adds_products(block: ir.Block) -> bool:
    operations = [view.operation for view in block.operations]
    if [op.name for op in operations] != ["arith.mulf", "arith.addf", "linalg.yield"]:
        return False
    product, total, end = operations
    first, second, running = block.arguments
    return (
        all(str(argument.type) == "f32" for argument in block.arguments)
        and set(product.operands) == {first, second}
        and set(total.operands) == {running, product.result}
        and end.operands[0] == total.result
    )


def _dim(expression: ir.AffineExpr) -> int:
    return int(expression.position) if isinstance(expression, ir.AffineDimExpr) else -1


def _extents(op: ir.Operation, maps: Sequence[ir.AffineMap]) -> tuple[int, ...] | None:
    extents = [0] * maps[0].n_dims
    for operand, map_ in zip(op.operands, maps, strict=True):
        for extent, expression in zip(
            ir.RankedTensorType(operand.type).shape, map_.results, strict=True
        ):
            if isinstance(expression, ir.AffineDimExpr):
                extents[expression.position] = extent
    return tuple(extents) if all(extent > 0 for extent in extents) else None


def _is_summable(factor: Dequantized, map_: ir.AffineMap, reductions: Sequence[int]) -> bool:
    """Tell whether the scale is the same for all steps of a sum, and every step reads another."""
    for parameter in (factor.scale, factor.zero):
        if factor.is_padded and parameter.dims:
            return False
    varying = factor.moved_dims(factor.scale.dims)
    for number, expression in enumerate(map_.results):
        if number in varying and set(_loops(expression)) & set(reductions):
            return False
    read = {loop for expression in map_.results for loop in _loops(expression)}
    return set(reductions) <= read


def _loops(expression: ir.AffineExpr) -> list[int]:
    if isinstance(expression, ir.AffineDimExpr):
        return [int(expression.position)]
    if isinstance(expression, (ir.AffineConstantExpr, ir.AffineSymbolExpr)):
        return []
    return [*_loops(expression.lhs), *_loops(expression.rhs)]


class _Rewriter:
    """Builds the integer contraction in front of a contraction."""

    def __init__(self, contraction: _Contraction) -> None:
        self.it = contraction
        self.b = TensorBuilder(ir.InsertionPoint(contraction.op), contraction.op.location)
        self.shape = list(ir.RankedTensorType(contraction.op.results[0].type).shape)
        self.written = [_dim(expression) for expression in contraction.maps[2].results]

    def build(self) -> Tensor:
        """Return what takes the place of the contraction's result."""
        pairs = [self._integers(factor) for factor in self.it.factors]
        integers = [tensor for tensor, _ in pairs]
        zeros = [zero for _, zero in pairs]
        total = self._products(integers)
        operands = [(total, self.b.identity(len(self.shape)))]
        operands += self._corrections(integers, zeros)
        count = len(operands)
        numbers = [np.float32(1)]
        for factor, map_ in zip(self.it.factors, self.it.maps, strict=False):
            if factor.scale.read is None:
                numbers.append(np.float32(factor.scale.number or 0))
            else:
                operands.append(self._scale(factor, factor.scale.read, map_))
        scale = float(np.prod(np.array(numbers, np.float32)))

        def body(*arguments: Scalar) -> Scalar:
            scalars = arguments[:-1]  # the last one is what the output held
            value, *rest = scalars[:count]
            for correction in rest:
                value = value - correction
            factor = constant(scale, "float32")
            for each in scalars[count:]:
                factor = factor * each
            return value.cast("float32") * factor

        return self._elementwise(operands, body, "float32")

    def _integers(self, factor: Dequantized) -> tuple[Tensor, DequantizedParameter]:
        """The stored integers and their zero point, or differences and no zero point."""
        zero = factor.zero
        if zero.read is None or (not zero.dims and not factor.is_padded):
            filler = 0 if zero.number is None else int(zero.number)
            return factor.follow(self.b, factor.integers, filler), zero
        shape = factor.integers.shape
        identity = self.b.identity(len(shape))
        centred = self.b.generic(
            [(factor.integers, identity), zero.read],
            [(self.b.empty(shape, "int16"), "int16", identity)],
            ["parallel"] * len(shape),
            lambda value, point, _: value.cast("int16") - point.cast("int16"),
        )[0]
        return factor.follow(self.b, centred, 0), DequantizedParameter(0.0)

    def _products(self, integers: Sequence[Tensor]) -> Tensor:
        kinds: list[Iterator] = [
            "reduction" if number in self.it.reductions else "parallel"
            for number in range(len(self.it.extents))
        ]
        total = "float32" if integers[0].dtype in FLOAT8_TYPES else "int32"
        return self.b.generic(
            list(zip(integers, self.it.maps, strict=False)),
            [(self.b.fill(self.shape, total, 0), total, self.it.maps[2])],
            kinds,
            lambda x, y, running: running + convert(x, total) * convert(y, total),
        )[0]

    def _corrections(
        self, integers: Sequence[Tensor], zeros: Sequence[DequantizedParameter]
    ) -> list[tuple[Tensor, ir.AffineMap]]:
        """Return what to subtract from the sum of products, each with its map from the result."""
        found = []
        steps = prod(self.it.extents[number] for number in self.it.reductions)
        for number, zero in enumerate(zeros):
            if zero.number == 0:
                continue
            other = 1 - number
            # The first of two zero points takes the product of both into account.
            both = zeros[other] if number == 0 else DequantizedParameter(0.0)
            found.append(self._correction(integers[other], self.it.maps[other], zero, both, steps))
        return found

    def _correction(
        self,
        other: Tensor,
        map_: ir.AffineMap,
        zero: DequantizedParameter,
        both: DequantizedParameter,
        steps: int,
    ) -> tuple[Tensor, ir.AffineMap]:
        """Zero point times the sum of the other factor, less steps times the other zero point."""
        loops = sorted({loop for expression in map_.results for loop in _loops(expression)})
        kept = [loop for loop in loops if loop not in self.it.reductions]
        inner = [
            ir.AffineDimExpr.get(loops.index(loop))
            if loop in loops
            else ir.AffineConstantExpr.get(0)
            for loop in range(len(self.it.extents))
        ]
        place = ir.AffineMap.get(len(loops), 0, inner)
        read = ir.AffineMap.get(len(loops), 0, [each.compose(place) for each in map_.results])
        write = ir.AffineMap.get(
            len(loops), 0, [ir.AffineDimExpr.get(loops.index(loop)) for loop in kept]
        )
        kinds: list[Iterator] = ["parallel" if loop in kept else "reduction" for loop in loops]
        extents = [self.it.extents[loop] for loop in kept]
        sums = self.b.generic(
            [(other, read), *self._taps(read, loops, kept)],
            [(self.b.fill(extents, "int32", 0), "int32", write)],
            kinds,
            lambda x, *rest: rest[-1] + x.cast("int32"),
        )[0]
        operands = [(sums, self.b.identity(len(kept)))]
        operands += [self._scalar(each.read[0], len(kept)) for each in (zero, both) if each.read]

        def body(total: Scalar, *others: Scalar) -> Scalar:
            given = iter(others)
            point, second = (
                next(given).cast("int32") if each.read else constant(int(each.number or 0), "int32")
                for each in (zero, both)
            )
            return point * (total if both.number == 0 else total - second * steps)

        corrected = self._elementwise(operands, body, "int32", extents)
        return corrected, self._of_result(kept)

    def _taps(
        self, read: ir.AffineMap, loops: Sequence[int], kept: Sequence[int]
    ) -> list[tuple[Tensor, ir.AffineMap]]:
        """An operand whose shape tells the loops over the taps of a window, if there are such.

        Nothing else does where a map reads the sum of a place and a tap.
        """
        plain = {_dim(expression) for expression in read.results}
        plain |= {loops.index(loop) for loop in kept}
        taps = [number for number in range(len(loops)) if number not in plain]
        if not taps:
            return []
        shape = [self.it.extents[loops[number]] for number in taps]
        map_ = ir.AffineMap.get(len(loops), 0, [ir.AffineDimExpr.get(number) for number in taps])
        return [(Tensor(self.b.empty(shape, "int32"), "int32"), map_)]

    def _of_result(self, loops: Sequence[int]) -> ir.AffineMap:
        """The map from the result's dimensions to `loops`."""
        dims = [ir.AffineDimExpr.get(self.written.index(loop)) for loop in loops]
        return ir.AffineMap.get(len(self.shape), 0, dims)

    def _scalar(self, tensor: Tensor, rank: int) -> tuple[Tensor, ir.AffineMap]:
        return self.b.reshape(tensor, ()), ir.AffineMap.get(rank, 0, [])

    def _scale(
        self, factor: Dequantized, read: tuple[Tensor, ir.AffineMap], map_: ir.AffineMap
    ) -> tuple[Tensor, ir.AffineMap]:
        """A scale that is a tensor, with its map from the result's dimensions."""
        if not factor.scale.dims:
            return self._scalar(read[0], len(self.shape))
        shape = factor.integers.shape
        spread = self._elementwise([read], lambda x, _: x, "float32", shape)
        spread = factor.follow(self.b, spread, 0)
        varying = factor.moved_dims(factor.scale.dims)
        kept = sorted({loop for dim in varying for loop in _loops(map_.results[dim])})
        inner = [
            ir.AffineDimExpr.get(kept.index(loop)) if loop in kept else ir.AffineConstantExpr.get(0)
            for loop in range(len(self.it.extents))
        ]
        place = ir.AffineMap.get(len(kept), 0, inner)
        first = ir.AffineMap.get(len(kept), 0, [each.compose(place) for each in map_.results])
        extents = [self.it.extents[loop] for loop in kept]
        vector = self._elementwise([(spread, first)], lambda x, _: x, "float32", extents)
        return vector, self._of_result(kept)

    def _elementwise(
        self,
        operands: Sequence[tuple[Tensor, ir.AffineMap]],
        body: Body,
        dtype: str,
        shape: Sequence[int] | None = None,
    ) -> Tensor:
        extents = self.shape if shape is None else list(shape)
        output = (self.b.empty(extents, dtype), dtype, self.b.identity(len(extents)))
        return self.b.generic(operands, [output], ["parallel"] * len(extents), body)[0]
