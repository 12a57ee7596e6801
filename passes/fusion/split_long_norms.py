# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-long-norms`: norms of few long rows, computed by all multiprocessors, or from caches.

The statistics of parts of a row are combined by the formula of Chan, Golub and LeVeque ("Updating
formulae and a pairwise algorithm for computing sample variances", 1979): each part has a mean of
its own, from which its deviations are taken while it is in registers. So the variance is as exact
as with the mean of the row, and the row is read twice in all: for these, and for the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import ITEM_BYTES, default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.cost.machine import MACHINES
from xyntra.passes.fusion.functions import function_blocks
from xyntra.passes.fusion.group import SMALL_BYTES
from xyntra.passes.fusion.keep_layout import kept_layout
from xyntra.passes.fusion.rows_of_views import RowSource, row_source
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass
from xyntra.passes.target_limits import Target

__all__ = ["SplitLongNorms"]

_LAYER_NORM, _RMS_NORM = "xyntra.layer_norm", "xyntra.rms_norm"
_HELD_ROW = 1 << 18  # elements that the blocks of a cluster hold
_HELD_BY_BLOCK = 36 << 10
_CLUSTER = 8  # blocks
_MULTIPROCESSORS = 132
_BLOCKS = 4  # of each multiprocessor, where each has a part
_PARTS = (256, 8192)  # elements of a part: what a few warps hold in registers
_LAUNCHES = 2  # more than for whole rows


@register_pass
@dataclass(frozen=True)
class SplitLongNorms:
    """Replace norms of few long rows by statistics of parts, what these give, and arithmetic.

    A row is computed by a block, or by the blocks of a cluster: where it does not fit them, or
    there are too few to keep memory busy, the parts are the rows instead. On CPUs these are the
    rows where the whole ones are too long for one kernel to keep. A norm of what is only moved,
    such as an image with its channels last, is computed where it lies.
    """

    name: ClassVar[str] = "split-long-norms"
    target: Target = "cuda"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        for block in function_blocks(module):
            norms = [v.operation for v in block.operations if v.name in (_LAYER_NORM, _RMS_NORM)]
            for op in norms:
                replaced += _split(op, block, self.target)
        erase_unused(replaced)


def _split(op: ir.Operation, block: ir.Block, target: Target) -> list[ir.Operation]:
    """Build what takes the place of a norm, and return what it replaces."""
    kind = ir.RankedTensorType(op.operands[0].type)
    if not all(ir.RankedTensorType(value.type).has_static_shape for value in op.operands):
        return []
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    rows, length = prod(kind.shape[:axis]), prod(kind.shape[axis:])
    part = _part(rows, length)
    pays = _pays_on_cpu if target == "cpu" else _pays
    if not part or not pays(rows, length, ITEM_BYTES.get(str(kind.element_type), 4)):
        return []
    builder = TensorBuilder(ir.InsertionPoint(op), op.location)
    x = Tensor(op.operands[0], default_dtype(kind.element_type))
    norm = _Norm(op, builder, row_source(x, rows), rows, length, part)
    lies = norm.normalised()
    transposes = [numbers for name, numbers in norm.source.views if name == "transpose"]
    if len(transposes) == 1 and len(op.operands) == 1:
        shape = [lies.shape[each] for each in transposes[0]]
        ends = kept_layout(block, op.results[0], lies, transposes[0], shape)
        if ends:
            return [*ends, op]
    op.results[0].replace_all_uses_with(norm.finished(lies, x).value)
    return [op]


def _pays(rows: int, length: int, item: int) -> bool:
    """Tell whether blocks for whole rows take longer than more launches with blocks for parts."""
    if length > _HELD_ROW:
        return True
    machine = MACHINES["cuda"]
    nanoseconds = 2 * rows * length * item / machine.bytes_per_ns
    blocks = rows * (_CLUSTER if length > _HELD_BY_BLOCK else 1)
    # One multiprocessor by itself has about twice its share of the bandwidth.
    share = min(1.0, 2 * blocks / _MULTIPROCESSORS)
    return nanoseconds / share > 1.5 * nanoseconds + _LAUNCHES * machine.launch_ns


def _pays_on_cpu(rows: int, length: int, item: int) -> bool:
    """Tell whether one kernel would not compute whole rows with what follows them."""
    return length * item > (MACHINES["cpu"].max_row_bytes if rows > 1 else SMALL_BYTES)


def _part(rows: int, length: int) -> int:
    """Return how many elements each of the equal parts of a row has; 0 where there are none."""
    least, most = _PARTS
    wanted = min(most, max(4 * least, rows * length // (_BLOCKS * _MULTIPROCESSORS)))
    divisors = _divisors(length)
    found = max((each for each in divisors if least <= each <= wanted), default=0)
    return found or min((each for each in divisors if wanted < each <= 4 * most), default=0)


def _divisors(length: int) -> list[int]:
    """Return the divisors of `length` that a part can have, multiples of a vector if any is."""
    found = [each for each in range(1, min(length, 4 * _PARTS[1]) + 1) if length % each == 0]
    return [each for each in found if each % 8 == 0] if length % 8 == 0 else found


@dataclass(frozen=True)
class _Norm:
    """A norm to be replaced.

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
        parts = self.length // self.part
        split = self.builder.reshape(self.source.tensor, [self.rows, parts, self.part])
        if self.operation.name == _LAYER_NORM:
            statistics = self._moments(split)
        else:
            statistics = [self._factor(self._sum(self._sum(split, square=True)))]
        is_scaled = len(self.operation.operands) > 1
        return self._applied(statistics, self.wide if is_scaled else self.source.tensor.dtype)

    def finished(self, lies: Tensor, x: Tensor) -> Tensor:
        """Return the result in the order of `x`, with scale and bias."""
        seen = self.source.seen(self.builder, lies, x.shape)
        return self._scaled(seen, x.dtype, list(self.operation.operands)[1:])

    def _moments(self, split: Tensor) -> list[Tensor]:
        """Return what each row is multiplied by, and its mean."""
        own = self._map(lambda sum_: sum_ / self.part, self._sum(split))
        squares = self._sum(self._centred(split, own), square=True)
        parts = own.shape[1]
        mean = self._map(lambda sum_: sum_ / parts, self._sum(own))
        between = self._centred(own, mean)
        within = self._map(lambda q, d: q + d * d * self.part, squares, between)
        return [self._factor(self._sum(within)), mean]

    def _factor(self, squares: Tensor) -> Tensor:
        """Return one over the deviation of each row."""
        epsilon = float(ir.FloatAttr(self.operation.attributes["epsilon"]).value)

        def body(sum_: Scalar) -> Scalar:
            deviation = (sum_ / self.length + epsilon).math("sqrt")
            return constant(1.0, deviation.dtype) / deviation

        return self._map(body, squares)

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
        return self._by_rows(lambda x, mean: x - mean, values, [means], values.rank - 1, self.wide)

    def _applied(self, statistics: list[Tensor], dtype: str) -> Tensor:
        """Normalise elements by the statistics of their rows."""
        tensor, leading = self.source.tensor, self.source.leading
        given = [self.builder.reshape(each, tensor.shape[:leading]) for each in statistics]

        def body(x: Scalar, factor: Scalar, *means: Scalar) -> Scalar:
            return (x - means[0] if means else x) * factor

        return self._by_rows(body, tensor, given, leading, dtype)

    def _by_rows(
        self,
        body: Callable[..., Scalar],
        values: Tensor,
        rows: list[Tensor],
        leading: int,
        dtype: str,
    ) -> Tensor:
        """Apply `body` in the wide dtype to elements and what belongs to their leading indices."""
        rank, b = values.rank, self.builder
        with b.location:
            kept = [ir.AffineDimExpr.get(number) for number in range(leading)]
            outer = ir.AffineMap.get(rank, 0, kept)
        return b.generic(
            [(values, b.identity(rank)), *((each, outer) for each in rows)],
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
