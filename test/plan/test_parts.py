# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels called with parts of buffers: right numbers, one kernel for all steps, checked plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import xyntra
from xyntra.observe.timing.live_memory import live_bytes
from xyntra.plan.check_plan import PlanError, check_plan
from xyntra.plan.plan import Buffer, Plan

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_INPUT = 8


def _layer(
    kind: str,
    steps: int,
    batch: int,
    hidden: int,
    direction: str = "forward",
    lengths: bool = False,
) -> tuple[onnx.ModelProto, dict[str, np.ndarray[Any, Any]]]:
    """Return a recurrent layer and what to call it with."""
    rng = np.random.default_rng(steps + hidden)
    rows, directions = _GATES[kind] * hidden, 1 + (direction == "bidirectional")
    shapes = {"w": (rows, _INPUT), "r": (rows, hidden), "b": (2 * rows,)}
    weights = [
        numpy_helper.from_array(
            rng.uniform(-0.4, 0.4, (directions, *shape)).astype(np.float32), name
        )
        for name, shape in shapes.items()
    ]
    feeds = {"x": rng.standard_normal((steps, batch, _INPUT)).astype(np.float32)}
    if lengths:
        feeds["l"] = rng.integers(1, steps + 1, batch).astype(np.int32)
    outputs = ["y", "h", "c"][: 3 if kind == "LSTM" else 2]
    names = ["x", "w", "r", "b", *("l" for _ in range(lengths))]
    node = helper.make_node(kind, names, outputs, hidden_size=hidden, direction=direction)
    given = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in feeds.items()
    ]
    results = [
        helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, None) for each in outputs
    ]
    graph = helper.make_graph([node], "layer", given, results, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    return model, feeds


def _parts(plan: Plan) -> list[Buffer]:
    return [each for each in plan.buffers if each.kind == "part"]


def _check(
    model: onnx.ModelProto, feeds: dict[str, np.ndarray[Any, Any]], compiled: xyntra.Executable
) -> None:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = compiled.run(feeds)
    for port, wanted in zip(model.graph.output, session.run(None, feeds), strict=True):
        np.testing.assert_allclose(found[port.name], wanted, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("kind", "steps", "batch", "hidden", "direction", "has_parts"),
    [
        ("LSTM", 40, 1, 32, "bidirectional", True),
        ("GRU", 12, 3, 16, "reverse", True),
        ("RNN", 40, 1, 16, "forward", True),
        ("LSTM", 6, 1, 5, "bidirectional", False),
        ("GRU", 6, 3, 7, "forward", False),
        ("LSTM", 1, 1, 16, "forward", False),
        ("GRU", 2, 1, 16, "reverse", False),
        ("RNN", 3, 3, 16, "bidirectional", False),
    ],
)
def test_recurrent_layers(
    kind: str, steps: int, batch: int, hidden: int, direction: str, has_parts: bool
) -> None:
    model, feeds = _layer(kind, steps, batch, hidden, direction)
    compiled = xyntra.compile(model)
    _check(model, feeds, compiled)
    plan = compiled.plan
    assert bool(_parts(plan)) == has_parts
    if has_parts:
        names = {step.kernel for step in plan.steps if not step.once}
        assert len(names) <= 7 < len(plan.steps)


def test_lengths() -> None:
    model, feeds = _layer("LSTM", 6, 3, 16, "bidirectional", lengths=True)
    _check(model, feeds, xyntra.compile(model))


def _rows_of_one(result: str = "") -> str:
    """Return a model whose kernels read rows of its input, and of a tensor that is computed."""
    rows = range(5)
    body = ["t = Exp(x)"]
    for i in rows:
        body += [f"a{i} = Slice(t, p{i}, p{i + 1}, zero)", f"y{i} = Softmax(a{i})"]
    outputs = [f"float[1,32] y{i}" for i in rows] + ([result] if result else [])
    places = ", ".join(f"int64[1] p{i} = {{{i}}}" for i in range(len(rows) + 1))
    return (
        '<ir_version: 8, opset_import: ["": 13]>\n'
        f"rows (float[5,32] x) => ({', '.join(outputs)})\n"
        f"<{places}, int64[1] zero = {{0}}>\n{{ {' '.join(body)} }}"
    )


@pytest.mark.parametrize("result", ["", "float[5,32] t"])
def test_the_whole_may_be_a_temporary_or_an_output(result: str) -> None:
    model = onnx.parser.parse_model(_rows_of_one(result))
    feeds = {"x": np.random.default_rng(3).standard_normal((5, 32)).astype(np.float32)}
    compiled = xyntra.compile(model)
    _check(model, feeds, compiled)
    _check(model, {"x": -feeds["x"]}, compiled)  # other memory


@pytest.fixture(scope="module")
def plan() -> Plan:
    model, _ = _layer("RNN", 6, 1, 16)
    found: Plan = xyntra.compile(model).plan
    assert _parts(found)
    return found


def test_a_plan_keeps_its_parts(plan: Plan) -> None:
    check_plan(plan)
    again = Plan.from_json(plan.to_json())
    check_plan(again)
    assert again == plan


def test_a_whole_lives_as_long_as_its_parts(plan: Plan) -> None:
    """All steps but the last need the tensor that holds what they read."""
    whole = plan.buffers[_parts(plan)[0].whole].nbytes
    assert sum(each >= whole for each in live_bytes(plan)) >= 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offset": 32}, "does not lie in buffer"),
        ({"offset": 1 << 20}, "does not lie in buffer"),
        ({"offset": -64}, "has no place"),
        ({"offset": 64.0}, "has no place"),
        ({"whole": 10_000}, "has buffer 10000"),
        ({"whole": -1}, "has buffer -1"),
        ({"whole": "0"}, "has buffer '0'"),
        ({"kind": "temporary"}, "is no part"),
        ({"nbytes": 1 << 30}, "does not lie in buffer"),
    ],
)
def test_parts_that_cannot_be(plan: Plan, changes: dict[str, Any], message: str) -> None:
    part = plan.buffers.index(_parts(plan)[-1])
    with pytest.raises(PlanError, match=message):
        check_plan(_changed(plan, part, **changes))


