# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds a norm from the statistics of parts of its rows.

The statistics of parts of a row are combined by the formula of Chan, Golub and LeVeque ("Updating
formulae and a pairwise algorithm for computing sample variances", 1979): each part has a mean of
its own, from which its deviations are taken while it is in registers. So the variance is as exact
as with the mean of the row, and the row is read twice in all: for these, and for the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.fusion.norms.rows_of_views import RowSource

__all__ = ["LAYER_NORM", "RMS_NORM", "MovedNorm", "NormInParts"]

LAYER_NORM, RMS_NORM = "xyntra.layer_norm", "xyntra.rms_norm"


@dataclass(frozen=True)
class NormInParts:
    """A norm to be replaced, whose parts are contiguous in memory.

    Attributes:
        operation: the norm.
        builder: what to build with.
        source: what is normalised, as it lies in memory.
        rows: how many there are.
        length: elements of a row.
        part: elements of a part.
    """

    operation: ir.Operation
    builder: TensorBuilder
    source: RowSource
    rows: int
    length: int
    part: int

    @property
    def wide(self) -> str:
        """The dtype to compute in."""
        return "float64" if self.source.tensor.dtype == "float64" else "float32"

    def normalised(self) -> Tensor:
        """Return what is normalised, without scale and bias, as it lies in memory."""
        if self.operation.name == LAYER_NORM:
            statistics = self._moments()
        else:
            statistics = [self._factor(self._sum(self._part_squares(None)))]
        is_scaled = len(self.operation.operands) > 1
        return self._applied(statistics, self.wide if is_scaled else self.source.tensor.dtype)

    def finished(self, lies: Tensor, x: Tensor) -> Tensor:
        """Return the result in the order of `x`, with scale and bias."""
        seen = self.source.seen(self.builder, lies, x.shape)
        return self._scaled(seen, x.dtype, list(self.operation.operands)[1:])

    def _part_sums(self) -> Tensor:
        """Add up the elements of each part; parts of a row are the last dimension of two."""
        return self._sum(self._split())

    def _part_squares(self, means: Tensor | None) -> Tensor:
        """Add up the squares of the deviations from the means of parts, or of the elements."""
        split = self._split()
        return self._sum(split if means is None else self._centred(split, means), square=True)

    def _split(self) -> Tensor:
        parts = self.length // self.part
        return self.builder.reshape(self.source.tensor, [self.rows, parts, self.part])

    def _moments(self) -> list[Tensor]:
        """Return what each row is multiplied by, and its mean."""
        own = self._map(lambda sum_: sum_ / self.part, self._part_sums())
        squares = self._part_squares(own)
        parts, total = own.shape[1], self._sum(own)
        mean = self._map(lambda sum_: sum_ / parts, total)
        between = self._centred(own, mean)
        within = self._map(lambda q, d: q + d * d * self.part, squares, between)
        return [self._factor(self._sum(within)), self._mean_to_apply(mean, total, parts)]

    def _mean_to_apply(self, mean: Tensor, total: Tensor, parts: int) -> Tensor:
        """Return the means of rows as elements are given them: `total` divided by `parts`."""
        return mean

    def _factor(self, squares: Tensor) -> Tensor:
        """Return one over the deviation of each row."""
        return self._map(self._inverse_deviation, squares)

    def _inverse_deviation(self, sum_: Scalar) -> Scalar:
        epsilon = float(ir.FloatAttr(self.operation.attributes["epsilon"]).value)
        deviation = (sum_ / self.length + epsilon).math("sqrt")
        return constant(1.0, deviation.dtype) / deviation

    def _sum(self, values: Tensor, *, square: bool = False) -> Tensor:
        """Add up the last dimension in the wide dtype, which the result lacks."""
        axes = [values.rank - 1]
        element = (lambda x: x * x) if square else None
        return self.builder.reduce(
            values, axes, "sum", keepdims=False, accumulator=self.wide, element=element
        )

    def _map(self, body: Callable[..., Scalar], *tensors: Tensor) -> Tensor:
        return self.builder.map(body, *tensors, dtype=self.wide)

    def _centred(self, values: Tensor, means: Tensor) -> Tensor:
        """Subtract means, which lack the last dimension."""
        leading = range(values.rank - 1)
        return self._given(lambda x, mean: x - mean, values, [means], leading, self.wide)

    def _applied(self, statistics: list[Tensor], dtype: str) -> Tensor:
        """Normalise elements by the statistics of their rows."""
        tensor, leading = self.source.tensor, self.source.leading
        given = [self.builder.reshape(each, tensor.shape[:leading]) for each in statistics]
        return self._given(self._normal, tensor, given, range(leading), dtype)

    @staticmethod
    def _normal(x: Scalar, factor: Scalar, *means: Scalar) -> Scalar:
        return (x - means[0] if means else x) * factor

    def _given(
        self,
        body: Callable[..., Scalar],
        values: Tensor,
        others: list[Tensor],
        dimensions: Sequence[int],
        dtype: str,
    ) -> Tensor:
        """Apply `body` in the wide dtype to elements, with what `others` have at `dimensions`."""
        rank, b = values.rank, self.builder
        with b.location:
            kept = [ir.AffineDimExpr.get(number) for number in dimensions]
            outer = ir.AffineMap.get(rank, 0, kept)
        return b.generic(
            [(values, b.identity(rank)), *((each, outer) for each in others)],
            [(b.empty(values.shape, dtype), dtype, b.identity(rank))],
            ["parallel"] * rank,
            lambda *scalars: body(*(x.cast(self.wide) for x in scalars[:-1])).cast(dtype),
        )[0]

    def _scaled(self, values: Tensor, dtype: str, operands: list[ir.Value]) -> Tensor:
        """Multiply by a scale and add a bias, those of the two that there are."""
        if not operands:
            return values
        sizes = list(ir.DenseI32ArrayAttr(self.operation.attributes["operandSegmentSizes"]))
        given = [Tensor(value, dtype) for value in operands]

        def body(x: Scalar, *extra: Scalar) -> Scalar:
            waiting = iter(each.cast(self.wide) for each in extra)
            result = x * next(waiting) if sizes[1] else x
            return (result + next(waiting) if len(sizes) > 2 and sizes[2] else result).cast(dtype)

        return self.builder.map(body, values, *given, dtype=dtype)


@dataclass(frozen=True)
class MovedNorm(NormInParts):
    """A norm of whole rows, whose elements lie in memory in another order."""

    def normalised(self) -> Tensor:
        """Return what is normalised, without scale and bias, as it lies in memory."""
        make = named.layer_norm if self.operation.name == LAYER_NORM else named.rms_norm
        epsilon = float(ir.FloatAttr(self.operation.attributes["epsilon"]).value)
        return make(self.builder, self.source.tensor, self.source.leading, epsilon)
