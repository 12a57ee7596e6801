# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel and the boundaries: complete, resolved to kernels, and costliest first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xyntra.errors import InputError
from xyntra.observe.details import explain_boundaries, explain_kernel
from xyntra.observe.launches import crossings_of, launches_of
from xyntra.plan.plan import Plan, Step


def test_a_kernel_is_shown_whole(costed: Plan) -> None:
    text = explain_kernel(costed, "1", [10, 20, 30, 40])
    for part in (
        "kernel      1: row_1",
        "bytes       2 kB",
        "operations  1 kFLOP",
        "predicted   1 us",
        "bound       memory",
        "measured    20 ns",
        "nodes (1)\n  /l/0/soft",
        "  kernel 0: float32[250], 1 kB",
        "  kernel 0 -> kernel 1: 1 kB, 700 ns\n    from /l/0/add to /l/0/soft\n    both kernels",
        "  kernel 1 -> kernel 2: 1 kB, 300 ns",
    ):
        assert part in text
    assert text.endswith("func @row_1")


def test_the_schedules_of_a_kernel_are_shown(costed: Plan) -> None:
    row = replace(costed.kernels["row_1"], schedules=("register-rows", "pointwise"))
    plan = replace(costed, kernels={**costed.kernels, "row_1": row})
    assert "schedules\n  1 register-rows\n  2 pointwise\n" in explain_kernel(plan, "1")
    assert "schedules" not in explain_kernel(costed, "1")


def test_what_a_kernel_reads_has_a_name(costed: Plan) -> None:
    assert "  input x: float32[250], 1 kB" in explain_kernel(costed, "0")
    assert "  kernel L0: float32[250], 1 kB" in explain_kernel(costed, "0")
    assert "  parameter w: float32[250], 1 kB" in explain_kernel(costed, "l0")
    assert "writes\n  output y: float32[250], 1 kB" in explain_kernel(costed, "3")


def test_a_kernel_at_load_says_so(costed: Plan) -> None:
    text = explain_kernel(costed, "L0")
    assert "data, runs once, at load" in text
    assert "predicted   -" in text
    assert "bound       not known" in text


@pytest.mark.parametrize("label", ["4", "L1", "99"])
def test_an_unknown_kernel_is_an_error(costed: Plan, label: str) -> None:
    with pytest.raises(InputError, match="no kernel") as caught:
        explain_kernel(costed, label)
    assert caught.value.cause == "its kernels are 0 to 3, and at load L0 to L0"


def test_boundaries_of_equal_kernels_share_a_line(costed: Plan) -> None:
    lines = explain_boundaries(costed).splitlines()
    rows = [line.split() for line in lines[1:] if line][:4]
    assert rows[1][:8] == ["2", "1", "kB", "1.4", "us", "0", "->", "1"]
    assert "/l/*/add -> /l/*/soft" in lines[2]
    # One from the kernel at load, one from the layer before: not alike.
    assert rows[2][:8] == ["1", "1", "kB", "300", "ns", "L0", "->", "0"]
    assert rows[3][:8] == ["1", "1", "kB", "300", "ns", "1", "->", "2"]
    assert any(line.startswith("two-anchors: both kernels are built") for line in lines)
    assert len(explain_boundaries(costed, each=True).splitlines()) == len(lines) + 1


def test_boundaries_that_nobody_recorded(costed: Plan) -> None:
    steps = tuple(replace(step, boundaries=None) for step in costed.steps)
    assert explain_boundaries(replace(costed, steps=steps)) == "boundaries were not recorded"
    steps = tuple(replace(step, boundaries=()) for step in costed.steps)
    assert explain_boundaries(replace(costed, steps=steps)) == "no kernel reads another's result"


def test_a_boundary_without_a_known_source_has_no_producer(costed: Plan) -> None:
    step = costed.steps[-1]
    assert step.boundaries is not None
    lost = replace(step, boundaries=(replace(step.boundaries[0], source="elsewhere"),))
    plan = replace(costed, steps=(*costed.steps[:-1], lost))
    assert [x.producer for x in crossings_of(plan, launches_of(plan))] == [0, 1, 2, None]
    assert "? -> 3" in explain_boundaries(plan)


def test_a_kernel_in_place_is_the_last_writer(costed: Plan) -> None:
    again = Step("row_1", (3,), (3,), ("/l/again",), once=False)
    plan = replace(costed, steps=(*costed.steps[:2], again, *costed.steps[2:]))
    assert [launch.reads for launch in launches_of(plan)] == [
        (None,), (None, 0), (1,), (2,), (3, 0), (4,),
    ]  # fmt: skip
