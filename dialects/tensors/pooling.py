# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions over sliding windows as `linalg.generic`, over any number of spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from torch_mlir import ir

from xyntra.dialects.builder import Body, Iterator, Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.reductions import Reduction, combine, identity_of

__all__ = ["Windows", "slide"]

_MANY_TAPS = 16  # of a window that is reduced as a block, where windows do not overlap


@dataclass(frozen=True)
class Windows:
    """The layout of windows over the padded spatial dimensions of [N, C, *spatial].

    Attributes:
        kernel: number of taps, by spatial dimension.
        strides: distance between neighbouring windows.
        dilations: distance between neighbouring taps.
        output: number of windows.
    """

    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    output: Sequence[int]

    @property
    def rank(self) -> int:
        """The number of spatial dimensions."""
        return len(self.kernel)

    @property
    def are_blocks(self) -> bool:
        """Tell whether large windows lie side by side, and so cut the image into blocks."""
        return (
            prod(self.kernel) >= _MANY_TAPS
            and list(self.strides) == list(self.kernel)
            and all(step == 1 for step in self.dilations)
        )

    def blocks(
        self, b: TensorBuilder, x: Tensor, initial: ir.Value, dtype: str, body: Body
    ) -> Tensor:
        """Reduce every block of `x`, [N, C, *padded]: arguments are those of `generic`."""
        sizes = [*x.shape[:2], *(n * k for n, k in zip(self.output, self.kernel, strict=True))]
        x = before_widening(b.slice(x, [0] * x.rank, sizes, [1] * x.rank))
        pairs = zip(self.output, self.kernel, strict=True)
        parts = b.reshape(x, [*x.shape[:2], *(size for pair in pairs for size in pair)])
        count = 2 + 2 * self.rank
        with b.location:
            d = [ir.AffineDimExpr.get(i) for i in range(count)]
            inner = [d[2 + i + k * self.rank] for i in range(self.rank) for k in range(2)]
            read = ir.AffineMap.get(count, 0, [*d[:2], *inner])
            write = ir.AffineMap.get(count, 0, d[: 2 + self.rank])
        iterators: list[Iterator] = ["parallel"] * (2 + self.rank)
        iterators += ["reduction"] * self.rank
        return b.generic([(parts, read)], [(initial, dtype, write)], iterators, body)[0]

    def generic(
        self,
        b: TensorBuilder,
        x: Tensor,
        initial: Sequence[tuple[ir.Value, str]],
        body: Body,
    ) -> list[Tensor]:
        """Reduce every window of `x`.

        Args:
            b: where to build; loops are n, c, one an output and one a tap by dimension.
            x: [N, C, *padded].
            initial: values to begin with, [N, C, *output], and their dtypes.
            body: takes an element and the running values, returns the new ones.
        """
        rank = self.rank
        count = 2 + 2 * rank
        with b.location:
            d = [ir.AffineDimExpr.get(i) for i in range(count)]
            read = [
                d[2 + i] * self.strides[i] + d[2 + rank + i] * self.dilations[i]
                for i in range(rank)
            ]
            maps = [
                ir.AffineMap.get(count, 0, results)
                for results in (d[:2] + read, d[2 + rank :], d[: 2 + rank])
            ]
        # Nothing is read from this operand: its shape is what tells the loops over taps.
        taps = Tensor(b.empty(self.kernel, x.dtype), x.dtype)
        iterators: list[Iterator] = ["parallel"] * (2 + rank)
        iterators += ["reduction"] * rank
        outputs = [(value, dtype, maps[2]) for value, dtype in initial]
        inputs = [(x, maps[0]), (taps, maps[1])]
        return b.generic(inputs, outputs, iterators, lambda v, _, *running: body(v, *running))


def slide(
    b: TensorBuilder,
    x: Tensor,
    windows: Windows,
    kind: Reduction,
    *,
    accumulator: str | None = None,
    element: Callable[[Scalar], Scalar] | None = None,
) -> Tensor:
    """Combine the elements of every window.

    Args:
        b: where to build.
        x: [N, C, *padded].
        windows: where they lie.
        kind: how two values combine.
        accumulator: dtype to accumulate in and to return; default is that of `x`.
        element: applied to each element, in the accumulator's dtype, before it is combined.

    Returns:
        [N, C, *output].
    """
    dtype = accumulator or x.dtype
    initial = b.fill([*x.shape[:2], *windows.output], dtype, identity_of(kind, dtype))

    def body(value: Scalar, running: Scalar) -> Scalar:
        wide = value.cast(dtype)
        return combine(kind, running, element(wide) if element else wide)

    if windows.are_blocks:
        return windows.blocks(b, x, initial, dtype, body)
    return windows.generic(b, x, [(initial, dtype)], body)[0]


def before_widening(x: Tensor) -> Tensor:
    """What `x` is a conversion of to a wider float, element by element; otherwise `x` itself."""
    owner = x.value.owner
    if isinstance(owner, ir.Block) or owner.name != "linalg.generic":
        return x
    op = owner.operation if hasattr(owner, "operation") else owner
    body = [view.operation for view in op.regions[0].blocks[0].operations]
    if [inner.name for inner in body] != ["arith.extf", "linalg.yield"] or len(op.operands) != 2:
        return x
    maps = list(op.attributes["indexing_maps"])
    if maps[0] != maps[1] or op.operands[0].type.shape != x.value.type.shape:
        return x
    return Tensor.of(op.operands[0])
