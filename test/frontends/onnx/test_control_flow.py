# SPDX-License-Identifier: MIT OR Apache-2.0
"""If, Loop and Scan, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from harness import check, graph_model, run
from onnx import TensorProto, helper

from xyntra.errors import ModelError, UnsupportedError
from xyntra.frontends.onnx.control import control_flow

X = np.arange(6, dtype=np.float32).reshape(2, 3)
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def subgraph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[tuple[str, int, Sequence[int] | None]],
    outputs: Sequence[tuple[str, int, Sequence[int] | None]],
) -> onnx.GraphProto:
    values = [
        [helper.make_tensor_value_info(*value) for value in part] for part in (inputs, outputs)
    ]
    return helper.make_graph(list(nodes), "inner", *values)


def branch(op_type: str, *operands: str) -> onnx.GraphProto:
    """A graph that applies an operator to values from outside."""
    name = f"{op_type}_out"
    return subgraph([helper.make_node(op_type, list(operands), [name])], [], [(name, FLOAT, None)])


def if_model(then_branch: onnx.GraphProto, else_branch: onnx.GraphProto) -> onnx.NodeProto:
    return helper.make_node(
        "If", ["c"], ["y"], name="it", then_branch=then_branch, else_branch=else_branch
    )


@pytest.mark.parametrize("condition", [True, False])
def test_a_known_condition_takes_one_branch(condition: bool) -> None:
    node = if_model(branch("Neg", "x"), branch("Transpose", "x"))
    check(graph_model([node], {"x": X}, ["y"], {"c": np.array(condition)}), {"x": X})


@pytest.mark.parametrize("condition", [True, False])
def test_a_condition_from_the_data_selects(condition: bool) -> None:
    node = if_model(branch("Neg", "x"), branch("Exp", "x"))
    feeds = {"x": X, "c": np.array([condition])}
    check(graph_model([node], feeds, ["y"]), feeds)


def test_branches_of_different_shapes() -> None:
    node = if_model(branch("Neg", "x"), branch("Transpose", "x"))
    feeds = {"x": X, "c": np.array(True)}
    with pytest.raises(UnsupportedError, match="different shapes"):
        run(graph_model([node], feeds, ["y"]), feeds)


def test_only_the_branch_that_is_taken_must_be_valid() -> None:
    node = if_model(branch("Neg", "x"), branch("RandomNormalLike", "x"))
    model = graph_model([node], {"x": X}, ["y"], {"c": np.array(True)})
    np.testing.assert_array_equal(run(model, {"x": X})[0], -X)


def loop_body(*, grow: bool = False, condition: str = "keep") -> onnx.GraphProto:
    """state = state + i (or concat with itself), collecting 2 * state."""
    step = [
        helper.make_node("Cast", ["i"], ["number"], to=FLOAT),
        helper.make_node("Add", ["state", "number"], ["next"]),
    ]
    if grow:
        step = [helper.make_node("Concat", ["state", "state"], ["next"], axis=0)]
    nodes = [
        *step,
        helper.make_node("Identity", ["go"], ["keep"]),
        helper.make_node("Less", ["i", "limit"], ["below"]),
        helper.make_node("ReduceSum", ["next"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node("Add", ["sum", "sum"], ["twice"]),
    ]
    inputs = [("i", INT64, []), ("go", BOOL, []), ("state", FLOAT, None)]
    outputs = [(condition, BOOL, []), ("next", FLOAT, None), ("twice", FLOAT, [])]
    return subgraph(nodes, inputs, outputs)


def loop_model(
    body: onnx.GraphProto, trips: int | None, **constants: np.ndarray
) -> onnx.ModelProto:
    names = ["n" if trips is not None else "", "c", "x"]
    node = helper.make_node("Loop", names, ["y", "all"], name="it", body=body)
    known = {
        "c": np.array(True),
        "limit": np.array(2),
        "zero": np.array(0, np.float32),
        **constants,
    }
    if trips is not None:
        known["n"] = np.array(trips)
    return graph_model([node], {"x": X[0]}, ["y", "all"], known)


def test_a_loop_with_a_trip_count() -> None:
    check(loop_model(loop_body(), 4), {"x": X[0]})


def test_a_loop_that_grows_its_state() -> None:
    check(loop_model(loop_body(grow=True), 3), {"x": X[0]})


def test_a_loop_with_a_condition_on_the_counter() -> None:
    check(loop_model(loop_body(condition="below"), 9), {"x": X[0]})
    check(loop_model(loop_body(condition="below"), None), {"x": X[0]})


def test_loops_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_flow, "MAX_UNROLLED_NODES", 100)
    ports = [("go", BOOL, []), ("state", FLOAT, [3])]
    empty = subgraph([], [("i", INT64, []), *ports], [*ports, ("i", INT64, [])])
    for body, trips, match in (
        (empty, None, "more than 100 nodes"),
        (loop_body(condition="positive"), 5, "depends on the data"),
        (loop_body(), 10**9, "more than 100 nodes"),
        (loop_body(), None, "more than 100 nodes"),
        (loop_body(), 0, "no steps"),
    ):
        with pytest.raises(UnsupportedError, match=match):
            run(loop_model(body, trips), {"x": X[0]})


def test_a_loop_whose_body_does_not_fit() -> None:
    body = subgraph([], [("i", INT64, [])], [("i", INT64, [])])
    with pytest.raises(ModelError, match="body"):
        run(loop_model(body, 2), {"x": X[0]})


def scan_body() -> onnx.GraphProto:
    """A running sum, and the difference of two sequences."""
    nodes = [
        helper.make_node("Add", ["total", "a"], ["next"]),
        helper.make_node("Identity", ["next"], ["seen"]),
        helper.make_node("Sub", ["a", "b"], ["difference"]),
    ]
    inputs = [("total", FLOAT, [3]), ("a", FLOAT, [3]), ("b", FLOAT, [3])]
    outputs = [("next", FLOAT, [3]), ("seen", FLOAT, [3]), ("difference", FLOAT, [3])]
    return subgraph(nodes, inputs, outputs)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_axes": [1, 0], "scan_input_directions": [1, 0]},
        {"scan_input_axes": [-1, 0], "scan_output_axes": [1, -1], "scan_output_directions": [0, 1]},
    ],
)
def test_scan(attributes: dict[str, list[int]]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((4, 3)).astype(np.float32) for _ in range(2))
    feeds = {"t": np.zeros(3, np.float32), "a": a.T.copy() if attributes else a, "b": b}
    node = helper.make_node(
        "Scan",
        list(feeds),
        ["t1", "s", "d"],
        name="it",
        body=scan_body(),
        num_scan_inputs=2,
        **attributes,
    )
    check(graph_model([node], feeds, ["t1", "s", "d"]), feeds)


def test_scans_that_do_not_fit() -> None:
    feeds = {
        "t": np.zeros(3, np.float32),
        "a": np.ones((4, 3), np.float32),
        "b": np.ones((2, 3), np.float32),
    }
    node = helper.make_node(
        "Scan", list(feeds), ["t1", "s", "d"], name="it", body=scan_body(), num_scan_inputs=2
    )
    with pytest.raises(ModelError, match="differ in length"):
        run(graph_model([node], feeds, ["t1", "s", "d"]), feeds)


def test_what_a_loop_collects_of_constants_is_a_constant() -> None:
    """The shape [3, 2] from the steps 0 and 1 of a loop, and from a scan over [0, 1]."""
    nodes = [
        helper.make_node("Sub", ["three", "i"], ["size"]),
        helper.make_node("Identity", ["go"], ["on"]),
    ]
    inputs = [("i", INT64, []), ("go", BOOL, [])]
    body = subgraph(nodes, inputs, [("on", BOOL, []), ("size", INT64, [])])
    element = helper.make_node("Sub", ["three", "j"], ["part"])
    steps = subgraph([element], [("j", INT64, [])], [("part", INT64, [])])
    nodes = [
        helper.make_node("Loop", ["two", "yes"], ["sizes"], body=body),
        helper.make_node("Reshape", ["x", "sizes"], ["y"]),
        helper.make_node("Scan", ["numbers"], ["parts"], body=steps, num_scan_inputs=1),
        helper.make_node("Reshape", ["x", "parts"], ["z"]),
    ]
    constants = {"two": np.array(2), "three": np.array(3), "yes": np.array(True)}
    constants["numbers"] = np.array([0, 1])
    check(graph_model(nodes, {"x": X}, ["y", "z"], constants), {"x": X})
