# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of f32 matrices with fused multiply-adds, sixteen queries a warp.

Lane `8 * y + x` holds queries y, y + 4, y + 8 and y + 12, every eighth key from x on, and groups of
four columns of the result, eight groups apart. Weights go through shared memory of the warp's own.
"""

from __future__ import annotations

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.machine import load_shared, store_shared
from xyntra.passes.lower.cuda.attention.plan import ROWS, FlashPlan
from xyntra.passes.lower.cuda.ptx.barriers import bar_warp_sync_asm
from xyntra.passes.lower.gpu.attention.layout import FragmentLayout, Matrix
from xyntra.passes.lower.gpu.attention.values import Registers, fused, loop, number, real

_ACROSS = 8  # lanes along the keys
_DOWN = 4  # lanes along the queries
_GROUP = 4  # f32s that are read at once
_ITEM = 4
_PASS = 16  # columns of a thread
_PADDING = 8


class ScalarCores:
    """See `Multiplier`.

    Args:
        plan: the sizes.
        lane: uint32.
        queries: address of the warp's queries.
        own: address of the warp's own memory.
    """

    def __init__(self, plan: FlashPlan, lane: Scalar, queries: Scalar, own: Scalar) -> None:
        self._plan = plan
        self._x, self._y = lane % _ACROSS, lane / _ACROSS
        self._queries = queries + self._y * plan.key_pitch
        self._pitch = _ITEM * (plan.warp_keys + _PADDING)
        self._own = own
        rows = tuple(range(0, ROWS, _DOWN))
        keys = tuple(range(0, plan.warp_keys, _ACROSS))
        groups = range(0, plan.value_size, _ACROSS * _GROUP)
        columns = tuple(first + e for first in groups for e in range(_GROUP))
        x = self._x.cast("int32")
        self.layout = FragmentLayout(
            self._y.cast("int32"), rows, x, keys, x * _GROUP, columns, _GROUP, _ACROSS
        )

    def keep_queries(self) -> None:
        """Queries are read where they are needed."""

    def scores(self, keys: Scalar) -> Matrix:
        """See `Multiplier`."""
        plan, shape = self._plan, self.layout
        start = keys + self._x * plan.key_pitch
        steps = plan.key_bytes // (_ITEM * _GROUP)

        def step(place: Scalar, accumulators: Registers) -> Registers:
            moved = place.cast("uint32") * (_ITEM * _GROUP)
            left = [self._four(self._queries + moved, r * plan.key_pitch) for r in shape.rows]
            right = [self._four(start + moved, k * plan.key_pitch) for k in shape.keys]
            pairs = [(a, b) for a in left for b in right]
            return [_dot(a, b, total) for (a, b), total in zip(pairs, accumulators, strict=True)]

        count = len(shape.rows) * len(shape.keys)
        flat = loop(number(steps), [real(0.0)] * count, step)
        return _by_rows(flat, len(shape.keys))

    def weighted(self, weights: Matrix, values: Scalar, accumulators: Matrix) -> Matrix:
        """See `Multiplier`."""
        self._hand_over(weights)
        rows: Matrix = [[] for _ in accumulators]
        for first in range(0, len(self.layout.columns), _PASS):
            part = [row[first : first + _PASS] for row in accumulators]
            for row, more in zip(rows, self._pass(values, first, part), strict=True):
                row += more
        return rows

    def _pass(self, values: Scalar, first: int, accumulators: Matrix) -> Matrix:
        """`weighted` for some of the columns: all at once would take too many registers."""
        plan, shape, width = self._plan, self.layout, len(accumulators[0])
        mine = self._own + self._y * self._pitch
        start = values + self._x * (_ITEM * _GROUP) + shape.columns[first] * _ITEM

        def step(place: Scalar, totals: Registers) -> Registers:
            key = place.cast("uint32") * _GROUP
            left = [self._four(mine + key * _ITEM, r * self._pitch) for r in shape.rows]
            rows = _by_rows(totals, width)
            for ahead in range(_GROUP):
                line = start + (key + ahead) * plan.value_pitch
                factors = [four[ahead] for four in left]
                for column in range(0, width, _GROUP):
                    right = self._four(line, column * _ITEM * _ACROSS)
                    _add(rows, factors, right, column)
            return [each for row in rows for each in row]

        flat = loop(
            number(plan.warp_keys // _GROUP), [each for row in accumulators for each in row], step
        )
        return _by_rows(flat, width)

    def _hand_over(self, weights: Matrix) -> None:
        """Show the weights to the whole warp."""
        shape = self.layout
        bar_warp_sync_asm()  # the last ones have been read
        start = self._own + self._y * self._pitch + self._x * _ITEM
        for distance, row in zip(shape.rows, weights, strict=True):
            for key, weight in zip(shape.keys, row, strict=True):
                store_shared(start + (distance * self._pitch + key * _ITEM), [weight])
        bar_warp_sync_asm()

    @staticmethod
    def _four(address: Scalar, offset: int) -> Registers:
        return load_shared(address + offset if offset else address, _GROUP)


def _dot(a: Registers, b: Registers, total: Scalar) -> Scalar:
    for x, y in zip(a, b, strict=True):
        total = fused(x, y, total)
    return total


def _add(rows: Matrix, weights: Registers, values: Registers, first: int) -> None:
    """Add neighbouring values, weighted, to the columns of every row from `first` on."""
    for row, weight in zip(rows, weights, strict=True):
        for place, value in enumerate(values, first):
            row[place] = fused(weight, value, row[place])


def _by_rows(flat: Registers, width: int) -> Matrix:
    return [flat[start : start + width] for start in range(0, len(flat), width)]
