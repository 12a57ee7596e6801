# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of 16-bit matrices on tensor cores, sixteen queries a warp.

Fragments are those of `mma.m16n8k16` in the PTX ISA: lane `4 * g + c` holds rows g and g + 8 and
columns 2 c and 2 c + 1 of every 16 by 8 accumulator. Two neighbouring accumulators of scores are,
as pairs of 16 bits, the left factor of the second product, so that weights stay in registers (Dao,
"FlashAttention-2", 2023).
"""

from __future__ import annotations

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.machine import load_matrices, multiply, packed
from xyntra.passes.lower.cuda.attention.plan import FlashPlan
from xyntra.passes.lower.gpu.attention.layout import FragmentLayout, Matrix
from xyntra.passes.lower.gpu.attention.values import Registers, real

_STEP_BYTES = 32  # sixteen elements
_KEPT = 8  # k-steps of which the queries stay in registers


class TensorCores:
    """See `Multiplier`.

    Args:
        plan: the sizes.
        dtype: float16 or bfloat16.
        lane: uint32.
        queries: address of the warp's queries.
    """

    def __init__(self, plan: FlashPlan, dtype: str, lane: Scalar, queries: Scalar) -> None:
        self._plan = plan
        self._dtype = dtype
        self._lane = lane
        row = (lane >> 2).cast("int32")
        pair = ((lane & 3) << 1).cast("int32")
        keys = tuple(8 * j + e for j in range(plan.warp_keys // 8) for e in (0, 1))
        columns = tuple(8 * j + e for j in range(plan.value_size // 8) for e in (0, 1))
        self.layout = FragmentLayout(row, (0, 8), pair, keys, pair, columns, 2, 4)
        self._steps = plan.key_bytes // _STEP_BYTES
        self._queries = queries + (lane & 15) * plan.key_pitch + (lane >> 4) * 16
        self._kept: list[Registers] = []

    def scores(self, keys: Scalar) -> Matrix:
        """See `Multiplier`."""
        plan, lane = self._plan, self._lane
        row = (lane & 7) + (lane >> 4 << 3)
        start = keys + row * plan.key_pitch + (lane >> 3 & 1) * 16
        tiles = [[real(0.0)] * 4 for _ in range(plan.warp_keys // 8)]
        for step in range(self._steps):
            left = self._query(step)
            for pair in range(plan.warp_keys // 16):
                offset = pair * 16 * plan.key_pitch + step * _STEP_BYTES
                right = load_matrices(start + offset)
                for half in (0, 1):
                    tile = 2 * pair + half
                    factor = right[2 * half : 2 * half + 2]
                    tiles[tile] = multiply(left, factor, tiles[tile], self._dtype)
        return [[tile[2 * row_ + e] for tile in tiles for e in (0, 1)] for row_ in (0, 1)]

    def keep_queries(self) -> None:
        """Load queries into registers, where there is room for them."""
        if self._steps <= _KEPT:
            self._kept = [self._loaded(step) for step in range(self._steps)]

    def _query(self, step: int) -> Registers:
        return self._kept[step] if self._kept else self._loaded(step)

    def _loaded(self, step: int) -> Registers:
        return load_matrices(self._queries + step * _STEP_BYTES)

    def weighted(self, weights: Matrix, values: Scalar, accumulators: Matrix) -> Matrix:
        """See `Multiplier`."""
        plan, lane = self._plan, self._lane
        start = values + (lane & 15) * plan.value_pitch + (lane >> 4) * 16
        tiles = [
            [accumulators[row][2 * j + e] for row in (0, 1) for e in (0, 1)]
            for j in range(plan.value_size // 8)
        ]
        for step in range(plan.warp_keys // 16):
            left = self._left(weights, step)
            for pair in range(-(-len(tiles) // 2)):
                offset = step * 16 * plan.value_pitch + pair * _STEP_BYTES
                right = load_matrices(start + offset, transposed=True)
                for half in (0, 1)[: len(tiles) - 2 * pair]:
                    tile = 2 * pair + half
                    factor = right[2 * half : 2 * half + 2]
                    tiles[tile] = multiply(left, factor, tiles[tile], self._dtype)
        return [[tile[2 * row_ + e] for tile in tiles for e in (0, 1)] for row_ in (0, 1)]

    def _left(self, weights: Matrix, step: int) -> Registers:
        """The weights of sixteen keys as the left factor."""
        places = [(row, 4 * step + 2 * half) for half in (0, 1) for row in (0, 1)]
        return [packed(weights[r][k], weights[r][k + 1], self._dtype) for r, k in places]
