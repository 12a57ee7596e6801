# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits attention head by head: blocks of queries against chunks of keys.

Keys and values of a head are packed into panels. Scores exist for one block of queries and one
chunk of keys at a time; both contractions are register tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from torch_mlir.dialects import arith, scf

from xyntra.dialects.attention import Attention
from xyntra.dialects.attention_layout import BATCH, HEAD, KEY, KEY_SIZE, QUERY, VALUE_SIZE
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.attention_masks import Masks, RowMask
from xyntra.passes.lower.cpu.attention_operands import (
    Matrix,
    Outer,
    flat_view,
    load_vector,
    locate,
    store_vector,
)
from xyntra.passes.lower.cpu.attention_packing import Source, pack_columns, scaled_copy, zero
from xyntra.passes.lower.cpu.attention_plan import AttentionPlan
from xyntra.passes.lower.cpu.attention_softmax import RowState, chunk_softmax
from xyntra.passes.lower.cpu.linear_nest import Access, LinearNest, Loop
from xyntra.passes.lower.cpu.loop_builder import index, load, loop, plus, store, tile_start
from xyntra.passes.lower.cpu.memrefs import allocate
from xyntra.passes.lower.cpu.tile_emitter import TileEmitter
from xyntra.passes.lower.cpu.tile_plan import TilePlan
from xyntra.passes.lower.cpu.vector_body import broadcast
from xyntra.passes.math.values import Float

__all__ = ["AttentionEmitter"]


@dataclass(frozen=True)
class _Scratch:
    """Memory for one head: packed keys and values; for one block: queries, scores and sums."""

    keys: ir.Value
    values: ir.Value
    queries: ir.Value
    scores: ir.Value
    sums: ir.Value
    partial: ir.Value | None
    state: RowState


