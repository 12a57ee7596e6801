# SPDX-License-Identifier: MIT OR Apache-2.0
"""The form of the emitters: what each may be told, and how code is made of what it is told.

An emitter takes a place in a kernel, a nest with its neighbours, and a dataclass of choices. The
choices stand in the IR as `xyntra.schedule` of the nest, whose neighbours have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.schedule.told import (
    bad_schedule,
    own_schedule,
    read_choices,
    schedule_of,
    told_loops,
)
from xyntra.passes.lower.loops.loop_builder import PARALLEL
from xyntra.passes.lower.loops.shared_constants import shared_constants
from xyntra.passes.lower.loops.taken import NOTHING_TAKEN, Taken

__all__ = [
    "Choices",
    "EmitterSweep",
    "NestEmitter",
    "ScheduledNest",
    "TileChoices",
    "check_tile",
    "checked_choices",
    "checked_schedules",
    "emit_scheduled",
    "require",
]

ESTIMATED = -1
_are_checked: ContextVar[bool] = ContextVar("_are_checked", default=False)
_TOP = ("func.func", "builtin.module")
_MOST_HELD = 64  # vectors of a tile, twice the registers of any processor


class ScheduledNest(Protocol):
    """A nest that a schedule can stand on, with the neighbours that can be computed with it."""

    @property
    def op(self) -> ir.Operation:
        """The linalg.generic that the schedule stands on."""


class NestEmitter:
    """Makes code of some nests; subclasses say of which, and what they can be told.

    Attributes:
        name: the emitter's name in schedules.
        choices: a frozen dataclass, in which every field has a default.
    """

    name: ClassVar[str]
    choices: ClassVar[type[Any]]

    def choose(self, place: Any, machine: LoweringOptions) -> Any | None:
        """Return what is estimated to be best, or None where others do as well."""
        raise NotImplementedError

    def check(self, place: Any, choices: Any) -> None:
        """Raise `bad-schedule`, with the reason, where right code cannot be made of `choices`."""
        raise NotImplementedError

    def group(self, place: Any, choices: Any) -> Sequence[ir.Operation]:
        """Return the operations that the code takes the place of, in order."""
        raise NotImplementedError

    def emit(self, place: Any, choices: Any) -> None:
        """Emit the code at the last operation of the group; `choices` have passed `check`."""
        raise NotImplementedError

    def space(self, place: Any, machine: LoweringOptions) -> Iterator[Any]:
        """Yield choices worth trying, of which not all need be legal."""
        raise NotImplementedError


@dataclass(frozen=True)
class EmitterSweep:
    """Emitters that work in one sweep over a kernel, each nest going to the first that takes it.

    Attributes:
        name: of the pass that runs them.
        find: returns what an operation is a place of, as it is when the operations that others
            have taken are loops; None where it is of another form.
        emitters: in order of preference.
    """

    name: str
    find: Callable[[ir.Operation, Taken], Any | None]
    emitters: tuple[NestEmitter, ...]

    def named(self, name: str) -> NestEmitter | None:
        """Return the emitter of that name, if it is one of these."""
        return next((each for each in self.emitters if each.name == name), None)


@dataclass(frozen=True)
class Choices:
    """The choices that every emitter has.

    Attributes:
        shared: at most how many of the outermost loops threads share as one; 0 for none, -1 for
            what is estimated to be best of the code that there is then.
        grain: the iterations that one thread should do at least in a row; 0 for an estimate.
    """

    shared: int = field(default=ESTIMATED, kw_only=True)
    grain: int = field(default=0, kw_only=True)


@dataclass(frozen=True)
class TileChoices(Choices):
    """The choices that every emitter of register tiles has.

    Attributes:
        tile: rows and columns of the output that stay in registers.
        vector: elements of a vector.
        epilogue: whether what follows element by element is computed before a tile is stored.
    """

    tile: tuple[int, ...] = ()
    vector: int = 0
    epilogue: bool = False


def checked_choices(place: ScheduledNest, schedule: Schedule, emitter: NestEmitter) -> Any:
    """Return what the schedule of `place` tells `emitter`; raises `bad-schedule` as those do."""
    choices = read_choices(place.op, schedule, emitter.choices)
    for name, least in (("shared", ESTIMATED), ("grain", 0)):
        value = getattr(choices, name)
        require(value >= least, place, name, value, f"allowed are {least} and more")
    emitter.check(place, choices)
    return choices


def require(
    condition: object, place: ScheduledNest, field: str, value: object, allowed: str
) -> None:
    """Raise `bad-schedule` unless `condition`, naming the field, its value and what is allowed."""
    if not condition:
        shown = list(value) if isinstance(value, tuple) else str(value).lower()
        raise bad_schedule(place.op, f"{field} = {shown}: {allowed}")


def check_tile(
    place: ScheduledNest, choices: TileChoices, rows: int, columns: int, *, exact: bool = False
) -> None:
    """Check a tile of an output of `rows` by `columns` elements.

    Tiles at an edge move back to where they fit, which computes elements twice; with `exact`, none
    may be, so that the columns have to be whole tiles.
    """
    tile, vector = choices.tile, choices.vector
    is_power = vector > 1 and vector & (vector - 1) == 0
    require(is_power, place, "vector", vector, "allowed are powers of two from 2 on")
    require(len(tile) == 2, place, "tile", tile, "rows and columns are expected")
    height, width = tile
    require(0 < height <= rows, place, "tile", tile, f"allowed are 1 to {rows} rows")
    fits = 0 < width <= columns and width % vector == 0
    allowed = f"allowed are multiples of {vector} up to {columns} columns"
    require(fits, place, "tile", tile, allowed)
    held = height * width // vector
    require(held <= _MOST_HELD, place, "tile", tile, f"more than {_MOST_HELD} vectors are held")
    divides = not exact or columns % width == 0
    require(divides, place, "tile", tile, f"only divisors of {columns} columns are allowed here")


@contextmanager
def checked_schedules() -> Iterator[None]:
    """Let `emit_scheduled` believe schedules, which `schedule-nests` has just made or checked."""
    token = _are_checked.set(True)
    try:
        yield
    finally:
        _are_checked.reset(token)


def emit_scheduled(module: ir.Operation, stage: EmitterSweep) -> None:
    """Replace the nests below `module` whose schedule names an emitter of `stage`.

    Raises:
        CompileError: a schedule is not legal.
    """
    anchors = []
    for op in operations_named(module, "linalg.generic"):
        schedule = schedule_of(op) if own_schedule(op) else None
        emitter = None if schedule is None else stage.named(schedule.emitter)
        if schedule is not None and emitter is not None:
            anchors.append((op, emitter, schedule))
    for op, emitter, schedule in anchors:
        place = stage.find(op, NOTHING_TAKEN)
        if place is None:
            raise bad_schedule(op, f"{emitter.name} makes no code of this")
        if _are_checked.get():
            choices = read_choices(op, schedule, emitter.choices)
        else:
            choices = checked_choices(place, schedule, emitter)
        group = emitter.group(place, choices)
        block = group[-1].block
        before = set(_loops(block)) if choices.shared != ESTIMATED else set()
        where = ir.InsertionPoint(group[-1])
        with op.context, op.location, shared_constants(_outermost(op).block), where:
            emitter.emit(place, choices)
        if choices.shared != ESTIMATED:
            for loop in _loops(block):
                if loop not in before:
                    told_loops(choices.shared, choices.grain).attach(loop)
        for each in reversed(group):
            each.erase()


def _outermost(op: ir.Operation) -> ir.Operation:
    """Return what holds `op` right in the body of a function, or `op` itself."""
    while (parent := op.parent) is not None and not parent.operation.name.startswith(_TOP):
        op = parent.operation
    return op


def _loops(block: ir.Block) -> list[ir.Operation]:
    """Return the loops in `block` whose iterations are independent, none inside another one."""
    found = []
    for view in block.operations:
        op = view.operation
        if op.name == "scf.for" and PARALLEL in op.attributes:
            found.append(op)
        elif op.name == "scf.if":
            found += [each for region in op.regions for inner in region for each in _loops(inner)]
    return found
