# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every family of stages, and with it every emitter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.ops.stage import schedule_of
from xyntra.errors import CompileError
from xyntra.passes.lower.cuda.emitters.attentions import ATTENTIONS
from xyntra.passes.lower.cuda.emitters.contractions import CONTRACTIONS
from xyntra.passes.lower.cuda.emitters.emitter import Code, Family
from xyntra.passes.lower.cuda.emitters.loops import LOOPS
from xyntra.passes.lower.cuda.emitters.nests import NESTS
from xyntra.passes.lower.cuda.stages.stage import Stage
from xyntra.passes.lower.gpu.device import Device

FAMILIES: tuple[Family[Any], ...] = (ATTENTIONS, CONTRACTIONS, NESTS, LOOPS)
"""In the order in which a stage is looked at."""
_HINT = "the pass choose-schedules decides it"


def choose_schedule(stage: Stage, device: Device) -> Schedule:
    """Return the schedule of a stage: its own, if it has one that is legal, or the best known.

    Raises:
        CompileError: `bad-schedule` or `illegal-schedule`, its own cannot be carried out;
            `stage-form`, no emitter makes code for such a stage.
    """
    family, subject = _family(stage)
    own = schedule_of(stage.op)
    if own is None:
        return family.choose(subject, device)
    family.code(subject, own, device)
    return own


def code_of(stage: Stage, device: Device) -> Code:
    """Return what makes the code of a stage as its schedule says.

    Raises:
        CompileError: as `choose_schedule`; `no-schedule`, it has none.
    """
    family, subject = _family(stage)
    schedule = schedule_of(stage.op)
    with _placed(stage):
        if schedule is None:
            raise CompileError("no-schedule", "a stage does not say how it runs", hint=_HINT)
        return family.code(subject, schedule, device)


def legal_schedules(stage: Stage, device: Device) -> Iterator[Schedule]:
    """Yield every schedule of a stage that a tuner may try, the chosen one among them."""
    family, subject = _family(stage)
    yield from family.legal(subject, device)


def _family(stage: Stage) -> tuple[Family[Any], Any]:
    for family in FAMILIES:
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
        error.place = error.place or str(stage.op.location)
        raise
