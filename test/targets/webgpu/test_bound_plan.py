# SPDX-License-Identifier: MIT OR Apache-2.0
"""Launches are bound to buffers that hold what they read and have room for what they write."""

from __future__ import annotations

import pytest

from xyntra.errors import CompileError
from xyntra.plan.plan import Buffer, KernelCode, Plan, Port, Step
from xyntra.targets.webgpu.bound_plan import bind_plan
from xyntra.targets.webgpu.code.shader_image import ShaderImage, ShaderLaunch

PORT_IN, PORT_OUT = Port("x", "int8", (3,), 0), Port("y", "int8", (3,), 1)
BUFFERS = (
    Buffer("input", 3),
    Buffer("output", 3),
    Buffer("constant", 5, data=b"12345"),
    Buffer("temporary", 6),
    Buffer("temporary", 9),
)
KERNEL = KernelCode("elementwise", 0, 0, (), "")
STEPS = (
    Step("k", (0, 2), (3,), ("a",), once=False),
    Step("k", (3, 2), (4,), ("b",), once=False),
    Step("k", (4, 2), (1,), ("c",), once=False),
)
PLAN = Plan((PORT_IN,), (PORT_OUT,), BUFFERS, STEPS, {"k": KERNEL})


def image(
    buffers: tuple[int, ...] = (0, 1, 2), packed: tuple[tuple[int, int], ...] = ()
) -> ShaderImage:
    written = tuple(each == 2 for each in buffers) + (False,) * bool(packed)
    return ShaderImage((ShaderLaunch("main", (1, 1), 1, buffers, packed, written),), (16,), "")


def test_sources_and_whole_words() -> None:
    bound = bind_plan(PLAN, {"k": image()})
    sources = {each.source: each for each in bound.buffers if each.source is not None}
    assert set(sources) == {2}
    assert sources[2].nbytes == 8
    assert bound.buffers[bound.numbers[0]].nbytes == 4


def test_temporaries_that_live_at_once_are_apart() -> None:
    bound = bind_plan(PLAN, {"k": image()})
    assert bound.numbers[3] != bound.numbers[4]
    used = [launch.buffers for step in bound.steps for launch in step]
    assert [each[0] for each in used] == [bound.numbers[n] for n in (0, 3, 4)]
    assert [each[2] for each in used] == [bound.numbers[n] for n in (3, 4, 1)]


def test_packed_buffers_are_copied_side_by_side() -> None:
    bound = bind_plan(PLAN, {"k": image((2,), ((0, 0), (1, 64)))})
    (launch,) = bound.steps[0]
    whole = launch.buffers[-1]
    found = [(each.source, each.destination, each.offset, each.nbytes) for each in launch.copies]
    assert found == [(bound.numbers[0], whole, 0, 4), (bound.numbers[2], whole, 256, 8)]
    assert bound.buffers[whole].nbytes == 256 + 8


@pytest.mark.parametrize(
    "damaged", [image((0, 1, 4)), image((-1,)), image((0,), ((9, 0),)), image((0,), ((1, -4),))]
)
def test_pointers_that_are_not_there(damaged: ShaderImage) -> None:
    with pytest.raises(CompileError, match="is given what it does not have"):
        bind_plan(PLAN, {"k": damaged})
