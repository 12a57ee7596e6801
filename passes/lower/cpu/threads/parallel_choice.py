# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the loops of a kernel that threads share.

Kernels run with any number of threads, so that a choice has to do for a few as for many: the time
with each of some numbers is estimated and the sum of these compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.loop_bounds import constant_trips
from xyntra.passes.analysis.sizes.size import hint_of
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.lower.cpu.schedule.told import (
    PARALLEL_LOOPS,
    LoopChoices,
    bad_schedule,
    read_choices,
    schedule_of,
    told_loops,
)
from xyntra.passes.lower.cpu.threads.captures import can_move
from xyntra.passes.lower.cpu.threads.loop_work import LoopWork, trips
from xyntra.passes.lower.cpu.threads.memory_floor import SlowedWork
from xyntra.passes.lower.loops.loop_builder import PARALLEL

__all__ = ["Choice", "choose_loops"]

_THREADS = (2, 4, 8)
_LAUNCH = 1000.0  # ns
_LEAST_WORK = 5000.0  # ns that make sharing worth while, on every entry into the loop
_CHUNK = 3000.0  # ns that one chunk should take at least
_TAKEN_AS_ONE = 200.0  # ns of an iteration that make up for the division that finds its numbers
_LINE = 64  # iterations of an innermost loop: a cache line of the narrowest elements


@dataclass(frozen=True)
class Choice:
    """Loops, each but the last with nothing but the next inside, that are shared as one.

    Attributes:
        loops: scf.for operations, outermost first.
        extents: their iterations.
        grain: the iterations that one thread should do at least in a row.
    """

    loops: tuple[ir.Operation, ...]
    extents: tuple[int, ...]
    grain: int

    @property
    def schedule(self) -> Schedule:
        """Return what tells the outermost loop to be shared so."""
        return told_loops(len(self.loops), self.grain)


@dataclass(frozen=True)
class _Plan:
    """Nanoseconds with each of `_THREADS`, and what to share to get there."""

    times: tuple[float, ...]
    choices: tuple[Choice, ...] = ()

    @property
    def total(self) -> float:
        return sum(self.times)


def choose_loops(block: ir.Block, known: LoopWork) -> list[Choice]:
    """The loops in `block` to share, none inside another one; those with a schedule as that says.

    Branches are looked into: each of them may have loops to share.

    Raises:
        CompileError: such a schedule cannot be followed.
    """
    return list(_block_plan(block, SlowedWork.of_kernel(block, known)).choices)


def _told(loop: ir.Operation, schedule: Schedule, known: SlowedWork) -> _Plan:
    """Return the plan that the schedule of `loop` asks for."""
    if schedule.emitter != PARALLEL_LOOPS:
        raise bad_schedule(loop, f"{schedule.emitter} makes no code of a loop")
    told: LoopChoices = read_choices(loop, schedule, LoopChoices)
    if min(told.loops, told.grain) < 0:
        raise bad_schedule(loop, f"loops = {told.loops}, grain = {told.grain}: below 0")
    work = known.of(loop)
    choices = list(_choices(loop, known))[: told.loops]
    if not choices:
        return _serial(work)
    return _shared(replace(choices[-1], grain=told.grain or choices[-1].grain), work)


def _block_plan(block: ir.Block, known: SlowedWork) -> _Plan:
    times = [0.0] * len(_THREADS)
    choices: list[Choice] = []
    for view in block.operations:
        plan = _plan(view.operation, known)
        times = [sum(pair) for pair in zip(times, plan.times, strict=True)]
        choices += plan.choices
    return _Plan(tuple(times), tuple(choices))


def _plan(op: ir.Operation, known: SlowedWork) -> _Plan:
    if op.name == "scf.for":
        return _loop_plan(op, known)
    if op.name != "scf.if":
        return _serial(known.of(op))
    plans = [_block_plan(block, known) for region in op.regions for block in region.blocks]
    times = [sum(each) for each in zip(*(plan.times for plan in plans), strict=True)]
    return _Plan(tuple(times), tuple(choice for plan in plans for choice in plan.choices))


def _loop_plan(loop: ir.Operation, known: SlowedWork) -> _Plan:
    work = known.of(loop)
    given = schedule_of(loop)
    if given is not None:
        return _told(loop, given, known)
    if work < _LEAST_WORK:
        return _serial(work)
    plans = [_serial(work)]
    for choice in _choices(loop, known):
        if len(choice.loops) > 1 and work / max(1, hint_of(prod(choice.extents))) < _TAKEN_AS_ONE:
            break
        plans.append(_shared(choice, work))
    inside = _block_plan(loop.regions[0].blocks[0], known) if known.has_loops(loop) else None
    if inside is not None and inside.choices:
        count = trips(loop)
        plans.append(_Plan(tuple(count * time for time in inside.times), inside.choices))
    return min(plans, key=lambda plan: plan.total)


def _serial(work: float) -> _Plan:
    return _Plan((work,) * len(_THREADS))


def _choices(loop: ir.Operation, known: SlowedWork) -> Iterator[Choice]:
    """Yield `loop` alone, then as one with ever more loops inside, as long as that can be."""
    loops: list[ir.Operation] = []
    extents: list[int] = []
    following: ir.Operation | None = loop
    if not (_may_share(loop) and can_move(loop)):
        return
    work = known.of(loop)
    while following is not None and _may_share(following):
        loops.append(following)
        extents.append(constant_trips(following) or 1)
        grain = _grain(following, work / max(1, hint_of(prod(extents))), known)
        yield Choice(tuple(loops), tuple(extents), grain)
        following = _only_loop(following)


def _shared(choice: Choice, work: float) -> _Plan:
    pieces = -(-hint_of(prod(choice.extents)) // choice.grain)
    shares = [-(-pieces // threads) / pieces for threads in _THREADS]
    return _Plan(tuple(_LAUNCH + work * share for share in shares), (choice,))


def _may_share(loop: ir.Operation) -> bool:
    marked = PARALLEL in loop.attributes and not len(loop.results)
    return marked and constant_trips(loop) is not None


def _grain(loop: ir.Operation, work: float, known: SlowedWork) -> int:
    """Iterations of `work` nanoseconds that make a chunk."""
    grain = max(1, -(-int(_CHUNK) // max(1, int(work)))) if work >= 1 else int(_CHUNK / work)
    if known.has_loops(loop):
        return grain
    return -(-grain // _LINE) * _LINE if known.of_body(loop) < _LINE else grain


def _only_loop(loop: ir.Operation) -> ir.Operation | None:
    """The one loop inside `loop`, where all else there can be repeated in it."""
    body = loop.regions[0].blocks[0]
    inner: list[ir.Operation] = []
    for view in body.operations:
        op = view.operation
        if op.name == "scf.for":
            inner.append(op)
        elif op != terminator(body) and not _is_repeatable(op):
            return None
    return inner[0] if len(inner) == 1 else None


def _is_repeatable(op: ir.Operation) -> bool:
    if op.name in MEMREF_VIEWS:
        return True
    return op.name.startswith("arith.") and not any(
        isinstance(result.type, ir.VectorType) for result in op.results
    )
