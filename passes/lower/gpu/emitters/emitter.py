# SPDX-License-Identifier: MIT OR Apache-2.0
"""The interface between schedules and what makes code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.errors import CompileError
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape
from xyntra.passes.lower.gpu.stages.stage import Stage

Subject = TypeVar("Subject")
Code = Callable[[SharedMemory], LaunchShape | None]
"""Makes the code of one thread at the insertion point; returns the launch that runs it, if any."""


_SHOWN = 12
"""Legal schedules that a message shows."""


class Impossible(Exception):
    """An emitter cannot do what it is told; the text ends the sentence "emitter 'mma' …"."""


@dataclass(frozen=True)
class NoChoices:
    """The choices of an emitter that leaves nothing to be chosen."""


@dataclass(frozen=True)
class StageEmitter(Generic[Subject]):
    """Makes code for some subjects of a family.

    Attributes:
        name: as schedules have it.
        choices: the dataclass of what it can be told.
        plan: returns what makes the code, for a subject, choices and a device; raises `Impossible`.
        candidates: the choices that may be worth a try, some of which may be impossible.
    """

    name: str
    choices: type[Any]
    plan: Callable[[Subject, Any, GpuDevice], Code]
    candidates: Callable[[Subject, GpuDevice], Iterable[Any]]


@dataclass(frozen=True)
class Family(Generic[Subject]):
    """Stages that the same emitters make code for.

    Attributes:
        read: returns what a stage computes; None for a stage of another family.
        choose: returns the schedule that should take the least time.
        emitters: all of them.
    """

    read: Callable[[Stage], Subject | None]
    choose: Callable[[Subject, GpuDevice], Schedule]
    emitters: tuple[StageEmitter[Subject], ...]

    def code(self, subject: Subject, schedule: Schedule, device: GpuDevice) -> Code:
        """Return what makes the code of `subject` as `schedule` says.

        Raises:
            CompileError: `bad-schedule`, it names no emitter of the family, or tells it what that
                does not understand; `illegal-schedule`, the emitter cannot do it.
        """
        known = {each.name: each for each in self.emitters}
        emitter = known.get(schedule.emitter)
        if emitter is None:
            message = f"no emitter '{schedule.emitter}' makes code for this stage"
            hint = f"there are {', '.join(known)}"
            raise CompileError("bad-schedule", message, hint=hint)
        choices = _read(schedule, emitter)
        try:
            return emitter.plan(subject, choices, device)
        except Impossible as reason:
            message = f"emitter '{emitter.name}' {reason}"
            cause = f"the schedule is {schedule.words(emitter.choices)}"
            hint = self._legal_words(emitter, subject, device)
            raise CompileError("illegal-schedule", message, cause=cause, hint=hint) from reason

    def legal(self, subject: Subject, device: GpuDevice) -> Iterator[Schedule]:
        """Yield the schedules that a tuner may try."""
        for emitter in self.emitters:
            yield from _legal(emitter, subject, device)

    def _legal_words(
        self, emitter: StageEmitter[Subject], subject: Subject, device: GpuDevice
    ) -> str:
        """Return some legal schedules, of the same emitter if it has any, for a message."""
        found = list(islice(_legal(emitter, subject, device), _SHOWN))
        if found:
            return "\n".join(each.words(emitter.choices) for each in found)
        names = {each.emitter: None for each in self.legal(subject, device)}
        return f"another emitter: {', '.join(names)}"


def _legal(
    emitter: StageEmitter[Subject], subject: Subject, device: GpuDevice
) -> Iterator[Schedule]:
    for choices in emitter.candidates(subject, device):
        try:
            emitter.plan(subject, choices, device)
        except Impossible:
            continue
        yield Schedule.told(emitter.name, choices)


def _read(schedule: Schedule, emitter: StageEmitter[Any]) -> Any:
    try:
        return schedule.read(emitter.choices)
    except CompileError as error:
        error.message = f"emitter '{emitter.name}' was told what it does not know: {error.message}"
        raise


def pair(numbers: tuple[int, ...], name: str) -> tuple[int, int]:
    """Return the two numbers that a choice consists of.

    Raises:
        Impossible: there are more or fewer, or one is not positive.
    """
    if len(numbers) != 2 or min(numbers) < 1:
        raise Impossible(f"needs two positive numbers as {name}, got {list(numbers)}")
    return numbers[0], numbers[1]


def unless(refusal: str | None) -> None:
    """Refuse what something is wrong with.

    Raises:
        Impossible: there is a refusal.
    """
    if refusal is not None:
        raise Impossible(refusal)


def block_sizes(device: GpuDevice) -> list[int]:
    """Return how many threads a block may have: powers of two, from those of a warp on."""
    sizes = [device.subgroup << bit for bit in range(device.block_threads.bit_length())]
    return [each for each in sizes if each <= device.block_threads]


def check_threads(threads: int, device: GpuDevice) -> None:
    """Refuse blocks of another size than `block_sizes`.

    Raises:
        Impossible: they are.
    """
    if threads not in block_sizes(device):
        raise Impossible(f"has blocks of {block_sizes(device)} threads, not {threads}")


def no_choices(_subject: object, _device: GpuDevice) -> Iterable[NoChoices]:
    """Return the candidates of an emitter that leaves nothing to be chosen."""
    return (NoChoices(),)
