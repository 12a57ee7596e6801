# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests that exchange rows: a warp or a block a row, which stays in registers.

Every thread holds the same elements of every row, so that what one nest writes and another reads
never leaves the thread. Each array is read once and each result written once, 16 bytes at a time;
only sums, maxima and their like pass through shuffles and, in a block, through shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.linear_nest import Access, LinearNest, collapsed
from xyntra.passes.lower.cpu.loop_builder import Position, load, offset, store
from xyntra.passes.lower.cpu.memrefs import is_private, root
from xyntra.passes.lower.cpu.row_group import aligned, shared_loops
from xyntra.passes.lower.cpu.vector_body import broadcast, emit_results_on_vectors
from xyntra.passes.lower.cuda.block_reduce import block_reduce
from xyntra.passes.lower.cuda.combiner import Combiner
from xyntra.passes.lower.cuda.pointwise import load_vector, reads_outputs, store_vector
from xyntra.passes.lower.cuda.reductions import lane_of
from xyntra.passes.lower.cuda.row_plan import (
    WARPS,
    RowPlan,
    is_row,
    place_of,
    row_plan,
)
from xyntra.passes.lower.cuda.scalar_body import emit_on_scalars
from xyntra.passes.lower.cuda.shared_memory import SharedMemory
from xyntra.passes.lower.cuda.thread_grid import (
    WARP,
    LaunchShape,
    as_index,
    below,
    block_number,
    delinearize,
    i32,
    thread_number,
    when,
)

_Row = list[ir.Value]  # a vector for each step of a thread
_Key = tuple[ir.Value, tuple[int, tuple[int, ...], bool]]


