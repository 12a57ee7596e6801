# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that costs in the IR reach the plan: absent ones are unknown, malformed ones refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.errors import ModelError
from xyntra.plan.build import build_plan
from xyntra.plan.costs.cost import Boundary, Cost, Unfused
from xyntra.plan.kernel import kernels_of
from xyntra.plan.plan import Plan, TensorType

T = "tensor<4x8xf32>"
COST = 'xyntra.cost = {bytes = 7 : i64, flops = 9 : i64, nanoseconds = 1.5 : f64, bound = "memory"}'
WHY = (
    'xyntra.boundaries = [{source = "a", target = "b", reason = "cycle", '
    "bytes = 128 : i64, nanoseconds = 2.0 : f64}]"
)
ALL = "xyntra.unfused = {kernels = 3 : i64, bytes = 4 : i64, nanoseconds = 5.0 : f64}"


def plan_of(call: str = "", module: str = "") -> Plan:
    text = f"""module attributes {{{module}}} {{
  func.func private @k(%x: {T}) -> {T}
      attributes {{xyntra.kernel = #xyntra.kernel<{{kind = "elementwise"}}>}} {{
    %y = "xyntra.gelu"(%x) {{approximate = "none"}} : ({T}) -> {T}
    return %y : {T}
  }}
  func.func @main(%x: {T}) -> {T} {{
    %y = call @k(%x) {{{call}}} : ({T}) -> {T}
    return %y : {T}
  }}
}}"""
    with make_context() as context, ir.Location.unknown():
        return build_plan(ir.Module.parse(text, context).operation, operations=3)


def test_what_was_not_faster_says_by_how_much() -> None:
    why = WHY.replace('"cycle"', '"not-faster", slower = 0.5 : f64')
    plan = plan_of(f"{COST}, {why}", ALL)
    (boundary,) = plan.steps[0].boundaries or ()
    assert boundary == Boundary("a", "b", "not-faster", 128, 2.0, slower=0.5)


def test_attributes_become_fields() -> None:
    plan = plan_of(f"{COST}, {WHY}", ALL)
    (step,) = plan.steps
    assert step.cost == Cost(7, 9, 1.5, "memory")
    assert step.boundaries == (Boundary("a", "b", "cycle", 128, 2.0),)
    assert plan.unfused == Unfused(3, 4, 5.0)
    (kernel,) = kernels_of(plan)
    assert (kernel.bytes, kernel.flops, kernel.predicted) == (7, 9, 1.5)
    assert kernel.bound == "memory"
    assert kernel.boundaries == step.boundaries


def test_absent_attributes_are_unknown() -> None:
    plan = plan_of()
    assert plan.unfused is None
    assert plan.steps[0].cost is None
    assert plan.steps[0].boundaries is None
    (kernel,) = kernels_of(plan)
    assert (kernel.predicted, kernel.bound) == (None, None)
    assert kernel.bytes == 2 * 4 * 8 * 4


def test_no_boundaries_are_not_unknown() -> None:
    assert plan_of("xyntra.boundaries = []").steps[0].boundaries == ()


def test_kernels_know_their_types() -> None:
    code = plan_of().kernels["k"]
    assert code.arguments == code.results == (TensorType("float32", (4, 8)),)
    assert str(code.results[0]) == "float32[4,8]"


@pytest.mark.parametrize("call", ["", f"{COST}, {WHY}", "xyntra.boundaries = []"])
def test_json_gives_the_plan_back(call: str) -> None:
    plan = plan_of(call, ALL if call else "")
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize(
    ("call", "module"),
    [
        ("xyntra.cost = 3 : i64", ""),
        ("xyntra.cost = {}", ""),
        (COST.replace("7", "-7"), ""),
        (COST.replace("1.5", "0x7FF8000000000000"), ""),
        (COST.replace("memory", "patience"), ""),
        (COST.replace('"memory"', "[]"), ""),
        (COST.replace("bound", "colour"), ""),
        ("xyntra.boundaries = {}", ""),
        ("xyntra.boundaries = [3 : i64]", ""),
        (WHY.replace("source", "origin"), ""),
        ("", ALL.replace("kernels", "seeds")),
        ("", 'xyntra.unfused = "much"'),
    ],
)
def test_malformed_attributes_are_refused(call: str, module: str) -> None:
    with pytest.raises(ModelError, match="malformed") as caught:
        plan_of(call, module)
    assert caught.value.code == "attribute-invalid"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cost(1, 1, float("nan"), "memory"),
        lambda: Unfused(1, 1, float("inf")),
        lambda: Boundary("a", "b", "cycle", -1, 1.0),
        lambda: Boundary("a", "b", "not-faster", 1, 1.0, slower=-1.0),
    ],
)
def test_numbers_that_are_none_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="no count"):
        make()