def test_no_part_of_itself_or_of_a_weight(plan: Plan) -> None:
    part = plan.buffers.index(_parts(plan)[-1])
    weight = next(n for n, each in enumerate(plan.buffers) if each.kind == "constant")
    for whole, kind in ((part, "part"), (weight, "constant")):
        with pytest.raises(PlanError, match=f"part of a buffer of kind '{kind}'"):
            check_plan(_changed(plan, part, whole=whole))


def test_no_step_writes_a_part(plan: Plan) -> None:
    part = plan.buffers.index(_parts(plan)[-1])
    size = plan.buffers[part].nbytes
    number, step = next(
        (n, each)
        for n, each in enumerate(plan.steps)
        if any(plan.buffers[out].nbytes == size for out in each.outputs)
    )
    outputs = tuple(part if plan.buffers[out].nbytes == size else out for out in step.outputs)
    steps = (*plan.steps[:number], replace(step, outputs=outputs), *plan.steps[number + 1 :])
    with pytest.raises(PlanError, match="buffer of kind 'part'"):
        check_plan(replace(plan, steps=steps))


def _changed(plan: Plan, number: int, **changes: Any) -> Plan:
    buffers = list(plan.buffers)
    buffers[number] = replace(buffers[number], **changes)
    return replace(plan, buffers=tuple(buffers))


def test_free_dimensions_keep_slices_inside() -> None:
    model, feeds = _layer("LSTM", 6, 3, 16)
    for port in (*model.graph.input, *model.graph.output):
        if port.name == "x":
            port.type.tensor_type.shape.dim[1].dim_param = "batch"
    compiled = xyntra.compile(model, dims={"batch": range(1, 9)})
    assert not _parts(compiled.plan)
    _check(model, feeds, compiled)
