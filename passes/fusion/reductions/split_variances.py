# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-variances`: combines the variances of long columns from those of their parts.

Deviations from a mean are added up after the mean, which takes all of a column: where that is
longer than what threads hold, it is read twice, and once more for what follows. The mean of a part
is known while the part is in registers. As in `norm_in_parts`, parts are combined by the formula of
Chan, Golub and LeVeque, so that the variance is as exact as with the mean of the column.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose, prod
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype, item_bytes
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.owners import constant_number, owner_of
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.fusion.graph.factors import map_of
from xyntra.passes.fusion.weights.weights import starts_from_zero
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass

__all__ = ["SplitVariances"]

_BESIDE = 8  # columns that are contiguous in memory, at least
_SHORTEST, _LONGEST = 32, 256  # elements of a part: what a few threads hold
_ENOUGH_COLUMNS = 1 << 13  # of all parts, for all multiprocessors
_LONGEST_ROW, _ENOUGH_ROWS = 1 << 13, 512  # likewise, of parts that are contiguous


@register_pass
@dataclass(frozen=True)
class SplitVariances:
    """Add up columns, and their squared deviations from the mean, part by part.

    Both are known of a part after one look at it; a small kernel combines them. Columns that
    threads can hold in registers stay whole, and so do rows, but for those of several pieces, such
    as of a channel in all images of a batch: their parts are contiguous.
    """

    name: ClassVar[str] = "split-variances"
    held_bytes: int = 1 << 12
    """Bytes of a column that the threads of one launch hold."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        for block in function_blocks(module):
            for op in [view.operation for view in block.operations]:
                found = _found(op, self.held_bytes)
                if found is not None:
                    replaced += _rewrite(found)
        erase_unused(replaced)


@dataclass(frozen=True)
class _Variance:
    """Sums of the elements of columns, and of the squares of their deviations from the mean.

    Attributes:
        total: the operation that adds up elements.
        squares: the operation that adds up squares.
        shape: pieces, elements of a column of one, and columns beside one another.
        part: elements of a part.
        batch: pieces that are one behind another in each column; 1 where each has its own columns.
    """

    total: ir.Operation
    squares: ir.Operation
    shape: tuple[int, int, int]
    part: int
    batch: int = 1

    @property
    def length(self) -> int:
        """Elements of a column."""
        return self.batch * self.shape[1]


def _found(squares: ir.Operation, held: int) -> _Variance | None:
    """Return what is known of the sum of squared deviations from a mean, of long columns.

    None where it is something else, or columns of up to `held` bytes.
    """
    if not _is_sum(squares, 2) or not _squares_difference(squares):
        return None
    total = _summed(squares.operands[1])
    if total is None or total.operands[0] != squares.operands[0]:
        return None
    if map_of(total, 0) != map_of(squares, 0):
        return None
    if total.attributes["iterator_types"] != squares.attributes["iterator_types"]:
        return None
    if _element_of(total) != _element_of(squares):
        return None
    x = Tensor.of(squares.operands[0])
    if map_of(squares, 0) != ir.AffineMap.get_identity(x.rank) or 0 in x.shape:
        return None
    reduced = ["reduction" in str(kind) for kind in squares.attributes["iterator_types"]]
    indexed = (map_of(squares, 1), map_of(squares, 2), map_of(total, 1))
    if not all(_keeps_order(each, reduced) for each in indexed):
        return None
    found = _columns(total, squares, x.shape, reduced)
    if found is None or found.length * item_bytes(x.dtype) <= held:
        return None
    means = prod(ir.RankedTensorType(squares.operands[1].type).shape)
    if means * found.length != prod(x.shape) or not _divides_by(squares.operands[1], found.length):
        return None
    return found


def _columns(
    total: ir.Operation, squares: ir.Operation, shape: tuple[int, ...], reduced: list[bool]
) -> _Variance | None:
    """Return how columns lie in a tensor, and how they are split; None where they are not."""
    leading = reduced.index(False) if False in reduced else 0
    batch_dims = leading if any(reduced[leading:]) else 0
    first = reduced.index(True, batch_dims)
    behind = first + sum(reduced[batch_dims:])
    if not all(reduced[first:behind]):
        return None
    batch = prod(shape[:batch_dims])
    pieces, length, beside = prod(shape[:first]), prod(shape[first:behind]), prod(shape[behind:])
    if batch > 1 and beside > 1:
        return None
    part = _row_part(pieces, length) if batch > 1 else _part(pieces, length, beside)
    return _Variance(total, squares, (pieces, length, beside), part, batch) if part else None


def _row_part(pieces: int, length: int) -> int:
    """Return how many contiguous elements equal parts should have; 0 where there are none."""
    parts = [part for part in range(_SHORTEST, _LONGEST_ROW + 1) if length % part == 0]
    enough = [part for part in parts if pieces * (length // part) >= _ENOUGH_ROWS]
    return max(enough, default=0)


def _part(pieces: int, length: int, beside: int) -> int:
    """Return how many elements equal parts should have; 0 where columns have none."""
    if beside < _BESIDE:
        return 0
    parts = [part for part in range(_SHORTEST, _LONGEST + 1) if length % part == 0]
    enough = [part for part in parts if pieces * (length // part) * beside >= _ENOUGH_COLUMNS]
    return max(enough) if enough else min(parts, default=0)


def _is_sum(op: ir.Operation, inputs: int) -> bool:
    """Tell whether an operation adds up something of so many inputs, from zero on."""
    if op.name != "linalg.generic" or len(op.results) != 1 or len(op.operands) != inputs + 1:
        return False
    types = [value.type for value in op.operands]
    if not all(isinstance(kind, ir.RankedTensorType) for kind in types):
        return False
    is_static = all(ir.RankedTensorType(kind).has_static_shape for kind in types)
    has_reduction = "reduction" in str(op.attributes["iterator_types"])
    return is_static and has_reduction and starts_from_zero(op)


def _keeps_order(map_: ir.AffineMap, reduced: list[bool]) -> bool:
    """Tell whether the loops that do not reduce index an operand in order, and nothing else does.

    Dimensions that are left have one element.
    """
    kept = [number for number, is_reduced in enumerate(reduced) if not is_reduced]
    loops = [each for each in map_.results if not isinstance(each, ir.AffineConstantExpr)]
    if not all(isinstance(each, ir.AffineDimExpr) for each in loops):
        return False
    return [ir.AffineDimExpr(each).position for each in loops] == kept


def _element_of(op: ir.Operation) -> ir.Type:
    return ir.RankedTensorType(op.results[0].type).element_type


def _reshaped(value: ir.Value) -> ir.Value:
    """Return what a value was before it was given its shape."""
    while (op := owner_of(value, *RESHAPES)) is not None:
        value = op.operands[0]
    return value


def _added(op: ir.Operation) -> ir.Value | None:
    """Return what the body of an operation adds to its running value; None if it does not."""
    body = op.regions[0].blocks[0]
    running = body.arguments[len(body.arguments) - 1]
    *_, end = [view.operation for view in body.operations]
    addition = owner_of(end.operands[0], "arith.addf")
    if addition is None or running not in addition.operands:
        return None
    left, right = addition.operands
    return right if left == running else left


def _squares_difference(op: ir.Operation) -> bool:
    """Tell whether an operation adds the square of its first input less its second one."""
    value = _added(op)
    product = None if value is None else owner_of(value, "arith.mulf")
    if product is None or product.operands[0] != product.operands[1]:
        return False
    difference = owner_of(product.operands[0], "arith.subf")
    if difference is None:
        return False
    element, mean = op.regions[0].blocks[0].arguments[0], op.regions[0].blocks[0].arguments[1]
    return bool(_widened(difference.operands[0]) == element and difference.operands[1] == mean)


def _widened(value: ir.Value) -> ir.Value:
    """Return what a value was before it was made wider."""
    cast = owner_of(value, "arith.extf")
    return value if cast is None else cast.operands[0]


def _scale_of(mean: ir.Value) -> tuple[ir.Operation, ir.Operation] | None:
    """Return the operation that scales a sum to a mean, and the one of its body that does."""
    op = owner_of(_reshaped(mean), "linalg.generic")
    if op is None or len(op.operands) != 2 or "reduction" in str(op.attributes["iterator_types"]):
        return None
    if map_of(op, 0) != map_of(op, 1) or not map_of(op, 0).is_permutation:
        return None
    body = op.regions[0].blocks[0]
    steps = [view.operation for view in body.operations]
    if len(steps) != 2 or steps[0].name not in ("arith.mulf", "arith.divf"):
        return None
    is_first = steps[0].operands[0] == body.arguments[0]
    return (op, steps[0]) if is_first and steps[1].operands[0] == steps[0].results[0] else None


def _summed(mean: ir.Value) -> ir.Operation | None:
    """Return the sum of single elements that a mean is made of."""
    scale = _scale_of(mean)
    total = None if scale is None else owner_of(_reshaped(scale[0].operands[0]))
    if total is None or not _is_sum(total, 1):
        return None
    value = _added(total)
    element = total.regions[0].blocks[0].arguments[0]
    return total if value is not None and _widened(value) == element else None


def _divides_by(mean: ir.Value, length: int) -> bool:
    """Tell whether a mean is a sum divided by a length."""
    scale = _scale_of(mean)
    number = None if scale is None else constant_number(scale[1].operands[1])
    if scale is None or number is None:
        return False
    wanted = length if scale[1].name == "arith.divf" else 1.0 / length
    return isclose(float(number), wanted, rel_tol=1e-6)


def _rewrite(found: _Variance) -> list[ir.Operation]:
    """Build what takes the place of both sums, and return what has no readers any more."""
    total, squares, part = found.total, found.squares, found.part
    b = TensorBuilder(ir.InsertionPoint(total), squares.location)
    wide = default_dtype(ir.RankedTensorType(squares.results[0].type).element_type)
    pieces, length, beside = found.shape
    parts = length // part
    whole = Tensor.of(squares.operands[0])
    x = b.reshape(whole, [pieces, parts, part, beside])
    sums = b.reduce(x, [2], "sum", accumulator=wide)
    own = b.map(lambda sum_: sum_ / part, sums, dtype=wide)
    apart = b.map(lambda each, mean: each.cast(wide) - mean, x, own, dtype=wide)
    inside = b.reduce(apart, [2], "sum", accumulator=wide, element=lambda each: each * each)
    inside, own, sums = (_by_columns(b, each, found) for each in (inside, own, sums))
    dims = [1] if found.batch == 1 else [1, 2]
    all_ = b.reduce(sums, dims, "sum", accumulator=wide)
    mean = b.map(lambda sum_: sum_ / found.length, all_, dtype=wide)
    between = b.map(
        lambda square, own, mean: square + (own - mean) * (own - mean) * part,
        inside,
        own,
        mean,
        dtype=wide,
    )
    for op, value in ((total, all_), (squares, b.reduce(between, dims, "sum", accumulator=wide))):
        shape = ir.RankedTensorType(op.results[0].type).shape
        op.results[0].replace_all_uses_with(b.reshape(value, shape).value)
    return [squares, total]


def _by_columns(b: TensorBuilder, parts: Tensor, found: _Variance) -> Tensor:
    """Return what is known of parts with those of a column together, if it has several pieces."""
    if found.batch == 1:
        return parts
    columns = found.shape[0] // found.batch
    apart = b.reshape(parts, [found.batch, columns, prod(parts.shape) // found.shape[0], 1])
    return b.transpose(apart, [1, 0, 2, 3])
