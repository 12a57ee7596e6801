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

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.fusion.normed_weights import NormedColumns

__all__ = ["PART", "RowValues", "merge_parts", "normalize", "normalize_product", "write_parts"]

PART = 32
"""Neighbouring columns that make one part."""
_WIDE = "float32"


@dataclass(frozen=True)
class RowValues:
    """What normalises a row: `[rows...]`, f32. Without `mean`, rows are only scaled."""

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


def merge_parts(builder: TensorBuilder, parts: Sequence[Tensor], epsilon: float) -> RowValues:
    """The values of whole rows, from what `write_parts` returns.

    The factor is 1 / sqrt(mean square + epsilon). It is 0 for a row of equal values: whatever
    rounding leaves of their difference to the mean must not be magnified.
    """
    columns = parts[0].shape[0] * PART
    if len(parts) == 1:
        squares = _sum_parts(builder, parts, None, lambda square: square)
        return RowValues(None, _over_rows(builder, squares, _factor_of(columns, epsilon, False)))
    total = _sum_parts(builder, parts[:1], None, lambda value: value)
    mean = _over_rows(builder, total, lambda value: value / columns)

    def about_mean(total: Scalar, square: Scalar, mean: Scalar) -> Scalar:
        deviation = total * (1.0 / PART) - mean
        return square + deviation * deviation * float(PART)

    squares = _sum_parts(builder, parts, mean, about_mean)
    return RowValues(mean, _over_rows(builder, squares, _factor_of(columns, epsilon, True)))


def _factor_of(columns: int, epsilon: float, centred: bool) -> Callable[[Scalar], Scalar]:
    def factor(squares: Scalar) -> Scalar:
        found = (squares * (1.0 / columns) + epsilon).math("rsqrt")
        zero = constant(0.0, _WIDE)
        return squares.equals(zero).select(zero, found) if centred else found

    return factor


def _sum_parts(
    builder: TensorBuilder, parts: Sequence[Tensor], row: Tensor | None, term: Callable[..., Scalar]
) -> Tensor:
    """Sum `term`, of what `parts` and `row` have, over the parts of each row."""
    rank = parts[0].rank
    rows = list(range(rank - 1))
    with builder.location:
        by_row = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(loop) for loop in rows])
        by_part = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(d) for d in (rank - 1, *rows)])
    inputs = [(each, by_part) for each in parts]
    if row is not None:
        inputs.append((row, by_row))
    output = (builder.fill(parts[0].shape[1:], _WIDE, 0.0), _WIDE, by_row)

    def body(*values: Scalar) -> Scalar:
        return values[-1] + term(*values[:-1])

    return builder.generic(inputs, [output], _inner_reduction(rank), body)[0]


def _over_rows(builder: TensorBuilder, rows: Tensor, body: Callable[[Scalar], Scalar]) -> Tensor:
    return builder.map(lambda value, *_: body(value), rows, dtype=_WIDE)


def normalize(
    builder: TensorBuilder, x: Tensor, rows: RowValues, scale: Tensor | None, bias: Tensor | None
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
    rows: RowValues,
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
    rows: RowValues,
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
