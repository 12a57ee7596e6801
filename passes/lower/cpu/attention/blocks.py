# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits attention head by head: blocks of queries against chunks of keys.

Keys and values of a head are packed into panels, once for all heads that share them. Scores exist
for one block of queries and one chunk of keys at a time; both contractions are register tiles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch_mlir.dialects import arith

from xyntra.dialects.attention import Access, Attention
from xyntra.dialects.attention_layout import BATCH, HEAD, KEY, KEY_SIZE, QUERY, VALUE_SIZE
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.size import Size, least_of, most_of
from xyntra.passes.lower.cpu.attention.in_place import HeadInPlace
from xyntra.passes.lower.cpu.attention.masks import Masks, RowMask
from xyntra.passes.lower.cpu.attention.packing import MatrixSource, copy_rows, zero
from xyntra.passes.lower.cpu.attention.panels import HeadPanels
from xyntra.passes.lower.cpu.attention.plan import AttentionPlan
from xyntra.passes.lower.cpu.attention.result import Quotients, write_row
from xyntra.passes.lower.cpu.attention.softmax import BlockRowState, ChunkSoftmax
from xyntra.passes.lower.cpu.attention.tiles import STEPS, RowOperand, Sums, multiply
from xyntra.passes.lower.kernels.attention_operands import Matrix, Outer, locate
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import Position, index, loop, nested_loops, plus
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.math.values import Float

__all__ = ["AttentionEmitter"]

_NEGATIVE_INFINITY = float("-inf")
_GROUP = -1  # the loop over groups of heads
_MANY_GROUPS = 8  # as many occupy every worker without blocks of queries being shared out


@dataclass(frozen=True)
class _Scratch:
    """Memory for one block: scores, and what is known of the rows."""

    scores: ir.Value
    state: BlockRowState
    masks: Masks


