# SPDX-License-Identifier: MIT OR Apache-2.0
"""The end of blocks that share the keys of the same rows: the cluster puts results together."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.flash.merge import (
    Merge,
    added_up,
    common_factors,
)
from xyntra.passes.lower.cuda.attention.machine import load_cluster, store_shared
from xyntra.passes.lower.cuda.ptx.clusters import barrier_cluster
from xyntra.passes.lower.gpu.attention.values import Division, Registers, number, when
from xyntra.passes.lower.gpu.emit.thread_grid import barrier, strided_loop

_ITEM = 4
_GROUP = 4  # f32s that are moved at once


@dataclass(frozen=True)
class ClusterMerge(Merge):
    """Writes a block's share of the rows of its cluster.

    Attributes:
        cluster: how many blocks there are.
        rank: the number of the block among them, uint32.
        parts_start: byte at which the block leaves maxima and totals of its rows.
    """

    cluster: int
    rank: Scalar
    parts_start: int

    def collect(self) -> None:
        """Write a share of the rows, once all warps of all blocks have left theirs."""
        barrier()
        chunks, count = self.chunks, self.rows * self.chunks

        def add(place: ir.Value) -> tuple[()]:
            flat = Scalar(place, "uint32")
            self._add(flat / chunks, flat % chunks)
            return ()

        def write(place: ir.Value) -> tuple[()]:
            flat = Scalar(place, "uint32") * self.cluster + self.rank
            with when(flat < count):
                self.write(flat / chunks, flat % chunks)
            return ()

        strided_loop(count, self.plan.threads, [], add)
        barrier_cluster()
        strided_loop(-(-count // self.cluster), self.plan.threads, [], write)
        barrier_cluster()  # shared memory must be there until all have read it

    def _add(self, row: Scalar, number_: Scalar) -> None:
        """Add up contiguous elements of all warps of the block, in the place of the first's."""
        factors, top, total = self.factors(row)
        values = self.added(row, number_ * self.chunk, factors)
        start = self.line(row, number_ * self.chunk)
        for k in range(0, self.chunk, _GROUP):
            store_shared(start + k * _ITEM, values[k : k + _GROUP])
        with when(number_.equals(0)):
            store_shared(self.shared + self.parts_start + row * (2 * _ITEM), [top, total])

    def combined(self, row: Scalar, column: Scalar) -> Registers:
        """Contiguous elements of a row of the result, from all blocks."""
        ranks = [number(rank, "uint32") for rank in range(self.cluster)]
        place = self.shared + self.parts_start + row * (2 * _ITEM)
        parts = [load_cluster(place, rank, 2) for rank in ranks]
        factors, _, total = common_factors(self.problem, parts)
        start = self.line(row, column)
        accumulators = added_up(
            (
                [
                    each
                    for k in range(0, self.chunk, _GROUP)
                    for each in load_cluster(start + k * _ITEM, rank, _GROUP)
                ]
                for rank in ranks
            ),
            factors,
        )
        divide = Division(self.problem.op.masked_rows, total)
        return [divide(each) for each in accumulators]
