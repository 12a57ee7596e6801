# SPDX-License-Identifier: MIT OR Apache-2.0
"""The values behind `#xyntra.schedule` and `#xyntra.kernel`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from xyntra.dialects import KINDS, Kernel, Kind, Schedule, make_context
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError

FULL = Schedule(
    loop_order=(2, 0, 1),
    tile_sizes=(128, 64, 0),
    register_tile=(8, 4, 1),
    parallel_loops=2,
    vector_width=16,
    unroll=4,
    target={"stages": 3, "swizzle": True, "names": ("a", "b"), "nested": {"warps": 4}},
)


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with make_context(), ir.Location.unknown():
        yield


def test_defaults_print_nothing() -> None:
    assert str(Schedule().to_attribute()) == "#xyntra.schedule<{}>"


@pytest.mark.parametrize("schedule", [Schedule(), FULL])
def test_schedule_round_trip(schedule: Schedule) -> None:
    text = str(schedule.to_attribute())
    assert Schedule.from_attribute(ir.Attribute.parse(text)) == schedule
    assert pickle.loads(pickle.dumps(schedule)) == schedule


def test_schedules_can_be_keys() -> None:
    assert len({Schedule(unroll=2), Schedule(unroll=2), FULL}) == 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"loop_order": (1, 2)}, r"every loop once, got \[1, 2\]"),
        ({"tile_sizes": (8, -1)}, r"tile_sizes are 0 or more, got \[8, -1\]"),
        ({"register_tile": (-1,)}, "register_tile are 0 or more"),
        ({"tile_sizes": (1,), "register_tile": (1, 1)}, "tile_sizes has 1, register_tile has 2"),
        ({"parallel_loops": -1}, "parallel_loops is 0 or more, got -1"),
        ({"parallel_loops": 2, "tile_sizes": (8,)}, "at most 1, got 2"),
        ({"vector_width": 0}, "vector_width is 1 or more, got 0"),
        ({"unroll": 0}, "unroll is 1 or more, got 0"),
    ],
)
def test_bad_schedules(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        Schedule(**fields)
    assert caught.value.code == "bad-schedule"


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_round_trip(kind: Kind) -> None:
    module = ir.Module.parse("func.func private @f()")
    function = module.body.operations[0].operation
    assert Kernel.of(function) is None
    Kernel(kind).mark(function)
    assert str(function.attributes["xyntra.kernel"]) == f'#xyntra.kernel<{{kind = "{kind}"}}>'
    assert Kernel.of(function) == Kernel(kind)


def test_schedule_of_a_function() -> None:
    module = ir.Module.parse("func.func private @f()")
    function = module.body.operations[0].operation
    assert Schedule.of(function) is None
    FULL.attach(function)
    assert Schedule.of(function) == FULL


def test_unknown_kind() -> None:
    with pytest.raises(CompileError, match="got 'reduction'") as caught:
        Kernel("reduction")  # type: ignore[arg-type]
    assert caught.value.code == "bad-kernel-attribute"
