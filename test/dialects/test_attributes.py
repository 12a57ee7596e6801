# SPDX-License-Identifier: MIT OR Apache-2.0
"""The values behind `#xyntra.schedule` and `#xyntra.kernel`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from xyntra.dialects import KINDS, KernelFacts, Kind, Schedule, make_context
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError


@dataclass(frozen=True)
class _Tiles:
    tile: tuple[int, ...] = ()
    stages: int = 1
    turns: bool = False
    order: str = "rows"


FULL = Schedule("mma", {"tile": (128, 64), "stages": 3, "turns": True, "order": "columns"})


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with make_context(), ir.Location.unknown():
        yield


def test_what_an_emitter_is_told() -> None:
    schedule = Schedule.told("mma", _Tiles((128, 64), stages=3))
    text = '#xyntra.schedule<{emitter = "mma", stages = 3 : i64, tile = [128, 64]}>'
    assert str(schedule.to_attribute()) == text
    assert schedule.read(_Tiles) == _Tiles((128, 64), stages=3)


@pytest.mark.parametrize("schedule", [Schedule("rows"), FULL])
def test_schedule_round_trip(schedule: Schedule) -> None:
    text = str(schedule.to_attribute())
    assert Schedule.from_attribute(ir.Attribute.parse(text)) == schedule
    assert pickle.loads(pickle.dumps(schedule)) == schedule


def test_schedules_can_be_keys() -> None:
    assert len({Schedule("rows"), Schedule("rows"), FULL}) == 2


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"tiles": (8,)}, "'tiles' is unknown; did you mean 'tile'"),
        ({"tile": 8}, "tile is a list of integers, got 8"),
        ({"stages": "two"}, "stages is an integer, got"),
        ({"stages": True}, "stages is an integer, got true"),
        ({"turns": 1}, "turns is true or false, got 1"),
    ],
)
def test_choices_that_an_emitter_does_not_have(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        Schedule("mma", choices).read(_Tiles)
    assert caught.value.code == "bad-schedule"


@pytest.mark.parametrize("choices", [{"tile": ("a",)}, {"tile": {"rows": 8}}])
def test_choices_that_no_emitter_has(choices: dict[str, Any]) -> None:
    with pytest.raises(CompileError, match="tile is a number, a flag, a text or a list"):
        Schedule("mma", choices)


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_round_trip(kind: Kind) -> None:
    module = ir.Module.parse("func.func private @f()")
    function = module.body.operations[0].operation
    assert KernelFacts.of(function) is None
    KernelFacts(kind).mark(function)
    assert str(function.attributes["xyntra.kernel"]) == f'#xyntra.kernel<{{kind = "{kind}"}}>'
    assert KernelFacts.of(function) == KernelFacts(kind)


def test_schedule_of_a_function() -> None:
    module = ir.Module.parse("func.func private @f()")
    function = module.body.operations[0].operation
    assert Schedule.of(function) is None
    FULL.attach(function)
    assert Schedule.of(function) == FULL


def test_unknown_kind() -> None:
    with pytest.raises(CompileError, match="got 'reduction'") as caught:
        KernelFacts("reduction")  # type: ignore[arg-type]
    assert caught.value.code == "bad-kernel-attribute"
