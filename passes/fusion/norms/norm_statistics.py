# SPDX-License-Identifier: MIT OR Apache-2.0
"""Mean and deviation of rows in two steps: parts of a row first, and later the row from its parts.

What computes a part of a row in a block of its own knows the statistics of that part alone. Sums of
squared deviations from the part's own mean lose nothing where the mean is large, and merge exactly
(Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
Variances", 1979).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xyntra.dialects.builder import Body, Iterator, Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.fusion.norms.normed_weights import NormedColumns

__all__ = ["PART", "RowStatistics", "merge_parts", "normalize", "normalize_product", "write_parts"]

PART = 32
"""Neighbouring columns that make one part."""
_WIDE = "float32"


@dataclass(frozen=True)
class RowStatistics:
    """Statistics that normalise a row: `[rows...]`, f32. Without `mean`, rows are only scaled."""

    mean: Tensor | None
    factor: Tensor


def write_parts(builder: TensorBuilder, x: Tensor, *, centred: bool) -> list[Tensor]:
    """Statistics of every `PART` columns of `x`, `[rows..., columns]`, in f32.

    Returns:
        `[parts, rows...]` each: sums, and sums of squared deviations from the part's mean; the sums
        of squares alone where norms are not `centred`. Rows are innermost, as neighbours read them.
    """
    *rows, columns = x.shape
    split = builder.reshape(x, [*rows, columns // PART, PART])
    if not centred:
        return [_sum_columns(builder, split, [], lambda value: value * value)]
    sums = _sum_columns(builder, split, [], lambda value: value)

    def squared(value: Scalar, total: Scalar) -> Scalar:
        deviation = value - total * (1.0 / PART)
        return deviation * deviation

    return [sums, _sum_columns(builder, split, [sums], squared)]


def _sum_columns(
    builder: TensorBuilder, split: Tensor, parts: Sequence[Tensor], term: Callable[..., Scalar]
) -> Tensor:
    """Sum `term`, of an element and of what `parts` have for its part, over the last dimension."""
    part = split.rank - 2
    with builder.location:
        loops = [ir.AffineDimExpr.get(loop) for loop in (part, *range(part))]
        by_part = ir.AffineMap.get(split.rank, 0, loops)
    shape = [split.shape[part], *split.shape[:part]]
    output = (builder.fill(shape, _WIDE, 0.0), _WIDE, by_part)
    inputs = [(split, builder.identity(split.rank)), *((each, by_part) for each in parts)]
    return builder.generic(
        inputs,
        [output],
        _inner_reduction(split.rank),
        lambda x, *rest: rest[-1] + term(x.cast(_WIDE), *rest[:-1]),
    )[0]


def _inner_reduction(rank: int) -> list[Iterator]:
    parallel: list[Iterator] = ["parallel"] * (rank - 1)
    return [*parallel, "reduction"]


def merge_parts(builder: TensorBuilder, parts: Sequence[Tensor], epsilon: float) -> RowStatistics:
    """The values of whole rows, from what `write_parts` returns.

    Each part is read once: means of parts are compared with that of the first one. The factor is
    1 / sqrt(mean square + epsilon). It is 0 for a row of equal values: whatever rounding leaves of
    their difference to the mean must not be magnified.
    """
    count = parts[0].shape[0]
    mean_of = 1.0 / (count * PART)
    if len(parts) == 1:
        (squares,) = _sum_parts(builder, parts, [], lambda square: [square])
        body: Body = lambda x, *_: (x * mean_of + epsilon).math("rsqrt")  # noqa: E731
        return RowStatistics(None, _over_rows(builder, [squares], [], body))

    def about_first(total: Scalar, square: Scalar, first: Scalar) -> list[Scalar]:
        deviation = (total - first) * (1.0 / PART)
        return [deviation, square + deviation * deviation * float(PART)]

    def mean(deviations: Scalar, first: Scalar, *_: Scalar) -> Scalar:
        return first * (1.0 / PART) + deviations * (1.0 / count)

    def factor(deviations: Scalar, squares: Scalar, *_: Scalar) -> Scalar:
        squares = squares - deviations * deviations * (PART / count)
        found = (squares * mean_of + epsilon).math("rsqrt")
        zero = constant(0.0, _WIDE)
        return squares.equals(zero).select(zero, found)

    deviations, squares = _sum_parts(builder, parts, parts[:1], about_first)
    return RowStatistics(
        _over_rows(builder, [deviations], parts[:1], mean),
        _over_rows(builder, [deviations, squares], [], factor),
    )


def _sum_parts(
    builder: TensorBuilder,
    parts: Sequence[Tensor],
    of_first: Sequence[Tensor],
    terms: Callable[..., Sequence[Scalar]],
) -> list[Tensor]:
    """Sums over the parts of each row of every one of `terms`.

    These are of what `parts` have for a part, and of what `of_first` have for the row's first part.
    """
    rank = parts[0].rank
    with builder.location:
        *rows, part = [ir.AffineDimExpr.get(loop) for loop in range(rank)]
        by_row = ir.AffineMap.get(rank, 0, rows)
        by_part = ir.AffineMap.get(rank, 0, [part, *rows])
        first = ir.AffineMap.get(rank, 0, [ir.AffineConstantExpr.get(0), *rows])
    shape = parts[0].shape[1:]
    outputs = [(builder.fill(shape, _WIDE, 0.0), _WIDE, by_row) for _ in parts]

    def body(*values: Scalar) -> list[Scalar]:
        given, running = values[: -len(outputs)], values[-len(outputs) :]
        return [each + term for each, term in zip(running, terms(*given), strict=True)]

    inputs = [*((each, by_part) for each in parts), *((each, first) for each in of_first)]
    return builder.generic(inputs, outputs, _inner_reduction(rank), body)


def _over_rows(
    builder: TensorBuilder, values: Sequence[Tensor], of_first: Sequence[Tensor], body: Body
) -> Tensor:
    """`body` of what `values` have for each row, and `of_first` for its first part."""
    rank = values[0].rank
    with builder.location:
        rows = [ir.AffineDimExpr.get(loop) for loop in range(rank)]
        first = ir.AffineMap.get(rank, 0, [ir.AffineConstantExpr.get(0), *rows])
    inputs = [*((each, builder.identity(rank)) for each in values)]
    inputs += [(each, first) for each in of_first]
    output = (builder.empty(values[0].shape, _WIDE), _WIDE, builder.identity(rank))
    return builder.generic(inputs, [output], ["parallel"] * rank, body)[0]


def normalize(
    builder: TensorBuilder,
    x: Tensor,
    rows: RowStatistics,
    scale: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    """The norm of `x`, rounded to its dtype; `scale` and `bias` are `[columns]`."""

    def body(x: Scalar, values: dict[str, Scalar]) -> Scalar:
        x = x.cast(_WIDE)
        x = x - values["mean"] if "mean" in values else x
        x = x * values["factor"]
        x = x * values["scale"].cast(_WIDE) if "scale" in values else x
        return x + values["bias"].cast(_WIDE) if "bias" in values else x

    columns = {"scale": scale, "bias": bias}
    return _by_row_and_column(builder, x, rows, columns, body)


def normalize_product(
    builder: TensorBuilder,
    sums: Tensor,
    rows: RowStatistics,
    vectors: NormedColumns,
) -> Tensor:
    """The product of the normalised factor, from that of the factor as it is.

    Args:
        builder: emits behind the product.
        sums: `[rows..., columns]`, f32: the factor times scaled weights.
        rows: of the factor.
        vectors: of the weights.
    """

    def body(x: Scalar, values: dict[str, Scalar]) -> Scalar:
        x = x * values["unit"] if "unit" in values else x
        x = x - values["mean"] * values["sums"] if "mean" in values else x
        x = x * values["factor"]
        return x + values["shift"] if "shift" in values else x

    columns = {"unit": vectors.unit, "sums": vectors.sums, "shift": vectors.shift}
    return _by_row_and_column(builder, sums, rows, columns, body)


def _by_row_and_column(
    builder: TensorBuilder,
    source: Tensor,
    rows: RowStatistics,
    columns: dict[str, Tensor | None],
    body: Callable[[Scalar, dict[str, Scalar]], Scalar],
) -> Tensor:
    """Apply `body` to every element of `source` and to what its row and its column have."""
    rank = source.rank
    with builder.location:
        loops = [ir.AffineDimExpr.get(loop) for loop in range(rank)]
        by_row = ir.AffineMap.get(rank, 0, loops[:-1])
        by_column = ir.AffineMap.get(rank, 0, loops[-1:])
    read = {"mean": (rows.mean, by_row), "factor": (rows.factor, by_row)}
    read |= {name: (vector, by_column) for name, vector in columns.items()}
    given = {name: (tensor, map_) for name, (tensor, map_) in read.items() if tensor is not None}
    output = (builder.empty(source.shape, source.dtype), source.dtype, builder.identity(rank))
    return builder.generic(
        [(source, builder.identity(rank)), *given.values()],
        [output],
        ["parallel"] * rank,
        lambda x, *rest: body(x, dict(zip(given, rest, strict=False))).cast(source.dtype),
    )[0]
