# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention of few queries without packing: keys and values are read in place.

Packing them into panels takes longer than all that few queries compute with them. The lanes of
vectors run along keys, for scores, and along values, for the result; both are read once, in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.attention import Access as Operand
from xyntra.dialects.attention import Attention
from xyntra.dialects.attention_layout import KEY, KEY_SIZE, QUERY, VALUE_SIZE
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.positions import Position
from xyntra.passes.analysis.sizes.session import sized_strides
from xyntra.passes.lower.cpu.attention.plan import AttentionChoices, AttentionPlan
from xyntra.passes.lower.cpu.attention.tiles import KeyPanels, RowOperand, Sums
from xyntra.passes.lower.cpu.matmul.sums_of_lanes import sums_of_lanes
from xyntra.passes.lower.kernels.attention_operands import Outer, load_vector, locate, store_vector
from xyntra.passes.lower.loops.loop_builder import carrying_loop, index, loop, plus
from xyntra.passes.lower.loops.vector_body import broadcast
from xyntra.passes.math.exp import LOG2_E

__all__ = ["MOST_QUERIES", "HeadInPlace", "can_read_in_place", "plan_in_place"]

MOST_QUERIES = 4
_MOST_KEYS = 512  # of a chunk, whose scores are few
_MOST_HELD = 8  # vectors of a tile, which hide the latency of each other's sums
_LEAST_LANES = 4


def can_read_in_place(op: Attention, choices: AttentionChoices) -> bool:
    """Tell whether rows of keys and values are contiguous, in whole vectors and panels."""
    sizes = op.sizes
    fits = sizes[KEY_SIZE] % choices.vector == 0 and sizes[VALUE_SIZE] % choices.panel == 0
    is_few = sizes[QUERY] == choices.rows <= MOST_QUERIES and op.causal_offset is None
    lies = _stride(op.key, KEY_SIZE) == 1 and _stride(op.value, VALUE_SIZE) == 1
    return is_few and fits and lies


def plan_in_place(op: Attention, lanes: int) -> AttentionChoices | None:
    """Return the blocks for reading keys and values in place; None where that cannot be.

    Args:
        op: the attention.
        lanes: elements of a vector register.
    """
    queries, keys = op.sizes[QUERY], op.sizes[KEY]
    while lanes > _LEAST_LANES and any(op.sizes[n] % lanes for n in (KEY_SIZE, VALUE_SIZE)):
        lanes //= 2
    vectors = 4
    while vectors > 1 and (
        op.sizes[VALUE_SIZE] % (vectors * lanes) or vectors * queries > _MOST_HELD
    ):
        vectors //= 2
    width = max(2, vectors) * lanes
    chunks = -(-keys // _MOST_KEYS)
    chunk = -(-keys // (chunks * width)) * width
    found = AttentionChoices(lanes, queries, (queries, chunk), vectors, in_place=True)
    return found if can_read_in_place(op, found) else None


def _stride(operand: Operand, number: int) -> int:
    """Elements that a loop moves on."""
    steps = sized_strides(ir.MemRefType(operand.value.type))
    total = Position()
    for position, step in zip(operand.positions, steps, strict=True):
        total += position * step
    return sum(factor for digit, factor in total.terms if digit.loop == number)


@dataclass(frozen=True)
class HeadInPlace:
    """Keys and values of one head.

    Attributes:
        op: the attention.
        plan: its blocks.
        outer: the batch and the head.
    """

    op: Attention
    plan: AttentionPlan
    outer: Outer

    @property
    def value_panels(self) -> int:
        """Panels of the values."""
        return self.op.sizes[VALUE_SIZE] // self.plan.panel

    def values_from(self, key: ir.Value) -> KeyPanels:
        """The values from the row of `key` on."""
        value = locate(self.op.value)
        step = value.stride(KEY)
        start = plus(value.start(self.outer), arith.muli(key, index(step)))
        return KeyPanels(value.memory, start, self.plan.panel, step)

    def score(self, queries: RowOperand, key: ir.Value, count: ir.Value, out: Sums) -> None:
        """Emit the scores of all queries and the `count` keys from `key` on, scaled."""
        source = locate(self.op.key)
        step = source.stride(KEY)
        start = plus(source.start(self.outer), arith.muli(key, index(step)))
        together = min(self.plan.lanes, max(2, _MOST_HELD // self.plan.tile_rows))
        whole = arith.divui(count, index(together))
        done = arith.muli(whole, index(together))
        for number, first, keys in (
            (whole, index(0), together),
            (arith.subi(count, done), done, 1),
        ):
            with loop(number) as tile:
                column = plus(first, arith.muli(tile, index(keys)))
                rows = RowOperand(source.memory, step, plus(start, arith.muli(column, index(step))))
                self._tile(queries, rows, keys, out, column)

    def _tile(
        self, queries: RowOperand, keys: RowOperand, count: int, out: Sums, column: ir.Value
    ) -> None:
        """Emit the scores of `count` neighbouring keys."""
        lanes, rows = self.plan.lanes, range(self.plan.tile_rows)
        contract = arith.FastMathFlags.contract
        zero = broadcast(arith.constant(ir.F32Type.get(), 0.0), lanes)
        built = carrying_loop(self.op.sizes[KEY_SIZE] // lanes, [zero] * (len(rows) * count))
        with ir.InsertionPoint(built.body):
            step = arith.muli(built.induction_variable, index(lanes))
            left = [_row(queries, row, step, lanes) for row in rows]
            right = [_row(keys, number, step, lanes) for number in range(count)]
            products = [arith.mulf(a, b, fastmath=contract) for a in left for b in right]
            pairs = zip(built.inner_iter_args, products, strict=True)
            scf.YieldOp([arith.addf(total, each, fastmath=contract) for total, each in pairs])
        sums = list(built.results)
        scale = arith.constant(ir.F32Type.get(), self.op.scale * LOG2_E)
        for row in rows:
            found = sums_of_lanes(arith.addf, sums[row * count : (row + 1) * count])
            value = arith.mulf(found, broadcast(scale, count))
            store_vector(value, out.memory, plus(column, index(row * out.row)))


def _row(matrix: RowOperand, row: int, step: ir.Value, lanes: int) -> ir.Value:
    place = plus(step, index(row * matrix.row))
    if matrix.start is not None:
        place = plus(matrix.start, place)
    return load_vector(matrix.memory, place, lanes)