def emit_register_rows(
    nests: Sequence[LinearNest], generics: Sequence[ir.Operation], shared: SharedMemory
) -> LaunchShape | None:
    """Emit `nests`, which share their outer loops, for a launch of the returned shape.

    Args:
        nests: at least two, in order.
        generics: the operations that they come from, and that will be removed.
        shared: for what the warps of a block exchange.

    Returns:
        The launch; None, with nothing emitted, where rows do not fit the registers.
    """
    nests = aligned(nests)
    count = shared_loops(nests)
    nests = [collapsed(nest, fixed=count) for nest in nests]
    plan = row_plan(nests, count, generics)
    if plan is None:
        return None
    loops = list(enumerate(plan.outer))
    if not plan.of_warps:
        position = delinearize(block_number(), loops)
        _Rows(plan, count, position, thread_number(), generics, shared).emit(nests)
        return LaunchShape(plan.rows, plan.threads)
    thread = thread_number()
    warp = arith.shrui(thread, i32(WARP.bit_length() - 1))
    row = arith.addi(arith.muli(block_number(), i32(WARPS)), warp)
    with below(row, plan.rows, always=plan.rows % WARPS == 0):
        position = delinearize(row, loops)
        lane = arith.andi(thread, i32(WARP - 1))
        _Rows(plan, count, position, lane, generics, shared).emit(nests)
    return LaunchShape(-(-plan.rows // WARPS), WARPS * WARP)


class _Rows:
    """The code of one thread for its part of one row.

    Args:
        plan: how the row is shared.
        count: loops over rows.
        position: the row.
        thread: number of the thread among those of the row, an i32.
        generics: the operations that will be removed.
        shared: for reductions of a block.
    """

    def __init__(
        self,
        plan: RowPlan,
        count: int,
        position: Position,
        thread: ir.Value,
        generics: Sequence[ir.Operation],
        shared: SharedMemory,
    ) -> None:
        self._plan = plan
        self._count = count
        self._position = position
        self._thread = thread
        self._generics = generics
        self._shared = shared
        self._rows: dict[_Key, _Row] = {}
        self._scalars: dict[_Key, ir.Value] = {}
        self._inside: ir.Value | None = None
        self._places = [self._place(step) for step in range(plan.steps)]

    def emit(self, nests: Sequence[LinearNest]) -> None:
        """Emit all nests, in order."""
        for nest in nests:
            if len(nest.loops) == self._count:
                self._scalar(nest)
            elif nest.reductions:
                self._reduction(nest)
            else:
                self._elements(nest)

    def _place(self, step: int) -> ir.Value:
        """Return the first element of a vector; one of the last where it lies behind the row."""
        plan = self._plan
        number = arith.addi(self._thread, i32(step * plan.threads))
        if (step + 1) * plan.threads > plan.vectors:
            last = i32(plan.vectors - 1)
            self._inside = arith.cmpi(arith.CmpIPredicate.ule, number, last)
            number = arith.minui(number, last)
        return as_index(arith.muli(number, i32(plan.lanes)))

    def _is_partial(self, step: int) -> bool:
        return self._inside is not None and step == self._plan.steps - 1

    def _at(self, step: int) -> Position:
        return self._position | {self._count: self._places[step]}

    def _key(self, nest: LinearNest, access: Access) -> _Key:
        return root(access.value), place_of(nest, access, self._count)

    def _row(self, nest: LinearNest, access: Access) -> _Row:
        """Return a row, from memory where it is met first."""
        key = self._key(nest, access)
        if key not in self._rows:
            lanes = self._plan.lanes
            self._rows[key] = [
                load_vector(access, lanes, offset(access, self._at(step)))
                for step in range(self._plan.steps)
            ]
        return self._rows[key]

    def _scalar_of(self, nest: LinearNest, access: Access) -> ir.Value:
        """Return what all elements of a row share."""
        if access.is_scalar:
            return access.value
        key = self._key(nest, access)
        if key not in self._scalars:
            self._scalars[key] = load(access, offset(access, self._position))
        return self._scalars[key]

    def _vectors(self, nest: LinearNest, accesses: Sequence[Access]) -> list[_Row]:
        """Return the vectors of operands, one list an operand."""
        found = []
        for access in accesses:
            if is_row(nest, access, self._count):
                found.append(self._row(nest, access))
            else:
                value = broadcast(self._scalar_of(nest, access), self._plan.lanes)
                found.append([value] * self._plan.steps)
        return found

    def _elements(self, nest: LinearNest) -> None:
        lanes, steps = self._plan.lanes, range(self._plan.steps)
        operands = self._vectors(nest, nest.accesses if reads_outputs(nest) else nest.inputs)
        results = [
            emit_results_on_vectors(nest.body, [each[step] for each in operands], lanes)
            for step in steps
        ]
        for number, access in enumerate(nest.outputs):
            row = [results[step][number] for step in steps]
            self._rows[self._key(nest, access)] = row
            if not is_private(root(access.value), self._generics):
                self._store_row(access, row)

    def _store_row(self, access: Access, row: _Row) -> None:
        for step, vector in enumerate(row):
            place = offset(access, self._at(step))
            if not self._is_partial(step):
                store_vector(vector, access, self._plan.lanes, place)
                continue
            with when(self._inside):
                store_vector(vector, access, self._plan.lanes, place)

    def _reduction(self, nest: LinearNest) -> None:
        lanes, output = self._plan.lanes, nest.outputs[0]
        combiner = Combiner.of(nest)
        if combiner is None:  # `row_plan` has refused it
            raise AssertionError("a reduction without a neutral element")
        operands = self._vectors(nest, nest.inputs)
        # Before the threads meet: one of them may write it afterwards.
        present = self._scalar_of(nest, output)
        partial = broadcast(combiner.start(), lanes)
        for step in range(self._plan.steps):
            values = [each[step] for each in operands]
            (after,) = emit_results_on_vectors(nest.body, [*values, partial], lanes)
            partial = (
                arith.select(self._inside, after, partial) if self._is_partial(step) else after
            )
        single = reduce(combiner.combine, [lane_of(partial, lane) for lane in range(lanes)])
        total = block_reduce(single, combiner, self._plan.threads, self._shared)
        self._keep(nest, output, combiner.combine(present, total))

    def _scalar(self, nest: LinearNest) -> None:
        accesses = nest.accesses if reads_outputs(nest) else nest.inputs
        values = [self._scalar_of(nest, each) for each in accesses]
        results = emit_on_scalars(nest.body, values)
        for value, access in zip(results, nest.outputs, strict=True):
            self._keep(nest, access, value)

    def _keep(self, nest: LinearNest, access: Access, value: ir.Value) -> None:
        """Remember what all elements of a row share; one thread writes it if others may read it."""
        self._scalars[self._key(nest, access)] = value
        if is_private(root(access.value), self._generics):
            return
        place = offset(access, self._position)
        with when(arith.cmpi(arith.CmpIPredicate.eq, self._thread, i32(0))):
            store(value, access, place)