@dataclass(frozen=True)
class AttentionEmitter:
    """Writes one attention on buffers at the insertion point.

    Attributes:
        op: what is computed; its operands are memrefs of static layout.
        result: where it is written, described like an operand.
        plan: sizes of blocks.
    """

    op: Attention
    result: Matrix
    plan: AttentionPlan

    def emit(self) -> None:
        """Emit all loops."""
        sizes = self.op.sizes
        if self.plan.in_place:
            self._emit_in_place()
            return
        panels = HeadPanels.of(self.op, self.plan)
        groups = sizes[HEAD] // panels.shared
        outer = [(BATCH, sizes[BATCH]), (_GROUP, groups)]
        inner = [(HEAD, panels.shared), (QUERY, self._blocks)]
        # Of a batch that is told, the smallest counts: few heads need their blocks shared out.
        is_one = most_of(panels.shared * self._blocks) == 1
        if least_of(sizes[BATCH] * groups) >= _MANY_GROUPS or is_one:
            nested_loops(outer, {}, lambda at: self._group(panels, at, inner), parallel=True)
            return
        ahead = panels.allocated(sizes[BATCH] * groups)

        def number(at: Position) -> ir.Value:
            return plus(integers.muli(at[BATCH], index(groups)), at[_GROUP])

        nested_loops(
            outer, {}, lambda at: ahead.pack(at[BATCH], at[_GROUP], number(at)), parallel=True
        )
        nested_loops(
            [*outer, *inner], {}, lambda at: self._packed(ahead.at(number(at)), at), parallel=True
        )

    def _emit_in_place(self) -> None:
        """Emit all heads, one by one, none of which is packed."""
        sizes = self.op.sizes
        loops = [(BATCH, sizes[BATCH]), (HEAD, sizes[HEAD]), (QUERY, self._blocks)]

        def block(at: Position) -> None:
            outer = {BATCH: at[BATCH], HEAD: at[HEAD]}
            self._block(HeadInPlace(self.op, self.plan, outer), outer, at[QUERY])

        nested_loops(loops, {}, block, parallel=True)

    def _group(self, panels: HeadPanels, group: Position, inner: list[tuple[int, int]]) -> None:
        """All heads that share keys and values."""
        own = panels.allocated(1)
        own.pack(group[BATCH], group[_GROUP], index(0))
        nested_loops(inner, group, lambda at: self._packed(own.at(index(0)), at))

    @property
    def _blocks(self) -> int:
        return -(-self.op.sizes[QUERY] // self.plan.rows)

    def _allocate(self, columns: int) -> _Scratch:
        plan, f32 = self.plan, ir.F32Type.get()
        wide = plan.rows * plan.lanes
        state = BlockRowState(
            total=allocate(wide, f32),
            reference=allocate(wide, f32),
            sums=None if self._is_direct else allocate(plan.rows * columns, f32),
            columns=columns,
        )
        scores = allocate(plan.rows * plan.keys, f32)
        if plan.in_place and self.op.sizes[KEY] % plan.keys:
            zero(scores, plan.lanes)  # beyond the last key, where nothing else writes
        return _Scratch(scores, state, self._masks())

    @property
    def _is_direct(self) -> bool:
        """Tell whether tiles of the result are divided and written from registers."""
        plan, width = self.plan, self.op.sizes[VALUE_SIZE]
        is_whole = width % plan.panel == 0 and self.result.stride(VALUE_SIZE) == 1
        return plan.chunks == 1 and plan.has_full_tiles and is_whole

    def _masks(self) -> Masks:
        keep, bias = (
            RowMask(locate(each), self._mask_buffer()) if each is not None else None
            for each in (self.op.keep, self.op.bias)
        )
        return Masks(self.op, self.plan, keep, bias)

    def _mask_buffer(self) -> ir.Value:
        """Memory for a chunk of a mask; what stands beyond the last key is never written."""
        buffer = allocate(self.plan.keys, ir.F32Type.get())
        if isinstance(self.op.sizes[KEY], Size) or self.op.sizes[KEY] < self.plan.keys:
            zero(buffer, self.plan.lanes)
        return buffer

    def _packed(self, panels: HeadPanels, at: Position) -> None:
        head = plus(integers.muli(at[_GROUP], index(panels.shared)), at[HEAD])
        self._block(panels, {BATCH: at[BATCH], HEAD: head}, at[QUERY])

    def _block(self, panels: HeadPanels | HeadInPlace, outer: Outer, number: ir.Value) -> None:
        """Compute the rows of block `number` of a head."""
        plan, op = self.plan, self.op
        scratch = self._allocate(panels.value_panels * plan.panel)
        first = integers.muli(number, index(plan.rows))
        rows = index(plan.rows)
        if plan.last_rows != plan.rows:
            rows = integers.minsi(rows, integers.subi(index(op.sizes[QUERY]), first))
        queries = self._queries(outer, first, rows)
        block = _Block(self, panels, scratch, outer, first, rows, queries)
        block.emit()
        if scratch.state.sums is None:
            return
        with loop(rows) as row:
            write_row(op, plan, self.result, outer, plus(first, row), row, scratch.state)

    def _queries(self, outer: Outer, first: ir.Value, rows: ir.Value) -> RowOperand:
        """The queries of a block: where they lie, or a copy with rows to spare."""
        plan, size = self.plan, self.op.sizes[KEY_SIZE]
        query = locate(self.op.query)
        steps = query.stride(QUERY), query.stride(KEY_SIZE)
        start = plus(query.start(outer), integers.muli(first, index(steps[0])))
        if plan.has_full_tiles and steps[1] == 1:
            return RowOperand(query.memory, steps[0], start)
        copy = allocate(plan.rows * size, ir.F32Type.get())
        copy_rows(
            MatrixSource(query.memory, start, plan.rows, size, *steps), rows, copy, plan.lanes
        )
        return RowOperand(copy, size)


@dataclass(frozen=True)
class _Block:
    """The rows of one block, from query `first` on."""

    emitter: AttentionEmitter
    panels: HeadPanels | HeadInPlace
    scratch: _Scratch
    outer: Outer
    first: ir.Value
    rows: ir.Value
    queries: RowOperand

    def emit(self) -> None:
        """Emit all chunks of keys: first those that need no masks for their position."""
        plan = self.emitter.plan
        if plan.chunks == 1:
            self._chunk(index(0), is_whole=False)
            return
        self._clear()
        whole, some = self._chunks_seen()
        with loop(whole) as chunk:
            self._chunk(integers.muli(chunk, index(plan.keys)), is_whole=True)
        if whole == some:
            return
        with loop(integers.subi(some, whole)) as chunk:
            first = integers.muli(plus(whole, chunk), index(plan.keys))
            self._chunk(first, is_whole=False)

    def _chunks_seen(self) -> tuple[ir.Value, ir.Value]:
        """How many chunks are whole and seen by all queries, and how many there are for any."""
        plan, op = self.emitter.plan, self.emitter.op
        whole, some = index(op.sizes[KEY] // plan.keys), index(plan.chunks)
        if op.limit is not None:
            limit = self._limit(op.limit)
            some = integers.minsi(some, integers.ceildivui(limit, index(plan.keys)))
            whole = integers.minsi(whole, integers.divui(limit, index(plan.keys)))
            if op.causal_offset is None:
                return whole, some
        if op.causal_offset is None:
            return (whole, some) if op.sizes[KEY] % plan.keys else (some, some)
        if op.fill != _NEGATIVE_INFINITY:
            return index(0), some
        first = plus(self.first, index(op.causal_offset))
        all_see = integers.maxsi(plus(first, index(1)), index(0))
        some_see = integers.maxsi(plus(first, self.rows), index(0))
        return (
            integers.minsi(integers.divui(all_see, index(plan.keys)), whole),
            integers.minsi(integers.ceildivui(some_see, index(plan.keys)), some),
        )

    def _clear(self) -> None:
        state, lanes = self.scratch.state, self.emitter.plan.lanes
        if state.sums is not None:
            zero(state.sums, lanes)
        zero(state.total, lanes)
        zero(state.reference, lanes, _NEGATIVE_INFINITY)

    def _keys_seen(self, key: ir.Value) -> ir.Value:
        """How far from `key` on a query of the block sees keys, up to the end of the chunk."""
        plan, op = self.emitter.plan, self.emitter.op
        seen = index(plan.keys)
        if op.sizes[KEY] != plan.padded_keys:
            seen = integers.minsi(seen, integers.subi(index(op.sizes[KEY]), key))
        if op.causal_offset is not None and op.fill == _NEGATIVE_INFINITY:
            end = plus(self.first, self.rows, index(op.causal_offset))
            seen = integers.minsi(seen, integers.maxsi(integers.subi(end, key), index(0)))
        if op.limit is not None:
            rest = integers.maxsi(integers.subi(self._limit(op.limit), key), index(0))
            seen = integers.minsi(seen, rest)
        return seen

    def _limit(self, operand: Access) -> ir.Value:
        """How many keys the masks leave to the queries of the block."""
        limit, keys = locate(operand), self.emitter.op.sizes[KEY]
        place = emit("memref.load", [limit.memory, limit.start(self.outer)], _i64())
        found = arith.index_cast(ir.IndexType.get(), place)
        # What computes it has bounded it; memory must not depend on that.
        return integers.minsi(integers.maxsi(found, index(0)), index(keys))

    def _chunk(self, key: ir.Value, *, is_whole: bool) -> None:
        """Add what the chunk of keys from `key` on contributes to the sums of the block."""
        plan, scratch = self.emitter.plan, self.scratch
        masks = scratch.masks.of_whole_chunk() if is_whole else scratch.masks
        limit = self.emitter.op.limit
        if limit is not None and not is_whole:
            masks = replace(masks, limit=self._limit(limit))
        seen = index(plan.keys) if is_whole else self._keys_seen(key)
        panels = integers.ceildivui(seen, index(plan.panel))
        count = integers.ceildivui(seen, index(plan.width))
        scores = Sums(scratch.scores, plan.keys)
        if isinstance(self.panels, HeadInPlace):
            self.panels.score(self.queries, key, seen, scores)
        else:
            extents = (panels, self.rows, self.emitter.op.sizes[KEY_SIZE])
            multiply(plan, extents, self.queries, self.panels.keys_from(key), scores)
        masks.read(self.outer, self.first, key, shared=True)
        softmax = ChunkSoftmax(plan, scratch.scores, count, scratch.state)
        with loop(self.rows) as row:
            here = plus(self.first, row)
            masks.read(self.outer, here, key, shared=False)

            def apply(score: Float, column: ir.Value) -> Float:
                return masks.apply(score, here, key, column)

            softmax.refer(row, apply if masks.is_needed else None)
        with loop(self.rows) as row:
            softmax.exponentiate(row)
        steps = seen if plan.in_place else _rounded_up(seen, STEPS)
        multiply(
            plan, (self.panels.value_panels, self.rows, steps),
            RowOperand(scratch.scores, plan.keys), self.panels.values_from(key), self._sums(),
        )  # fmt: skip

    def _sums(self) -> Sums:
        """Return where weighted values are summed up."""
        state, result = self.scratch.state, self.emitter.result
        if state.sums is not None:
            return Sums(state.sums, state.columns, self.emitter.plan.chunks != 1)
        step = result.stride(QUERY)
        start = plus(result.start(self.outer), integers.muli(self.first, index(step)))
        finish = Quotients(self.emitter.op, self.emitter.plan, state)
        return Sums(result.memory, step, start=start, finish=finish)


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)


def _rounded_up(number: ir.Value, step: int) -> ir.Value:
    return integers.muli(integers.ceildivui(number, index(step)), index(step))
