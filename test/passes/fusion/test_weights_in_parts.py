# SPDX-License-Identifier: MIT OR Apache-2.0
"""Weights that are parts of one tensor, and other ways of taking them apart before use."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnx_models import Node, make_model

import xyntra

Settings = dict[str, object]


def normal(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) / 4


def check(model: onnx.ModelProto, settings: Settings) -> None:
    """Compare with onnxruntime, and compile for a GPU, too."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = {
        each.name: normal(*each.shape, seed=90 + number)
        for number, each in enumerate(session.get_inputs())
    }
    found = xyntra.compile(model, config=settings).run(feeds)
    for name, wanted in zip(found, session.run(None, feeds), strict=True):
        np.testing.assert_allclose(found[name], wanted, rtol=1e-4, atol=1e-5)
    assert xyntra.compile(model, target="cuda:sm_90a", config=settings).kernels


def recurrent(op: str, direction: str, sizes: tuple[int, int, int, int]) -> onnx.ModelProto:
    steps, batch, inputs, hidden = sizes
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    directions = 2 if direction == "bidirectional" else 1
    weights = {
        "w": normal(directions, gates * hidden, inputs, seed=1),
        "r": normal(directions, gates * hidden, hidden, seed=2),
        "b": normal(directions, 2 * gates * hidden, seed=3),
    }
    node = helper.make_node(
        op, ["x", *weights], ["y", "h"], hidden_size=hidden, direction=direction
    )
    return make_model([node], {"x": [steps, batch, inputs]}, ["y", "h"], weights)


@pytest.mark.parametrize(
    ("op", "sizes"), [("LSTM", (2, 2, 12, 16)), ("GRU", (2, 1, 9, 5)), ("RNN", (3, 2, 5, 8))]
)
def test_both_directions_read_parts_of_their_weights(
    op: str, sizes: tuple[int, int, int, int], settings: Settings
) -> None:
    check(recurrent(op, "bidirectional", sizes), settings)


def taken_apart(how: str, parts: int) -> tuple[list[Node], dict[str, np.ndarray]]:
    """Nodes that make w0, w1, … of shape [24, 20] each, and weights, of `w`."""
    names = [f"w{number}" for number in range(parts)]
    if how == "split":
        node = helper.make_node("Split", ["w"], names, axis=1, num_outputs=parts)
        return [node], {"w": normal(24, 20 * parts, seed=0)}
    if how == "split of a sum":
        node = helper.make_node("Split", ["s"], names, axis=1, num_outputs=parts)
        weights = {"w": normal(24, 20 * parts, seed=0), "v": normal(24, 20 * parts, seed=1)}
        return [("Add", ["w", "v"], ["s"]), node], weights
    nodes: list[Node] = []
    weights = {"perm": np.array([24, 20])}
    for number, name in enumerate(names):
        weights[f"i{number}"] = np.array(number)
        if how == "gather":
            nodes.append(helper.make_node("Gather", ["w", f"i{number}"], [name], axis=0))
        elif how == "gather of columns":
            nodes.append(helper.make_node("Gather", ["w", f"i{number}"], [name], axis=2))
        elif how == "transposed":
            nodes.append(helper.make_node("Gather", ["w", f"i{number}"], [f"g{number}"], axis=0))
            nodes.append(helper.make_node("Transpose", [f"g{number}"], [name], perm=[1, 0]))
        else:
            nodes.append(helper.make_node("Gather", ["w", f"i{number}"], [f"g{number}"], axis=0))
            nodes.append(helper.make_node("Reshape", [f"g{number}", "perm"], [name]))
    shape = {
        "gather": (parts, 24, 20),
        "gather of columns": (24, 20, parts),
        "transposed": (parts, 20, 24),
        "reshaped": (parts, 480),
    }[how]
    return nodes, weights | {"w": normal(*shape, seed=0)}


@pytest.mark.parametrize(
    ("how", "parts"),
    [
        ("split", 3),
        ("split of a sum", 2),
        ("gather", 2),
        ("gather of columns", 3),
        ("transposed", 2),
        ("reshaped", 2),
    ],
)
def test_parts_of_a_weight_are_multiplied_with_one_tensor(
    how: str, parts: int, settings: Settings
) -> None:
    nodes, weights = taken_apart(how, parts)
    for number in range(parts):
        weights[f"b{number}"] = normal(20, seed=10 + number)
        nodes.append(("MatMul", ["x", f"w{number}"], [f"p{number}"]))
        nodes.append(("Add", [f"p{number}", f"b{number}"], [f"s{number}"]))
        nodes.append(("Tanh", [f"s{number}"], [f"y{number}"]))
    results = [f"y{number}" for number in range(parts)]
    check(make_model(nodes, {"x": [7, 24]}, results, weights), settings)
