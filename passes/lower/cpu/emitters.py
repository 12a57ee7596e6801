# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of emitters, and what a nest can be told."""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import direct_operations_named
from xyntra.passes.lower.cpu.attention import blocked_attention
from xyntra.passes.lower.cpu.conv import convolution_tiles
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul import register_tiles
from xyntra.passes.lower.cpu.matmul_int8 import integer_tiles
from xyntra.passes.lower.cpu.matmul_packed import packed_products
from xyntra.passes.lower.cpu.pooling import channel_reductions, window_tiles
from xyntra.passes.lower.cpu.rows import nest_loops
from xyntra.passes.lower.cpu.schedule.emitter import EmitterSweep
from xyntra.passes.lower.cpu.schedule.told import (
    PARALLEL_LOOPS,
    LoopChoices,
    read_choices,
    schedule_of,
)
from xyntra.passes.lower.cpu.winograd import winograd_tiles
from xyntra.passes.lower.loops.taken import Taken

__all__ = ["STAGES", "emitter_names", "legal_schedules", "schedule_words"]

STAGES: tuple[EmitterSweep, ...] = (
    blocked_attention.STAGE,
    integer_tiles.STAGE,
    channel_reductions.STAGE,
    window_tiles.STAGE,
    winograd_tiles.STAGE,
    convolution_tiles.STAGE,
    packed_products.STAGE,
    register_tiles.STAGE,
    nest_loops.STAGE,
)
"""Every pass that makes code of nests, in the order in which they run, with its emitters."""


def emitter_names() -> list[str]:
    """Return the names of all emitters, in order of preference."""
    return [emitter.name for stage in STAGES for emitter in stage.emitters]


def schedule_words(schedule: Schedule) -> str:
    """Return the schedule of a nest, or of a loop that threads share, in words."""
    kinds = {emitter.name: emitter.choices for stage in STAGES for emitter in stage.emitters}
    return schedule.words({**kinds, PARALLEL_LOOPS: LoopChoices}[schedule.emitter])


def legal_schedules(op: ir.Operation, options: LoweringOptions) -> Iterator[Schedule]:
    """Yield what could be told about `op`: for each emitter that takes it, all that it suggests.

    Args:
        op: a linalg.generic on final buffers. What the schedules of others take is not suggested.
        options: the machine.
    """
    taken = _taken_beside(op)
    for stage in STAGES:
        place = stage.find(op, taken)
        for emitter in stage.emitters if place is not None else ():
            known = set()
            for choices in emitter.space(place, options):
                try:
                    emitter.check(place, choices)
                except CompileError:
                    continue
                if choices not in known:
                    known.add(choices)
                    yield Schedule.told(emitter.name, choices)


def _taken_beside(op: ir.Operation) -> Taken:
    """Return what the schedules of the other nests around take."""
    taken = Taken()
    others = direct_operations_named(op.parent, "linalg.generic")
    told = [(each, schedule_of(each)) for each in others if each != op]
    for stage in STAGES:
        for each, schedule in told:
            emitter = None if schedule is None else stage.named(schedule.emitter)
            place = None if emitter is None else stage.find(each, taken)
            if schedule is not None and emitter is not None and place is not None:
                choices = read_choices(each, schedule, emitter.choices)
                taken.take(emitter.group(place, choices))
    return taken
