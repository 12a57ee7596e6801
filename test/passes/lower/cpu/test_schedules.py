# SPDX-License-Identifier: MIT OR Apache-2.0
"""Schedules of nests: printed and parsed, edited, refused, and all that are called legal."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from torch_mlir import ir

from xyntra.dialects.attributes.schedule import SCHEDULE, Schedule
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cpu import (
    LoweredKernel,
    LoweringOptions,
    from_nests,
    lower_kernel,
    to_nests,
)
from xyntra.passes.lower.cpu.emitters import emitter_names, legal_schedules

from .scheduled_kernels import CASES, Case, product

RNG = np.random.default_rng(47)
OPTIONS = LoweringOptions(dot_products="pmaddwd")
Edit = Callable[[ir.Operation, Schedule], Schedule]
SAMPLES = 6


def scheduled(module: ir.Module) -> list[ir.Operation]:
    """The nests with a schedule."""
    found = operations_named(module.operation, "linalg.generic")
    return [op for op in found if SCHEDULE in op.attributes]


def through_text(module: ir.Module, options: LoweringOptions) -> LoweredKernel:
    return from_nests(ir.Module.parse(str(to_nests(module, options))), options)


def editing(edit: Edit) -> Callable[[ir.Module, LoweringOptions], LoweredKernel]:
    """A lowering that replaces every schedule by what `edit` makes of it."""

    def lower(module: ir.Module, options: LoweringOptions) -> LoweredKernel:
        nests = ir.Module.parse(str(to_nests(module, options)))
        with nests.context:
            for op in scheduled(nests):
                edit(op, Schedule.of(op)).attach(op)
        return from_nests(nests, options)

    return lower


def with_choices(schedule: Schedule, **choices: object) -> Schedule:
    return Schedule(schedule.emitter, {**schedule.choices, **choices})


def assert_right(kernel, case: Case) -> None:
    arrays = []
    for shape, dtype in kernel.inputs:
        whole = RNG.integers(-100, 100, shape) if case.whole else RNG.standard_normal(shape)
        arrays.append(whole.astype(dtype))
    (result,) = kernel(*arrays)
    expected = case.expected(*arrays)
    tolerance = 0 if case.whole else 1e-4 * np.abs(expected).max()
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance)


USUAL = {
    "convolution": ["winograd-tiles"],
    "convolution-5": ["convolution-tiles"],
    "depthwise": ["window-tiles"],
    "strided": ["window-rows"],
    "product": ["register-tiles"],
    "weights": ["register-tiles"],
    "streamed": ["streamed-product", "vector-rows"],
    "integers": ["integer-tiles"],
    "rows": ["vector-rows"],
    "transposed": ["transposed-tiles"],
}


@pytest.mark.parametrize("name", CASES)
def test_text_between_the_halves_changes_nothing(lowered_by, name):
    case = CASES[name]
    kernel = lowered_by(case.text, through_text, OPTIONS)
    once = lowered_by(case.text, lower_kernel, OPTIONS)
    assert kernel.lowered == once.lowered
    found = [text.partition(" ")[0] for text in once.lowered.schedules]
    assert [emitter for emitter in found if emitter != "parallel-loops"] == USUAL[name]
    assert_right(kernel, case)


EDITS = {
    "another-tile": ("product", {"tile": (3, 16)}, ""),
    "narrow-vectors": ("product", {"tile": (5, 12), "vector": 4}, ""),
    "parts-of-the-reduction": ("product", {"steps": 13, "blocks": (2, 3)}, ""),
    "parts-of-prepared-panels": ("weights", {"steps": 17, "blocks": (3, 2)}, ""),
    "rows-outside": ("weights", {"rows_outside": True, "blocks": (1, 1)}, ""),
    "positions": ("convolution-5", {"tile": (2, 24), "rows_outside": True}, ""),
    "blocks-of-winograd-tiles": ("convolution", {"block": 7, "tile": (2, 16)}, ""),
    "channels": ("depthwise", {"tile": (3, 32)}, ""),
    "rows-of-windows": ("strided", {"tile": (2, 16)}, ""),
    "dots": ("integers", {"tile": (3, 16), "dot": "pairs"}, ""),
    "parts-of-a-stream": ("streamed", {"parts": 2, "block": 64, "steps": 3}, ""),
    "direct": ("convolution", {"tile": (4, 16), "vector": 8}, "convolution-tiles"),
    "general": ("convolution-5", {}, "scalar-loops"),
    "plain": ("product", {}, "scalar-loops"),
    "plain-integers": ("integers", {}, "scalar-loops"),
    "alone": ("rows", {"nests": 1}, ""),
    "small-tiles": ("transposed", {"edge": 4}, ""),
    "no-tiles": ("transposed", {}, "scalar-loops"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_schedule_gives_other_code_and_equal_numbers(lowered_by, name):
    kernel, choices, emitter = EDITS[name]
    case = CASES[kernel]

    def edit(op: ir.Operation, schedule: Schedule) -> Schedule:
        if schedule.emitter not in (USUAL[kernel][-1], USUAL[kernel][0]):
            return schedule
        if emitter:
            return Schedule(emitter, choices)
        known = set(choices) <= {*schedule.choices, "steps", "rows_outside", "parts", "block"}
        is_it = schedule.emitter == USUAL[kernel][0]
        return with_choices(schedule, **choices) if known and is_it else schedule

    edited = lowered_by(case.text, editing(edit), OPTIONS)
    usual = lowered_by(case.text, lower_kernel, OPTIONS)
    assert edited.lowered.llvm_ir != usual.lowered.llvm_ir
    assert edited.lowered.schedules != usual.lowered.schedules
    assert_right(edited, case)


REFUSED = {
    "rows": ("product", {"tile": (46, 8)}, "tile = [46, 8]: allowed are 1 to 45 rows"),
    "columns": ("product", {"tile": (2, 12)}, "allowed are multiples of 8 up to 50 columns"),
    "registers": ("product", {"tile": (45, 16)}, "more than 64 vectors are held"),
    "vector": ("product", {"vector": 3}, "vector = 3: allowed are powers of two"),
    "loops": ("product", {"row": 7}, "row = 7, columns = "),
    "reduction": ("product", {"columns": (2,)}, "tiles cannot be taken from these loops"),
    "blocks": ("product", {"blocks": (0, 1)}, "blocks = [0, 1]: allowed are 1 to "),
    "steps": ("product", {"steps": 71}, "steps = 71: allowed are 0 to 70"),
    "producers": ("product", {"producers": 1}, "producers = 1: allowed are 0 to 0"),
    "unknown": ("product", {"tiles": (2, 8)}, "'tiles' is unknown; did you mean 'tile'?"),
    "kind": ("product", {"vector": "8"}, "vector is an integer"),
    "block": ("convolution", {"block": 100000}, "block = 100000: allowed are 1 to "),
    "padding": ("convolution", {"padding": True}, "there is none that can be left out"),
    "no-padding": ("convolution-5", {"padding": True}, "there is none that can be left out"),
    "positions": ("convolution-5", {"tile": (51, 8)}, "allowed are 1 to 50 rows"),
    "window": ("depthwise", {"tile": (10, 8)}, "allowed are 1 to 9 rows"),
    "window-rows": ("strided", {"tile": (10, 8)}, "allowed are 1 to 9 rows"),
    "window-padding": ("strided", {"padding": True}, "there is none that can be left out"),
    "dot": ("integers", {"dot": "none"}, "dot = none: allowed are pairs, quads, pmaddwd, vnni"),
    "parts": ("streamed", {"parts": 3}, "parts = 3: allowed are "),
    "whole-vectors": ("streamed", {"block": 12}, "block = 12: allowed are multiples of 8"),
    "nests": ("rows", {"nests": 4}, "nests = 4: allowed are 1 to "),
    "edge": ("transposed", {"edge": 16}, "edge = 16: allowed are [4, 8]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_illegal_schedule_is_refused(lowered_by, name):
    kernel, choices, message = REFUSED[name]

    def edit(op: ir.Operation, schedule: Schedule) -> Schedule:
        return with_choices(schedule, **choices)

    with pytest.raises(CompileError) as caught:
        lowered_by(CASES[kernel].text, editing(edit), OPTIONS)
    assert caught.value.code == "bad-schedule"
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("kernel", "emitter", "message"),
    [
        ("product", "winograd-tiles", "winograd-tiles makes no code of this"),
        ("product", "streamed-product", "streamed-product makes no code of this"),
        ("product", "blocked-attention", "blocked-attention makes no code of this"),
        ("product", "transposed-tiles", "edge = 0: allowed are []"),
        ("product", "register-tile", "no emitter 'register-tile'; did you mean 'register-tiles'?"),
    ],
)
def test_an_emitter_that_does_not_fit_is_refused(lowered_by, kernel, emitter, message):
    with pytest.raises(CompileError) as caught:
        lowered_by(CASES[kernel].text, editing(lambda op, schedule: Schedule(emitter)), OPTIONS)
    assert caught.value.code == "bad-schedule"
    assert message in caught.value.message


@pytest.mark.parametrize("name", CASES)
def test_what_is_called_legal_gives_right_numbers(lowered_by, name):
    case, draw = CASES[name], random.Random(53)
    with ir.Context() as context:
        context.enable_multithreading(False)
        nests = to_nests(ir.Module.parse(case.text), OPTIONS)
        counts = [list(legal_schedules(op, OPTIONS)) for op in scheduled(nests)]
    for place, found in enumerate(counts):
        assert len(set(map(str, found))) == len(found) > 1
        for schedule in draw.sample(found, min(SAMPLES, len(found))):

            def edit(op: ir.Operation, old: Schedule, to=schedule, at=place) -> Schedule:
                return to if op == scheduled_of(op)[at] else old

            assert_right(lowered_by(case.text, editing(edit), OPTIONS), case)


def scheduled_of(op: ir.Operation) -> list[ir.Operation]:
    """The nests with a schedule around `op`."""
    siblings = [view.operation for view in op.block.operations]
    return [each for each in siblings if SCHEDULE in each.attributes]


def test_names_of_emitters_are_their_own():
    names = emitter_names()
    assert len(set(names)) == len(names)


def test_plain_kernels_have_no_schedules(lowered_by):
    text = CASES["product"].text.replace(
        "-> tensor<1x45x1x50xf32> {",
        "-> tensor<1x45x1x50xf32> attributes {xyntra.generic_loops} {",
        1,
    )
    kernel = lowered_by(text, through_text, OPTIONS)
    assert kernel.lowered.schedules == ()
    assert_right(kernel, CASES["product"])


@pytest.mark.parametrize(
    ("choices", "shared"), [({}, 1), ({"shared": 0}, 0), ({"shared": 2, "grain": 3}, 1)]
)
def test_a_nest_says_which_of_its_loops_threads_share(lowered_by, choices, shared):
    case = CASES["convolution"]

    def edit(op: ir.Operation, schedule: Schedule) -> Schedule:
        return with_choices(schedule, **choices)

    kernel = lowered_by(case.text, editing(edit), OPTIONS)
    loops = [text for text in kernel.lowered.schedules if "parallel-loops" in text]
    assert (len(loops) > 0) == shared
    assert all("grain 3" in text for text in loops) == ("grain" in choices or not loops)
    assert_right(kernel, case)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"shared": -2}, "shared = -2: allowed are -1 and more"),
        ({"grain": -1}, "grain = -1: allowed are 0 and more"),
    ],
)
def test_threads_are_told_no_negative_numbers(lowered_by, choices, message):
    edit = editing(lambda op, schedule: with_choices(schedule, **choices))
    with pytest.raises(CompileError, match=message):
        lowered_by(CASES["product"].text, edit, OPTIONS)


def test_what_another_schedule_takes_is_not_suggested(lowered_by):
    kind = "tensor<1x45x1x70xf32>"
    plain = "affine_map<(n, y, x, c) -> (n, y, x, c)>"
    doubled = f"""%i = tensor.empty() : {kind}
      %w = linalg.generic {{indexing_maps = [{plain}, {plain}],
          iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
        ins(%a0: {kind}) outs(%i: {kind}) {{
      ^bb0(%s: f32, %o: f32):
        %t = arith.addf %s, %s : f32
        linalg.yield %t : f32
      }} -> {kind}
      %initial"""
    text = CASES["product"].text.replace("%initial", doubled, 1).replace("ins(%a0, ", "ins(%w, ")
    seen: list[Schedule] = []

    def edit(op: ir.Operation, schedule: Schedule) -> Schedule:
        if schedule.emitter == "register-tiles":
            return schedule
        seen.extend(legal_schedules(op, OPTIONS))
        return seen[-1]

    case = Case(text, lambda a, b: 2 * product(a, b))
    assert_right(lowered_by(text, editing(edit), OPTIONS), case)
    assert {each.choices.get("nests", 1) for each in seen} == {1}