@dataclass(frozen=True)
class AttentionEmitter:
    """Writes one attention on buffers at the insertion point.

    Attributes:
        op: what is computed; its operands are memrefs of static layout.
        result: where it is written, described like an operand.
        plan: sizes of blocks.
        body: multiplies its first two arguments and adds the third.
    """

    op: Attention
    result: Matrix
    plan: AttentionPlan
    body: ir.Block

    def emit(self) -> None:
        """Emit all loops."""
        matrices = [locate(each) for each in (self.op.query, self.op.key, self.op.value)]
        sizes = self.op.sizes
        is_alone = self._shared_heads(*matrices[1:]) == 1
        with loop(sizes[BATCH], parallel=True) as batch:
            memory = None if is_alone else (self._allocate(), self._masks())
            with loop(sizes[HEAD], parallel=is_alone) as head:
                outer = {BATCH: batch, HEAD: head}
                scratch, masks = memory or (self._allocate(), self._masks())
                self._pack_if_new(matrices[1], matrices[2], outer, scratch)
                blocks = -(-sizes[QUERY] // self.plan.rows)
                with loop(blocks, parallel=True) as block:
                    first = tile_start(block, self.plan.rows, sizes[QUERY])
                    self._block(matrices[0], masks, outer, first, scratch)

    @property
    def _value_panels(self) -> int:
        return -(-self.op.sizes[VALUE_SIZE] // self.plan.panel)

    @property
    def _value_columns(self) -> int:
        return self._value_panels * self.plan.panel

    def _allocate(self) -> _Scratch:
        plan, f32 = self.plan, ir.F32Type.get()
        depth, rows = self.op.sizes[KEY_SIZE], plan.rows
        several = plan.chunks > 1
        state = RowState(
            allocate(rows, f32), allocate(rows, f32), allocate(rows, f32) if several else None
        )
        values = allocate(self._value_columns * plan.padded_keys, f32)
        if (
            plan.padded_keys != self.op.sizes[KEY]
            or self._value_columns != self.op.sizes[VALUE_SIZE]
        ):
            # Where there is no key, a probability of 0 must not meet a NaN.
            zero(values)
        return _Scratch(
            keys=allocate(depth * plan.padded_keys, f32),
            values=values,
            queries=allocate(rows * depth, f32),
            scores=allocate(rows * plan.keys, f32),
            sums=allocate(rows * self._value_columns, f32),
            partial=allocate(rows * self._value_columns, f32) if several else None,
            state=state,
        )

    def _masks(self) -> Masks:
        f32 = ir.F32Type.get()
        keep, bias = (
            RowMask(locate(each), allocate(self.plan.keys, f32)) if each is not None else None
            for each in (self.op.keep, self.op.bias)
        )
        return Masks(self.op, self.plan, keep, bias)

    def _shared_heads(self, key: Matrix, value: Matrix) -> int:
        """How many neighbouring heads have the same keys and values."""
        return gcd(key.period(HEAD), value.period(HEAD)) or self.op.sizes[HEAD]

    def _pack_if_new(self, key: Matrix, value: Matrix, outer: Outer, scratch: _Scratch) -> None:
        """Pack keys and values, once for neighbouring heads that share both."""
        shared = self._shared_heads(key, value)
        if shared == 1:
            self._pack(key, value, outer, scratch)
            return
        place = arith.remui(outer[HEAD], index(shared))
        is_new = arith.cmpi(arith.CmpIPredicate.eq, place, index(0))
        branch = scf.IfOp(is_new)
        with ir.InsertionPoint(branch.then_block):
            self._pack(key, value, outer, scratch)
            scf.YieldOp([])

    def _pack(self, key: Matrix, value: Matrix, outer: Outer, scratch: _Scratch) -> None:
        plan, sizes = self.plan, self.op.sizes
        keys = Source(
            key.memory, key.start(outer), sizes[KEY_SIZE], sizes[KEY],
            key.stride(KEY_SIZE), key.stride(KEY),
        )  # fmt: skip
        pack_columns(keys, scratch.keys, sizes[KEY_SIZE], plan.panel, plan.lanes)
        values = Source(
            value.memory, value.start(outer), sizes[KEY], sizes[VALUE_SIZE],
            value.stride(KEY), value.stride(VALUE_SIZE),
        )  # fmt: skip
        pack_columns(values, scratch.values, plan.padded_keys, plan.panel, plan.lanes)

    def _block(
        self, query: Matrix, masks: Masks, outer: Outer, first: ir.Value, scratch: _Scratch
    ) -> None:
        """Compute the rows of one block."""
        start = plus(query.start(outer), arith.muli(first, index(query.stride(QUERY))))
        depth = self.op.sizes[KEY_SIZE]
        source = Source(
            query.memory, start, self.plan.rows, depth, query.stride(QUERY), query.stride(KEY_SIZE)
        )
        scaled_copy(source, scratch.queries, self.op.scale, self.plan.lanes)
        if scratch.partial is None:
            self._chunk(masks, outer, first, index(0), scratch)
        else:
            self._clear(scratch)
            with loop(self._chunks_for(first)) as chunk:
                self._chunk(masks, outer, first, chunk, scratch)
        with loop(self.plan.rows) as row:
            self._finish(outer, first, row, scratch)

    def _chunks_for(self, first: ir.Value) -> ir.Value:
        """The number of chunks with a key that a query of the block sees."""
        offset = self.op.causal_offset
        if offset is None or self.op.fill != float("-inf"):
            return index(self.plan.chunks)
        keys = plus(first, index(self.plan.rows + offset))
        keys = arith.maxsi(keys, index(0))
        chunks = arith.ceildivui(keys, index(self.plan.keys))
        return arith.minsi(chunks, index(self.plan.chunks))

    def _clear(self, scratch: _Scratch) -> None:
        zero(scratch.sums)
        with loop(self.plan.rows) as row:
            f32 = ir.F32Type.get()
            store(arith.constant(f32, 0.0), Access(scratch.state.total, 0, ()), row)
            lowest = arith.constant(f32, float("-inf"))
            store(lowest, Access(scratch.state.maximum, 0, ()), row)

    def _chunk(
        self, masks: Masks, outer: Outer, first: ir.Value, chunk: ir.Value, scratch: _Scratch
    ) -> None:
        """Add what one chunk of keys contributes to the sums of a block."""
        plan = self.plan
        key = arith.muli(chunk, index(plan.keys))
        self._scores(chunk, scratch)
        masks.read(outer, first, key, shared=True)
        with loop(plan.rows) as row:
            here = plus(first, row)
            masks.read(outer, here, key, shared=False)

            def apply(score: Float, column: ir.Value, lane: int) -> Float:
                return masks.apply(score, here, key, column, lane)

            mask = apply if masks.is_needed else None
            chunk_softmax(plan, scratch.scores, row, scratch.state, mask)
        self._products(chunk, scratch)
        if scratch.partial is not None:
            self._accumulate(scratch)

    def _scores(self, chunk: ir.Value, scratch: _Scratch) -> None:
        """Queries [row][d] x keys [panel][d][column] -> scores [row][key]."""
        plan, depth = self.plan, self.op.sizes[KEY_SIZE]
        size = depth * plan.keys
        keys = flat_view(scratch.keys, arith.muli(chunk, index(size)), size)
        panel = depth * plan.panel
        self._multiply(
            (plan.keys // plan.panel, depth),
            Access(scratch.queries, 0, (0, depth, 0, 1)),
            Access(keys, 0, (panel, 0, 1, plan.panel)),
            Access(scratch.scores, 0, (plan.panel, plan.keys, 1, 0)),
        )

    def _products(self, chunk: ir.Value, scratch: _Scratch) -> None:
        """Scores [row][key] x values [panel][key][column] -> sums [row][column]."""
        plan = self.plan
        first = arith.muli(chunk, index(plan.keys * plan.panel))
        panel = plan.padded_keys * plan.panel
        size = (self._value_panels - 1) * panel + plan.keys * plan.panel
        values = flat_view(scratch.values, first, size)
        columns = self._value_columns
        target = scratch.sums if scratch.partial is None else scratch.partial
        self._multiply(
            (self._value_panels, plan.keys),
            Access(scratch.scores, 0, (0, plan.keys, 0, 1)),
            Access(values, 0, (panel, 0, 1, plan.panel)),
            Access(target, 0, (plan.panel, columns, 1, 0)),
        )

    def _multiply(self, extents: tuple[int, int], left: Access, right: Access, out: Access) -> None:
        """A contraction over loops (panel, row, column of a panel, depth)."""
        plan = self.plan
        panels, depth = extents
        loops = (
            Loop(panels, False), Loop(plan.rows, False), Loop(plan.panel, False), Loop(depth, True)
        )  # fmt: skip
        nest = LinearNest(loops, (left, right), (out,), self.body)
        tile = TilePlan(
            1, (2,), plan.tile_rows, plan.panel // plan.lanes, plan.lanes, frozenset(), 0.0
        )
        TileEmitter(nest, tile, arith.constant(ir.F32Type.get(), 0.0)).emit()

    def _accumulate(self, scratch: _Scratch) -> None:
        """Sums = sums * rescale + partial, row by row."""
        plan, columns = self.plan, self._value_columns
        if scratch.partial is None or scratch.state.rescale is None:
            return
        with loop(plan.rows) as row:
            factor = load(Access(scratch.state.rescale, 0, ()), row)
            wide = broadcast(factor, plan.lanes)
            with loop(columns // plan.lanes) as number:
                place = plus(arith.muli(row, index(columns)), arith.muli(number, index(plan.lanes)))
                old = load_vector(scratch.sums, place, plan.lanes)
                new = load_vector(scratch.partial, place, plan.lanes)
                store_vector(arith.addf(arith.mulf(old, wide), new), scratch.sums, place)

    def _finish(self, outer: Outer, first: ir.Value, row: ir.Value, scratch: _Scratch) -> None:
        """Divide a row by its sum and write it to the result."""
        plan, f32 = self.plan, ir.F32Type.get()
        total = load(Access(scratch.state.total, 0, ()), row)
        zero_, one = arith.constant(f32, 0.0), arith.constant(f32, 1.0)
        # Without a score above -inf a total is 0; a NaN or +inf among them makes it NaN.
        is_strict = self.op.masked_rows == "zero"
        predicate = arith.CmpFPredicate.OGT if is_strict else arith.CmpFPredicate.UNE
        is_good = arith.cmpf(predicate, total, zero_)
        factor = arith.divf(one, total)
        start = plus(
            self.result.start(outer),
            arith.muli(plus(first, row), index(self.result.stride(QUERY))),
        )
        line = arith.muli(row, index(self._value_columns))
        size, step = self.op.sizes[VALUE_SIZE], self.result.stride(VALUE_SIZE)
        whole = size // plan.lanes if step == 1 else 0
        if whole:
            with loop(whole) as number:
                column = arith.muli(number, index(plan.lanes))
                value = load_vector(scratch.sums, plus(line, column), plan.lanes)
                value = self._divided(value, factor, is_good, plan.lanes)
                store_vector(value, self.result.memory, plus(start, column))
        with loop(size - whole * plan.lanes) as number:
            column = plus(index(whole * plan.lanes), number)
            value = load(Access(scratch.sums, 0, ()), plus(line, column))
            value = self._divided(value, factor, is_good, 0)
            place = plus(start, arith.muli(column, index(step)))
            store(value, Access(self.result.memory, 0, ()), place)

    def _divided(
        self, value: ir.Value, factor: ir.Value, is_good: ir.Value, lanes: int
    ) -> ir.Value:
        """A sum over its row's total: NaN, or 0, where the row has none."""
        empty = float("nan") if self.op.masked_rows == "nan" else 0.0
        other = arith.constant(ir.F32Type.get(), empty)
        if lanes:
            factor, other = broadcast(factor, lanes), broadcast(other, lanes)
        return arith.select(is_good, arith.mulf(value, factor), other)
