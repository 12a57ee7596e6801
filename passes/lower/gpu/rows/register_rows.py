# SPDX-License-Identifier: MIT OR Apache-2.0
"""Row kernels (softmax, norms): a warp, a block or a cluster keeps each row in registers.

Every thread holds the same elements of every row, so that what one nest writes and another reads
never leaves the thread. Each array is read once and each result written once, 16 bytes at a time;
only sums, maxima and their like pass through shuffles, in a block through shared memory, and
between the blocks of a cluster through each other's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.block_reduce import block_reduce, column_reduce, warp_reduce
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.scalar_body import emit_on_scalars
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    below,
    block_number,
    delinearize,
    i32,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.emit.windows import interleaved_outputs
from xyntra.passes.lower.gpu.rows.row_accesses import first_reads, is_recomputed
from xyntra.passes.lower.gpu.rows.row_extras import BlockCluster, RowExtras, StagedRows
from xyntra.passes.lower.gpu.rows.row_order import in_single_rows
from xyntra.passes.lower.gpu.rows.row_plan import RowPlan, row_plans
from xyntra.passes.lower.gpu.rows.row_values import Row, ThreadRowValues
from xyntra.passes.lower.gpu.rows.shifted_sums import ShiftedSum, shifted_sum
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import offset, store
from xyntra.passes.lower.loops.memrefs import is_private, root
from xyntra.passes.lower.loops.vector_body import broadcast, lane_of


@dataclass(frozen=True)
class RegisterRows:
    """Nests that share their outer loops, whose rows threads hold in registers.

    Attributes:
        nests: at least two, in order, with the loops over rows first.
        count: how many of the loops are over rows.
        plan: how threads hold a row.
    """

    nests: Sequence[LinearNest]
    count: int
    plan: RowPlan


def register_rows(
    nests: Sequence[LinearNest], generics: Sequence[ir.Operation], device: GpuDevice
) -> Iterator[RegisterRows]:
    """Yield the ways in which threads hold the rows that `nests` share, the best first.

    Args:
        nests: at least two, in order.
        generics: the operations that they come from.
        device: that the code is for.
    """
    ordered, count = in_single_rows(nests)
    for plan in row_plans(ordered, count, generics, device):
        yield RegisterRows(ordered, count, plan)


def emit_register_rows(
    found: RegisterRows,
    generics: Sequence[ir.Operation],
    shared: SharedMemory,
    extras: RowExtras | None = None,
) -> LaunchShape:
    """Emit nests for a launch of the returned shape.

    Args:
        found: the nests.
        generics: the operations that they come from, and that will be removed.
        shared: for what the warps of a block exchange.
        extras: for a device that has features for long rows.
    """
    plan, nests, count = found.plan, found.nests, found.count
    cluster = extras.cluster(shared) if extras is not None and plan.cluster > 1 else None
    row, thread = _place(plan, cluster)
    always = plan.rows % plan.side_by_side == 0
    is_there = None
    if plan.mixes_rows and not always:
        # All threads take part in exchanges, those behind the last row for that one.
        last, always = i32(plan.rows - 1), True
        is_there = arith.cmpi(arith.CmpIPredicate.ule, row, last)
        row = arith.minui(row, last)
    with below(row, plan.rows, always=always):
        position = delinearize(row, list(enumerate(plan.outer)))
        staging = extras.stage(plan.threads, shared) if extras is not None and plan.staged else None
        values = ThreadRowValues(plan, count, position, thread, staging, is_there)
        rows = _Rows(plan, values, thread, generics, shared, staging, cluster)
        if plan.cluster > 1 and plan.sharing % shared.device.subgroup**2 == 0:
            rows.shifted = shifted_sum(nests, count, generics)
        rows.emit(nests, count)
    blocks = -(-plan.rows // plan.side_by_side) * plan.cluster
    nbytes = staging.used if staging else 0
    threads = plan.side_by_side * plan.threads
    return LaunchShape(blocks, threads, shared=nbytes, cluster=plan.cluster)


def _place(plan: RowPlan, cluster: BlockCluster | None) -> tuple[ir.Value, ir.Value]:
    """Return the row of this thread, and its number among the threads of the row."""
    row, thread = block_number(), thread_number()
    if plan.beside:
        row = arith.addi(arith.muli(row, i32(plan.beside)), _low(thread, plan.beside))
        thread = _high(thread, plan.beside)
    elif plan.of_warps:
        first = arith.muli(row, i32(plan.side_by_side))
        row = arith.addi(first, _high(thread, plan.threads))
        thread = _low(thread, plan.threads)
    if cluster is not None:
        cluster.arrive()  # others may write to its shared memory from now on
        row = arith.divui(row, i32(plan.cluster))
        thread = arith.addi(thread, arith.muli(cluster.rank(), i32(plan.threads)))
    return row, thread


def _low(number: ir.Value, size: int) -> ir.Value:
    return arith.andi(number, i32(size - 1))


def _high(number: ir.Value, size: int) -> ir.Value:
    return arith.shrui(number, i32(size.bit_length() - 1))


class _Rows:
    """The code of one thread for its part of one row.

    Args:
        plan: how the row is shared.
        values: what the thread holds of it.
        thread: number of the thread among those of the row, an i32.
        generics: the operations that will be removed.
        shared: for reductions of a block.
        staging: where rows wait, None where they are in registers.
        cluster: the blocks that share the row, None for a single one.
    """

    def __init__(
        self,
        plan: RowPlan,
        values: ThreadRowValues,
        thread: ir.Value,
        generics: Sequence[ir.Operation],
        shared: SharedMemory,
        staging: StagedRows | None,
        cluster: BlockCluster | None,
    ) -> None:
        self._cluster = cluster
        self._staging = staging
        self._plan = plan
        self._values = values
        self._thread = thread
        self._generics = generics
        self._shared = shared
        self._others_run = False
        self._largest: tuple[ir.Value, ...] = ()
        self.shifted: ShiftedSum | None = None
        """A sum for which the blocks of the cluster meet once."""

    def emit(self, nests: Sequence[LinearNest], count: int) -> None:
        """Emit all nests, which have `count` loops over rows, in order."""
        # All loads come first, so that they are on their way together.
        for nest, access in first_reads(nests, count):
            self._values.load_ahead(nest, access)
        if self._staging is not None:
            self._staging.arrive()
        for nest in nests:
            if self.shifted is not None and nest is self.shifted.largest:
                self._own_largest(self.shifted)
            elif self.shifted is not None and nest is self.shifted.total:
                self._shifted_total(self.shifted)
            elif len(nest.loops) == count:
                self._scalar(nest)
            elif nest.reductions:
                self._reduction(nest)
            else:
                self._elements(nest)
        self._await_others()

    def _elements(self, nest: LinearNest) -> None:
        accesses = nest.accesses if nest.reads_outputs else nest.inputs
        operands = [self._values.operand(nest, each) for each in accesses]
        if self._plan.staged and is_recomputed(nest, len(self._plan.outer), self._generics):
            self._recompute(nest, operands)
            return
        rows: list[Row] = [[] for _ in nest.outputs]
        for step in range(self._plan.steps):
            results = self._values.results(nest, [each(step) for each in operands], step)
            for result, row in zip(results, rows, strict=True):
                row.append(result)
            self._store(nest, results, step)
        for access, row in zip(nest.outputs, rows, strict=True):
            self._values.keep_row(nest, access, row)

    def _store(self, nest: LinearNest, results: Row, step: int) -> None:
        """Write what others may read of the results of a step, all pieces of an array at once."""
        count = len(self._plan.outer)
        for number, access in enumerate(nest.outputs):
            if is_private(root(access.value), self._generics):
                continue
            group = interleaved_outputs(nest.outputs, number, count)
            if number == group[0]:
                self._values.store(access, step, *(results[each] for each in group))

    def _recompute(self, nest: LinearNest, operands: Sequence[Callable[[int], ir.Value]]) -> None:
        """Compute the elements of `nest` where they are read, every time."""
        for number, access in enumerate(nest.outputs):

            def vector(step: int, number: int = number) -> ir.Value:
                arguments = [each(step) for each in operands]
                return self._values.results(nest, arguments, step)[number]

            self._values.keep_rule(nest, access, vector)

    def _reduction(self, nest: LinearNest) -> None:
        combiner = Combiner.of(nest)
        if combiner is None:  # `row_plan` has refused it
            raise AssertionError("a reduction without a neutral element")
        present, single = self._own(nest, combiner)
        total = combiner.combine(present, self._total(single, combiner))
        self._keep(nest, nest.outputs[0], total)

    def _own(self, nest: LinearNest, combiner: Combiner) -> tuple[ir.Value, ir.Value]:
        """Return what a reduction begins with, and the combination of the thread's elements."""
        output, lanes = nest.outputs[0], self._plan.lanes
        operands = [self._values.operand(nest, each) for each in nest.inputs]
        # Before the threads meet: one of them may write it afterwards.
        present = self._values.scalar(nest, output)
        partial = broadcast(combiner.start(), lanes)
        for step in range(self._plan.steps):
            vectors = [each(step) for each in operands]
            (after,) = self._values.results(nest, [*vectors, partial], step)
            partial = self._values.inside(step, after, partial)
        single = reduce(combiner.combine, [lane_of(partial, lane) for lane in range(lanes)])
        return present, single

    def _own_largest(self, shifted: ShiftedSum) -> None:
        """Take the largest element of the warp for that of the row, until its sum is known."""
        nest, combiner = shifted.largest, shifted.combiners[0]
        present, single = self._own(nest, combiner)
        own = warp_reduce(single, combiner, self._lanes)
        self._largest = present, own
        self._values.keep_scalar(nest, nest.outputs[0], shifted.bounded(own))
        if self._staging is not None:
            self._staging.forget()

    def _shifted_total(self, shifted: ShiftedSum) -> None:
        """Find the largest element and the sum from those of all warps."""
        (highest, adds), (before, own) = shifted.combiners, self._largest
        present, single = self._own(shifted.total, adds)
        self._await_others()
        if self._cluster is None:
            raise AssertionError("a sum of several blocks' parts without these")
        own_total = warp_reduce(single, adds, self._lanes)
        warps = self._plan.threads // self._lanes
        pairs = self._cluster.gather((own, own_total), warps, self._plan.cluster)
        largest = reduce(highest.combine, [each for each, _ in pairs])
        largest = warp_reduce(largest, highest, self._lanes)
        largest = highest.combine(before, largest)
        parts = [arith.mulf(total, shifted.power(each, largest)) for each, total in pairs]
        total = warp_reduce(reduce(adds.combine, parts), adds, self._lanes)
        self._keep(shifted.largest, shifted.largest.outputs[0], largest)
        self._elements(shifted.powers)  # those of the warp's largest element are done with
        self._keep(shifted.total, shifted.total.outputs[0], adds.combine(present, total))

    def _total(self, single: ir.Value, combiner: Combiner) -> ir.Value:
        """Return, in every thread, what the threads of the row have."""
        if self._plan.beside:
            return column_reduce(
                single, combiner, self._plan.threads, self._plan.beside, self._shared
            )
        total = block_reduce(single, combiner, self._plan.threads, self._shared)
        if self._cluster is None:
            return total
        self._await_others()
        return self._cluster.combine(total, combiner, self._plan.cluster)

    def _await_others(self) -> None:
        """Wait, once, until the other blocks of the cluster run."""
        if self._cluster is not None and not self._others_run:
            self._cluster.await_others()
        self._others_run = True

    @property
    def _lanes(self) -> int:
        return self._plan.device.subgroup

    def _scalar(self, nest: LinearNest) -> None:
        accesses = nest.accesses if nest.reads_outputs else nest.inputs
        values = [self._values.scalar(nest, each) for each in accesses]
        results = emit_on_scalars(nest.body, values)
        for value, access in zip(results, nest.outputs, strict=True):
            self._keep(nest, access, value)

    def _keep(self, nest: LinearNest, access: BufferOperand, value: ir.Value) -> None:
        """Remember what all elements of a row share; one thread writes it if others may read it."""
        self._values.keep_scalar(nest, access, value)
        if is_private(root(access.value), self._generics):
            return
        place = offset(access, self._values.position)
        is_first = arith.cmpi(arith.CmpIPredicate.eq, self._thread, i32(0))
        if self._values.is_there is not None:
            is_first = arith.andi(is_first, self._values.is_there)
        with when(is_first):
            store(value, access, place)
