# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recurrent operators against onnxruntime: directions, lengths, initial states, activations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import normal
from harness import check_node, compare, node_model, reference, run
from refusals import check_invalid, check_unsupported

STEPS, BATCH, INPUT, HIDDEN = 3, 3, 4, 5
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def inputs_of(
    op: str, directions: int, wanted: str, lengths: list[int] | None
) -> dict[str, np.ndarray]:
    """The inputs that `wanted` has letters for: b bias, h and c initial states, p peepholes."""
    gates = GATES[op]
    state = (directions, BATCH, HIDDEN)
    inputs = {
        "x": normal(STEPS, BATCH, INPUT),
        "w": normal(directions, gates * HIDDEN, INPUT, seed=1),
        "r": normal(directions, gates * HIDDEN, HIDDEN, seed=2),
        "b": normal(directions, 2 * gates * HIDDEN, seed=3),
        "h": normal(*state, seed=4),
        "c": normal(*state, seed=5),
        "p": normal(directions, 3 * HIDDEN, seed=6),
    }
    inputs = {name: array for name, array in inputs.items() if name in "xwr" + wanted}
    if lengths is not None:
        inputs["l"] = np.array(lengths, np.int32)
    return inputs


def check(op: str, wanted: str = "b", *, lengths: list[int] | None = None, **options: Any) -> None:
    directions = 2 if options.get("direction") == "bidirectional" else 1
    inputs = inputs_of(op, directions, wanted, lengths)
    order = "xwrblhcp" if op == "LSTM" else "xwrblh"
    names = [name if name in inputs else "" for name in order]
    outputs = 3 if op == "LSTM" else 2
    options |= {"names": names, "outputs": outputs, "hidden_size": HIDDEN}
    check_node(op, inputs, rtol=2e-4, atol=2e-5, **options)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize(
    ("wanted", "options"),
    [
        ("", {}),
        ("bhc", {"direction": "bidirectional", "lengths": [2, 1, 3]}),
        ("bhc", {"direction": "reverse", "clip": 0.3}),
    ],
)
def test_common_options(op: str, wanted: str, options: dict[str, Any]) -> None:
    check(op, wanted if op == "LSTM" else wanted.replace("c", ""), **options)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_float16_computes_in_float32(op: str, direction: str) -> None:
    """onnxruntime has no such kernels: its results in float32 for rounded inputs are rounded."""
    inputs = inputs_of(op, 2 if direction == "bidirectional" else 1, "bhcp", [2, 1, 3])
    if op != "LSTM":
        inputs = {name: array for name, array in inputs.items() if name not in "cp"}
    narrow = {n: a.astype(np.float16) if a.dtype == np.float32 else a for n, a in inputs.items()}
    wide = {n: a.astype(np.float32) if a.dtype == np.float16 else a for n, a in narrow.items()}
    names = [name if name in inputs else "" for name in ("xwrblhcp" if op == "LSTM" else "xwrblh")]
    options = {"names": names, "outputs": 3 if op == "LSTM" else 2, "hidden_size": HIDDEN}
    found = run(node_model(op, narrow, direction=direction, **options), narrow)
    expected = reference(node_model(op, wide, direction=direction, **options), wide)
    compare(found, [array.astype(np.float16) for array in expected], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("coupled", [0, 1])
def test_lstm_with_peepholes(coupled: int) -> None:
    check("LSTM", "bcp", input_forget=coupled)


def test_lstm_with_other_activations() -> None:
    functions = ["HardSigmoid", "Softsign", "Relu"]
    check("LSTM", activations=functions, activation_alpha=[0.3], activation_beta=[0.4])


@pytest.mark.parametrize("wanted", ["", "bh"])
def test_gru_with_the_linear_part_before_the_reset(wanted: str) -> None:
    check("GRU", wanted, linear_before_reset=1)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Relu", {}),
        ("LeakyRelu", {"activation_alpha": [0.3]}),
        ("HardSigmoid", {"activation_alpha": [0.3], "activation_beta": [0.4]}),
        ("ScaledTanh", {"activation_alpha": [0.1], "activation_beta": [0.4]}),
        ("Affine", {"activation_alpha": [0.1], "activation_beta": [0.4]}),
        ("ThresholdedRelu", {"activation_alpha": [0.1]}),
        ("Elu", {}),
        ("Softplus", {}),
    ],
)
def test_activations(name: str, options: dict[str, Any]) -> None:
    check("RNN", activations=[name], **options)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"r": (1, 3, 5)}, {}, "input 2"),
        ({"b": (1, 5)}, {}, "input 3"),
        ({}, {"hidden_size": 6}, "hidden_size"),
        ({}, {"direction": "both"}, "'direction'"),
        ({}, {"activations": ["Swish"]}, "no activation 'Swish'"),
        ({}, {"activations": ["Tanh", "Tanh"]}, "2 activations"),
        ({"x": (3, 4)}, {}, "three dimensions"),
    ],
)
def test_invalid(
    changes: dict[str, tuple[int, ...]], options: dict[str, Any], message: str
) -> None:
    inputs = inputs_of("RNN", 1, "b", None)
    inputs |= {name: normal(*shape) for name, shape in changes.items()}
    check_invalid("RNN", inputs, message, **options)


def test_long_sequences_are_unsupported() -> None:
    inputs = inputs_of("RNN", 1, "b", None) | {"x": normal(513, 1, INPUT)}
    check_unsupported("RNN", inputs, "513 steps")
