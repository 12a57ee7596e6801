# SPDX-License-Identifier: MIT OR Apache-2.0
"""The family of nests: elementwise loops, reductions, and several of them that share rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.elementwise.pointwise import (
    PointwiseTile,
    emit_pointwise,
    pointwise_refusal,
    pointwise_tile,
)
from xyntra.passes.lower.gpu.elementwise.side_by_side import (
    SideBySideTiles,
    emit_side_by_side,
    side_by_side_length,
    side_by_side_refusal,
)
from xyntra.passes.lower.gpu.elementwise.transposed_tiles import (
    emit_transposed,
    transposed_of,
    transposed_refusal,
)
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emitters.emitter import (
    Code,
    Family,
    Impossible,
    StageEmitter,
    block_sizes,
    check_threads,
    unless,
)
from xyntra.passes.lower.gpu.reductions.column_group import column_group
from xyntra.passes.lower.gpu.reductions.columns import (
    column_strips,
    emit_columns,
    strips_of,
    strips_refusal,
)
from xyntra.passes.lower.gpu.reductions.reductions import emit_reduction, reduction_threads
from xyntra.passes.lower.gpu.rows.register_rows import (
    RegisterRows,
    emit_register_rows,
    register_rows,
)
from xyntra.passes.lower.gpu.rows.row_extras import RowExtras
from xyntra.passes.lower.gpu.rows.rows import emit_rows, row_threads
from xyntra.passes.lower.gpu.stages.stage import Stage
from xyntra.passes.lower.loops.linear_nest import LinearNest, linear_nest

_LANES = (1, 2, 4, 8, 16)
_STEPS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Nests:
    """Loops that one launch computes, and the operations that they come from."""

    nests: tuple[LinearNest, ...]
    generics: tuple[ir.Operation, ...]

    @property
    def only(self) -> LinearNest | None:
        """The nest, where there is one alone."""
        return self.nests[0] if len(self.nests) == 1 else None


@dataclass(frozen=True)
class ColumnChoices:
    """The choices of threads that share reductions along columns.

    Attributes:
        vector: contiguous columns of a thread.
        above: threads that share a column.
    """

    vector: int = 1
    above: int = 1


@dataclass(frozen=True)
class RegisterRowChoices:
    """The choices of threads that hold rows in registers.

    Attributes:
        threads: of a block that share a row.
        cluster: blocks that share a row.
        staged: vectors of a thread that are staged in shared memory.
        beside: rows that neighbouring threads take.
    """

    threads: int = 32
    cluster: int = 1
    staged: int = 0
    beside: int = 0


@dataclass(frozen=True)
class ThreadChoices:
    """The number of threads that compute a row, or an output, together; at least 1."""

    threads: int = 1


@dataclass(frozen=True)
class TransposedTileChoices:
    """The side of a tile in shared memory, in elements."""

    tile: int = 64


def _read(stage: Stage) -> Nests | None:
    if not stage.is_loops:
        return None
    return Nests(tuple(map(linear_nest, stage.operations)), stage.operations)


def _choose(subject: Nests, device: GpuDevice) -> Schedule:
    group = column_group(subject.nests)
    if group is not None:
        strips = column_strips(group, device)
        return Schedule.told("columns", ColumnChoices(strips.lanes, strips.above))
    nest = subject.only
    if nest is None:
        if side_by_side_length(subject.nests, device) == len(subject.nests):
            return Schedule.told("side-by-side", SideBySideTiles.of(subject.nests))
        found = next(_register_rows(subject, device), None)
        if found is not None:
            return Schedule.told("register-rows", _of_rows(found))
        return Schedule.told("rows", ThreadChoices(row_threads(subject.nests, device)))
    if nest.reductions:
        return Schedule.told("reduction", ThreadChoices(reduction_threads(nest, device)))
    across = transposed_of(nest, device)
    if across is not None:
        return Schedule.told("transposed", TransposedTileChoices(across.size))
    return Schedule.told("pointwise", pointwise_tile(nest))


def in_rounds(stage: Stage, device: GpuDevice) -> Schedule | None:
    """Return a schedule with which a block goes along rows of any length; None where none does."""
    subject = _read(stage)
    if subject is None or subject.only is not None or column_group(subject.nests) is not None:
        return None
    if side_by_side_length(subject.nests, device) == len(subject.nests):
        return None
    threads = row_threads(subject.nests, device)
    return Schedule.told("rows", ThreadChoices(threads)) if threads else None


def _plan_columns(subject: Nests, choices: ColumnChoices, device: GpuDevice) -> Code:
    group = column_group(subject.nests)
    if group is None:
        raise Impossible("cannot compute what does not reduce along columns")
    unless(strips_refusal(group, choices.vector, choices.above))
    strips = strips_of(group, choices.vector, choices.above)
    return lambda shared: emit_columns(group, subject.generics, strips, shared)


def _register_rows(subject: Nests, device: GpuDevice) -> Iterator[RegisterRows]:
    return register_rows(subject.nests, subject.generics, device)


def _of_rows(found: RegisterRows) -> RegisterRowChoices:
    plan = found.plan
    return RegisterRowChoices(plan.threads, plan.cluster, plan.staged, plan.beside)


def _plan_rows(subject: Nests, choices: ThreadChoices, device: GpuDevice) -> Code:
    if subject.only is not None or not row_threads(subject.nests, device):
        raise Impossible("computes several nests that share rows, and these do not")
    check_threads(choices.threads, device)
    return lambda shared: emit_rows(subject.nests, subject.generics, choices.threads, shared)


def _plan_reduction(subject: Nests, choices: ThreadChoices, device: GpuDevice) -> Code:
    nest = subject.only
    if nest is None or not nest.reductions:
        raise Impossible("computes one nest that reduces")
    if choices.threads != 1:
        check_threads(choices.threads, device)
        if Combiner.of(nest) is None:
            raise Impossible("needs an order here, which one thread keeps: threads = 1")
    return lambda shared: emit_reduction(nest, choices.threads, shared)


def _plan_transposed(subject: Nests, choices: TransposedTileChoices, device: GpuDevice) -> Code:
    nest = subject.only
    found = None if nest is None or nest.reductions else transposed_of(nest, device)
    if found is None:
        raise Impossible("computes one nest, with a single input that lies across")
    unless(transposed_refusal(found, choices.tile, device))
    sized = replace(found, size=choices.tile)
    return lambda shared: emit_transposed(sized, shared)


def _plan_pointwise(subject: Nests, choices: PointwiseTile, device: GpuDevice) -> Code:
    nest = subject.only
    if nest is None or nest.reductions:
        raise Impossible("computes one nest that does not reduce")
    unless(pointwise_refusal(nest, choices, device))
    return lambda _: emit_pointwise(nest, choices)


def _plan_side_by_side(subject: Nests, choices: SideBySideTiles, device: GpuDevice) -> Code:
    unless(side_by_side_refusal(subject.nests, choices, device))
    return lambda _: emit_side_by_side(subject.nests, choices)


def _column_candidates(subject: Nests, device: GpuDevice) -> Iterable[ColumnChoices]:
    return (ColumnChoices(lanes, 1 << bit) for lanes in _LANES for bit in range(6))


def _register_row_candidates(subject: Nests, device: GpuDevice) -> Iterable[RegisterRowChoices]:
    return map(_of_rows, _register_rows(subject, device))


def _block_candidates(subject: Nests, device: GpuDevice) -> Iterable[ThreadChoices]:
    return map(ThreadChoices, block_sizes(device))


def _reduction_candidates(subject: Nests, device: GpuDevice) -> Iterable[ThreadChoices]:
    return map(ThreadChoices, (1, *block_sizes(device)))


def _transposed_candidates(subject: Nests, device: GpuDevice) -> Iterable[TransposedTileChoices]:
    return map(TransposedTileChoices, (32, 64))


def _pointwise_candidates(subject: Nests, device: GpuDevice) -> Iterator[PointwiseTile]:
    if subject.only is not None and not subject.only.reductions:
        yield pointwise_tile(subject.only)
        for threads in block_sizes(device):
            yield from (PointwiseTile(threads, v, 1, s) for v in _LANES for s in _STEPS)


def _side_by_side_candidates(subject: Nests, device: GpuDevice) -> Iterator[SideBySideTiles]:
    nests = subject.nests
    if len(nests) < 2 or any(nest.reductions for nest in nests):
        return
    found = SideBySideTiles.of(nests)
    yield found
    ones = (1,) * len(nests)
    for threads in block_sizes(device):
        yield from (SideBySideTiles(threads, ones, ones, (steps,) * len(nests)) for steps in _STEPS)
        yield replace(found, threads=threads)


def _emitter_of_register_rows(extras: RowExtras | None) -> StageEmitter[Nests]:
    """Return the emitter of rows in registers, with what a target has for long ones."""

    def plan(subject: Nests, choices: RegisterRowChoices, device: GpuDevice) -> Code:
        known = {_of_rows(each): each for each in _register_rows(subject, device)}
        if choices not in known:
            raise Impossible("cannot hold these rows in registers so")
        found = known[choices]
        return lambda shared: emit_register_rows(found, subject.generics, shared, extras)

    return StageEmitter("register-rows", RegisterRowChoices, plan, _register_row_candidates)


def nests_family(extras: RowExtras | None = None) -> Family[Nests]:
    """Return the family, with what a target has for long rows."""
    return Family(
        _read,
        _choose,
        (
            StageEmitter("columns", ColumnChoices, _plan_columns, _column_candidates),
            _emitter_of_register_rows(extras),
            StageEmitter("rows", ThreadChoices, _plan_rows, _block_candidates),
            StageEmitter(
                "side-by-side", SideBySideTiles, _plan_side_by_side, _side_by_side_candidates
            ),
            StageEmitter("reduction", ThreadChoices, _plan_reduction, _reduction_candidates),
            StageEmitter(
                "transposed", TransposedTileChoices, _plan_transposed, _transposed_candidates
            ),
            StageEmitter("pointwise", PointwiseTile, _plan_pointwise, _pointwise_candidates),
        ),
    )
