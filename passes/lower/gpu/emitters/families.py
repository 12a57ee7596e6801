# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the family of a stage, and with it what can make its code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import schedule_of
from xyntra.errors import CompileError
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emitters.emitter import Code, Family
from xyntra.passes.lower.gpu.stages.stage import Stage

Families = Sequence[Family[Any]]
"""Those of a target, in the order in which a stage is looked at."""
_HINT = "the pass choose-schedules decides it"


def families_of(device: GpuDevice) -> Families:
    """Return the families of the target that a device belongs to."""
    found: Families = table_of(device).FAMILIES
    return found


def table_of(device: GpuDevice) -> Any:
    """Return the module that says what the target of a device has: `FAMILIES`, and `LAUNCHING`.

    The latter is a `Launching`, where the target does more with launches than any GPU needs.
    """
    return import_module(f"xyntra.passes.lower.{device.target}.emitters.table")


def choose_schedule(stage: Stage, families: Families, device: GpuDevice) -> Schedule:
    """Return the schedule of a stage: its own, if it has one that is legal, or the best known.

    Raises:
        CompileError: `bad-schedule` or `illegal-schedule`, its own cannot be carried out;
            `stage-form`, no emitter makes code for such a stage.
    """
    family, subject = _family(stage, families)
    own = schedule_of(stage.op)
    if own is None:
        return family.choose(subject, device)
    family.code(subject, own, device)
    return own


def code_of(stage: Stage, families: Families, device: GpuDevice) -> Code:
    """Return what makes the code of a stage as its schedule says.

    Raises:
        CompileError: as `choose_schedule`; `no-schedule`, it has none.
    """
    family, subject = _family(stage, families)
    schedule = schedule_of(stage.op)
    with _placed(stage):
        if schedule is None:
            raise CompileError("no-schedule", "a stage does not say how it runs", hint=_HINT)
        return family.code(subject, schedule, device)


def legal_schedules(stage: Stage, families: Families, device: GpuDevice) -> Iterator[Schedule]:
    """Yield every schedule of a stage that a tuner may try, the chosen one among them."""
    family, subject = _family(stage, families)
    yield from family.legal(subject, device)


def schedule_text(schedule: Schedule | None, families: Families) -> str:
    """Return the schedule of a stage in words; None stands for a kernel in plain loops."""
    if schedule is None:
        return "plain loops"
    emitters = {each.name: each for family in families for each in family.emitters}
    return schedule.words(emitters[schedule.emitter].choices)


def _family(stage: Stage, families: Families) -> tuple[Family[Any], Any]:
    for family in families:
        subject = family.read(stage)
        if subject is not None:
            return family, subject
    names = ", ".join(dict.fromkeys(op.name for op in stage.operations))
    raise CompileError("stage-form", f"no emitter makes code for a stage of {names}")


@contextmanager
def _placed(stage: Stage) -> Iterator[None]:
    """Say in errors where a stage is."""
    try:
        yield
    except CompileError as error:
        error.place = error.place or _place(stage.op.location)
        raise


def _place(location: ir.Location) -> str:
    """Return where a stage is, in words if it comes from text."""
    is_line = isinstance(location, ir.FileLineColLoc) and str(location.filename).strip('"') == "-"
    return f"the stage in line {location.start_line}" if is_line else f"the stage at {location}"
