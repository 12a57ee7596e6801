# SPDX-License-Identifier: MIT OR Apache-2.0
"""Combines one value of every block of a cluster (PTX ISA, "mapa", "barrier.cluster")."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.ptx.clusters import (
    barrier_cluster,
    barrier_cluster_arrive,
    barrier_cluster_wait,
    mapa,
    st_shared_cluster,
)
from xyntra.passes.lower.cuda.ptx.special_registers import cluster_ctarank
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, i32, thread_number, when
from xyntra.passes.lower.loops.loop_builder import index

_WORD, _DOUBLE = 32, 64  # bits
Pairs = list[tuple[ir.Value, ...]]
"""Values of several warps, those of one together."""


class RowCluster:
    """The blocks of a cluster that share a row; see `BlockCluster`."""

    def __init__(self, shared: SharedMemory) -> None:
        self._shared = shared

    def arrive(self) -> None:
        """Say that this block runs."""
        barrier_cluster_arrive(release=False)

    def await_others(self) -> None:
        """Wait until all blocks run."""
        barrier_cluster_wait(acquire=False)

    def rank(self) -> ir.Value:
        """Return the number of this block in its cluster, an i32."""
        return cluster_ctarank()

    def combine(self, value: ir.Value, combiner: Combiner, size: int) -> ir.Value:
        """Return the combination of what `size` blocks have, in every thread."""
        return cluster_reduce(value, combiner, size, self._shared)

    def gather(self, values: Sequence[ir.Value], warps: int, size: int) -> Pairs:
        """Return two f32s of all `warps` of `size` blocks, a share of them in every lane."""
        return cluster_gather(values, warps, size, self._shared)


def cluster_reduce(
    value: ir.Value, combiner: Combiner, size: int, shared: SharedMemory
) -> ir.Value:
    """Return, in every thread, the combination of `value` over the blocks of a cluster.

    Every block writes its value into a word of each other one; all add them up by rank, so that
    all have equal bits. Blocks may end behind it: nothing reaches into them any more.

    Args:
        value: the same in all threads of a block.
        combiner: how two are combined.
        size: blocks of the cluster.
        shared: where the blocks' values are put.
    """
    kind = value.type
    bits = _DOUBLE if kind.width > _WORD else _WORD
    word = ir.IntegerType.get_signless(bits)
    words = shared.allocate(size, word)
    number = thread_number()
    with when(arith.cmpi(arith.CmpIPredicate.ult, number, i32(size))):
        start = emit("memref.extract_aligned_pointer_as_index", [words], ir.IndexType.get())
        mine = arith.addi(_as_i32(start), arith.muli(cluster_ctarank(), i32(bits // 8)))
        st_shared_cluster(mapa(mine, number), _to_word(value, word))
    barrier_cluster()
    found = [emit("memref.load", [words, index(each)], word) for each in range(size)]
    return reduce(combiner.combine, [_from_word(each, kind) for each in found])


def cluster_gather(
    values: Sequence[ir.Value], warps: int, size: int, shared: SharedMemory
) -> Pairs:
    """Return the values of all warps of a cluster, a share of them in every lane of a warp.

    Every warp writes a pair into each block. Blocks may end behind it.

    Args:
        values: two f32s, the same in all threads of a warp.
        warps: of a block; together with `size` a multiple of 32.
        size: blocks of the cluster.
        shared: where the pairs are put.
    """
    word, wide = (ir.IntegerType.get_signless(bits) for bits in (_WORD, _DOUBLE))
    slots = shared.allocate(size * warps, wide)
    lane = arith.andi(thread_number(), i32(WARP - 1))
    warp = arith.shrui(thread_number(), i32(WARP.bit_length() - 1))
    low, high = (arith.extui(wide, emit("arith.bitcast", [each], word)) for each in values)
    shift = emit("arith.constant", [], wide, value=ir.IntegerAttr.get(wide, _WORD))
    pair = arith.ori(low, arith.shli(high, shift))
    with when(arith.cmpi(arith.CmpIPredicate.ult, lane, i32(size))):
        start = emit("memref.extract_aligned_pointer_as_index", [slots], ir.IndexType.get())
        number = arith.addi(arith.muli(cluster_ctarank(), i32(warps)), warp)
        mine = arith.addi(_as_i32(start), arith.muli(number, i32(_DOUBLE // 8)))
        st_shared_cluster(mapa(mine, lane), pair)
    barrier_cluster()
    found = []
    for first in range(0, size * warps, WARP):
        place = as_index(arith.addi(lane, i32(first)))
        both = emit("memref.load", [slots, place], wide)
        parts = (both, arith.shrui(both, shift))
        found.append(tuple(_from_word(arith.trunci(word, p), values[0].type) for p in parts))
    return found


def _to_word(value: ir.Value, word: ir.Type) -> ir.Value:
    kind = value.type
    if not isinstance(kind, ir.IntegerType):
        value = emit("arith.bitcast", [value], ir.IntegerType.get_signless(kind.width))
    return value if kind.width == word.width else emit("arith.extui", [value], word)


def _from_word(value: ir.Value, kind: ir.Type) -> ir.Value:
    narrow = ir.IntegerType.get_signless(kind.width)
    if value.type != narrow:
        value = emit("arith.trunci", [value], narrow)
    return value if isinstance(kind, ir.IntegerType) else emit("arith.bitcast", [value], kind)


def _as_i32(value: ir.Value) -> ir.Value:
    return emit("arith.index_cast", [value], ir.IntegerType.get_signless(_WORD))
