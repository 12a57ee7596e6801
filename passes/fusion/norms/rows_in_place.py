# SPDX-License-Identifier: MIT OR Apache-2.0
"""`rows-in-place`: norms and softmax between a transpose and the opposite one, without the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.fusion.norms.keep_layout import kept_layout
from xyntra.passes.fusion.norms.rows_of_views import permutation
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass

__all__ = ["RowsInPlace"]

_SOFTMAX = ("xyntra.softmax", "xyntra.log_softmax")
_LAYER_NORM, _RMS_NORM = "xyntra.layer_norm", "xyntra.rms_norm"
_LEAST = 8  # neighbours of a row, which a vector holds


@register_pass
@dataclass(frozen=True)
class RowsInPlace:
    """Compute rows that transposes make contiguous where they lie.

    The elements of a row are then apart, and a vector, or threads side by side, hold those of
    neighbouring rows, as a norm over the channels of an image that lies with its channels first
    has them. Elementwise operations up to
    the opposite transpose follow. Where something else reads the transposed result, all stays.
    """

    name: ClassVar[str] = "rows-in-place"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        for block in function_blocks(module):
            for op in [view.operation for view in block.operations]:
                found = _found(op)
                if found is not None:
                    replaced += _rewrite(found, block)
        erase_unused(replaced)


@dataclass(frozen=True)
class _Rows:
    """An operation on the rows of a transposed tensor.

    Attributes:
        operation: it.
        source: what is transposed.
        order: the dimension of `source` for each of the transposed tensor.
        axes: the dimensions of `source` that make a row.
    """

    operation: ir.Operation
    source: Tensor
    order: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def count(self) -> int:
        """Return how many elements a row has."""
        return prod(self.source.shape[axis] for axis in self.axes)

    def trailing(self, builder: TensorBuilder, value: ir.Value) -> Tensor | None:
        """Return a scale or bias in the order of `source`; None where it has to be transposed."""
        tensor, rank = Tensor(value, self.source.dtype), len(self.order)
        shape = [*[1] * (rank - tensor.rank), *tensor.shape]
        if sum(extent > 1 for extent in shape) > 1:
            return None
        return builder.reshape(tensor, [shape[self.order.index(d)] for d in range(rank)])


def _found(op: ir.Operation) -> _Rows | None:
    """Return what is known of an operation on rows that vectors of neighbours can compute."""
    if op.name not in (*_SOFTMAX, _LAYER_NORM, _RMS_NORM):
        return None
    transpose = owner_of(op.operands[0])
    order = None if transpose is None else permutation(transpose)
    if transpose is None or order is None:
        return None
    value = transpose.operands[0]
    kind = ir.RankedTensorType(value.type)
    before = owner_of(value)
    if before is not None and permutation(before) is not None:
        return None  # `fold-transposes` makes one of two
    if not all(ir.RankedTensorType(each.type).has_static_shape for each in op.operands):
        return None
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    last = axis + 1 if op.name in _SOFTMAX else kind.rank
    axes = tuple(sorted(order[axis:last]))
    beside = prod(kind.shape[axes[-1] + 1 :])
    if beside < _LEAST or 0 in kind.shape:
        return None
    return _Rows(op, Tensor.of(value), order, axes)


def _rewrite(rows: _Rows, block: ir.Block) -> list[ir.Operation]:
    """Build what takes the place of `rows`, if that can be, and return what has no readers."""
    op = rows.operation
    builder = TensorBuilder(ir.InsertionPoint(op), op.location)
    with op.location, ir.InsertionPoint(op):
        result = _softmax(rows) if op.name in _SOFTMAX else _norm(rows, builder)
    if result is None:
        return []
    value = op.results[0]
    shape = ir.RankedTensorType(value.type).shape
    ends = kept_layout(block, value, result, rows.order, shape)
    return [*ends, op] if ends else [result.value.owner.operation]


def _softmax(rows: _Rows) -> Tensor:
    op, source = rows.operation, rows.source
    attributes = {name: op.attributes[name] for name in op.attributes}
    attributes["axis"] = ir.IntegerAttr.get(op.attributes["axis"].type, rows.axes[0])
    built = ir.Operation.create(
        op.name, results=[source.value.type], operands=[source.value], attributes=attributes
    )
    return Tensor(built.results[0], source.dtype)


def _norm(rows: _Rows, builder: TensorBuilder) -> Tensor | None:
    """Build the norm as `decompose-named-ops` would, along other dimensions."""
    op, x, count = rows.operation, rows.source, rows.count
    extra = [rows.trailing(builder, value) for value in list(op.operands)[1:]]
    given = [each for each in extra if each is not None]
    if len(given) < len(extra):
        return None
    wide = "float64" if x.dtype == "float64" else "float32"
    sizes = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    epsilon = float(ir.FloatAttr(op.attributes["epsilon"]).value)
    values = x
    if op.name == _LAYER_NORM:
        total = builder.reduce(x, rows.axes, "sum", accumulator=wide)
        # What belongs to a row is computed once for it: neighbours have it in the same vector.
        mean = builder.map(lambda sum_: sum_ / count, total, dtype=wide)
        values = builder.map(lambda each, mean: each.cast(wide) - mean, x, mean, dtype=wide)
    squares = builder.reduce(
        values, rows.axes, "sum", accumulator=wide, element=lambda each: each * each
    )
    factor = builder.map(
        lambda sum_: constant(1.0, wide) / (sum_ / count + epsilon).math("sqrt"),
        squares,
        dtype=wide,
    )

    def body(element: Scalar, factor: Scalar, *rest: Scalar) -> Scalar:
        extra = [each.cast(wide) for each in rest]
        return _scaled(element.cast(wide) * factor, sizes, extra).cast(x.dtype)

    return builder.map(body, values, factor, *given, dtype=x.dtype)


def _scaled(value: Scalar, sizes: Sequence[int], rest: Sequence[Scalar]) -> Scalar:
    """Multiply by the scale and add the bias, where `sizes` of the operands tell of them."""
    waiting = iter(rest)
    result = value * next(waiting) if sizes[1] else value
    return result + next(waiting) if len(sizes) > 2 and sizes[2] else result
