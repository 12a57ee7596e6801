# SPDX-License-Identifier: MIT OR Apache-2.0
"""Independent nests without reductions, such as the pieces of a concatenation: blocks for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod

from torch_mlir.dialects import arith

from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.elementwise.pointwise import (
    PointwiseTile,
    emit_pointwise,
    pointwise_blocks,
    pointwise_refusal,
    pointwise_tile,
)
from xyntra.passes.lower.gpu.elementwise.transposed_tiles import transposed_of
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape, block_number, i32, is_below, when
from xyntra.passes.lower.kernels.element_nests import are_independent
from xyntra.passes.lower.loops.linear_nest import LinearNest

_MOST_NESTS = 32  # of a launch


@dataclass(frozen=True)
class SideBySideTiles:
    """The tile of a block: `PointwiseTile`, with a number for each nest where they differ.

    Attributes:
        threads: of a block.
        vectors: contiguous elements that a thread loads and stores at once.
        own: contiguous elements that a thread computes one by one.
        steps: vectors, or single elements, of a thread.
        reused: vectors for each of these that read the same inputs; one each where it is empty.
    """

    threads: int = 256
    vectors: tuple[int, ...] = ()
    own: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    reused: tuple[int, ...] = ()

    @classmethod
    def of(cls, nests: Sequence[LinearNest]) -> SideBySideTiles:
        """Return how threads should share `nests`."""
        sizes = [prod(loop.extent for loop in nest.loops) for nest in nests]
        others = [sum(sizes) - size for size in sizes]
        tiles = [pointwise_tile(*each) for each in zip(nests, others, strict=True)]
        reused = tuple(tile.reused for tile in tiles)
        return cls(
            tiles[0].threads,
            tuple(tile.vector for tile in tiles),
            tuple(tile.own for tile in tiles),
            tuple(tile.steps for tile in tiles),
            reused if max(reused) > 1 else (),
        )

    def tiles(self) -> list[PointwiseTile]:
        """Return the tile of each nest."""
        reused = self.reused or (1,) * len(self.vectors)
        each = zip(self.vectors, self.own, self.steps, reused, strict=True)
        return [PointwiseTile(self.threads, *numbers) for numbers in each]


def side_by_side_length(nests: Sequence[LinearNest], device: GpuDevice) -> int:
    """Return how many of the first nests one launch can compute in any order; at least 1."""
    length, written = 0, 0
    for nest in nests[:_MOST_NESTS]:
        written += len(nest.outputs)
        if length and written > device.written_buffers:
            break
        if nest.reductions or nest.reads_outputs:
            break
        if transposed_of(nest, device) is not None:
            break
        if not all(are_independent(each, nest) for each in nests[:length]):
            break
        length += 1
    return max(length, 1)


def side_by_side_refusal(
    nests: Sequence[LinearNest], tiles: SideBySideTiles, device: GpuDevice
) -> str | None:
    """Return why blocks cannot share `nests` so; None where they can."""
    if len(nests) < 2 or side_by_side_length(nests, device) < len(nests):
        return "computes several nests that have nothing to do with one another"
    numbers = [getattr(tiles, each.name) for each in fields(tiles)[1:]]
    numbers = [each for each in numbers if each or each is not tiles.reused]
    if any(len(each) != len(nests) for each in numbers):
        return f"needs {len(nests)} numbers of each kind, one for each nest"
    found = zip(nests, tiles.tiles(), strict=True)
    return next(filter(None, (pointwise_refusal(*each, device) for each in found)), None)


def emit_side_by_side(nests: Sequence[LinearNest], tiles: SideBySideTiles) -> LaunchShape:
    """Emit independent `nests` for a launch of the returned shape."""
    block, first = block_number(), 0
    for nest, tile in zip(nests, tiles.tiles(), strict=True):
        count = pointwise_blocks(nest, tile)
        own = arith.subi(block, i32(first))
        with when(is_below(own, count)):  # what is negative is large without its sign
            emit_pointwise(nest, tile, own)
        first += count
    return LaunchShape(first, tiles.threads)
