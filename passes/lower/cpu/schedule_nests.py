# SPDX-License-Identifier: MIT OR Apache-2.0
"""`schedule-nests`: decides how code is made of every loop nest, and writes that down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.context import load
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cpu.emitters import STAGES, emitter_names
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.schedule.emitter import EmitterSweep, NestEmitter, checked_choices
from xyntra.passes.lower.cpu.schedule.told import bad_schedule, schedule_of
from xyntra.passes.lower.kernels.given_schedules import place_schedules
from xyntra.passes.lower.loops.linear_nest import analysed_once
from xyntra.passes.lower.loops.taken import Taken
from xyntra.passes.registry import register_pass
from xyntra.passes.suggest import did_you_mean

__all__ = ["ScheduleNests", "schedules_of"]


@register_pass
@dataclass(frozen=True)
class ScheduleNests:
    """Give nests on memrefs the attribute `xyntra.schedule`: an emitter, and what that is told.

    It stands on the nest that an emitter starts from. Neighbours that are computed with it, such as
    the fill before a product and what follows element by element, have none. A schedule that is
    there already is kept, and so is one that the function has for it in its list
    `xyntra.schedules`. A nest that no emitter takes is left to `convert-linalg-to-loops`.
    """

    name: ClassVar[str] = "schedule-nests"
    vector_bits: int = 256
    """Width of a vector register; 0 leaves vectors to LLVM."""
    vector_registers: int = 16
    dot_products: str = "none"
    """What the processor can do: none, pairs, quads, pmaddwd or vnni."""
    cache_bytes: int = 24 << 20
    """What moves more memory stores its results past the caches."""
    emitters: tuple[str, ...] = ()
    """Which emitters to choose from, by name; all of them where none is named."""

    def run(self, module: ir.Operation) -> None:
        """Schedule every nest below `module`.

        Raises:
            CompileError: a schedule that is there is not legal.
        """
        load(module.context)
        for function in operations_named(module, "func.func"):
            with function.context:
                place_schedules(function, operations_named(function, "linalg.generic"), _attach)
        nests = operations_named(module, "linalg.generic")
        with module.context, analysed_once():
            given = _given(nests)
            taken = Taken()
            for stage in STAGES:
                for op in nests:
                    if op not in taken:
                        self._schedule(stage, op, given.get(op), taken)

    def _schedule(
        self, stage: EmitterSweep, op: ir.Operation, given: Schedule | None, taken: Taken
    ) -> None:
        if given is not None:
            emitter = stage.named(given.emitter)
            if emitter is not None:
                self._keep(stage, emitter, op, given, taken)
            return
        emitters = [each for each in stage.emitters if self._may_choose(each)]
        place = stage.find(op, taken) if emitters else None
        if place is None:
            return
        for emitter in emitters:
            choices = emitter.choose(place, self._machine)
            if choices is not None:
                Schedule.told(emitter.name, choices).attach(op)
                taken.take(emitter.group(place, choices))
                return

    def _keep(
        self,
        stage: EmitterSweep,
        emitter: NestEmitter,
        op: ir.Operation,
        given: Schedule,
        taken: Taken,
    ) -> None:
        place: Any = stage.find(op, taken)
        if place is None:
            raise bad_schedule(op, f"{emitter.name} makes no code of this")
        taken.take(emitter.group(place, checked_choices(place, given, emitter)))

    def _may_choose(self, emitter: NestEmitter) -> bool:
        return not self.emitters or emitter.name in self.emitters

    @property
    def _machine(self) -> LoweringOptions:
        return LoweringOptions(
            self.vector_bits, self.vector_registers, self.dot_products, self.cache_bytes
        )


def _attach(op: ir.Operation, schedule: Schedule) -> None:
    schedule.attach(op)


def schedules_of(module: ir.Operation) -> list[Schedule]:
    """Return the schedules of all nests of `module`, in order."""
    found = map(schedule_of, operations_named(module, "linalg.generic"))
    return [each for each in found if each is not None]


def _given(nests: list[ir.Operation]) -> dict[ir.Operation, Schedule]:
    """Return the schedules that are there already, all of emitters that there are."""
    found = {op: schedule for op in nests if (schedule := schedule_of(op)) is not None}
    known = emitter_names()
    for op, schedule in found.items():
        if schedule.emitter not in known:
            hint = did_you_mean(schedule.emitter, known) or f"known are {', '.join(known)}"
            raise bad_schedule(op, f"there is no emitter '{schedule.emitter}'; {hint}")
    return found
