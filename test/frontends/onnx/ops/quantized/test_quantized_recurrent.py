# SPDX-License-Identifier: MIT OR Apache-2.0
"""onnxruntime's LSTM of 8-bit weights, against its own kernel."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from arrays import integers, normal, positive
from harness import check, node_model, run_compiled
from refusals import check_invalid

STEPS, BATCH, INPUTS, HIDDEN = 4, 2, 8, 6


def _model(
    x: dict[str, np.ndarray], directions: int, dtype: str, *, by_column: bool, lengths: bool = False
) -> onnx.ModelProto:
    # Within 7 bits, where onnxruntime's kernels do not saturate.
    low, high = (0, 128) if dtype == "uint8" else (-64, 64)
    columns = 4 * HIDDEN
    shape = (directions, columns) if by_column else (directions,)
    zeros = integers(50, 70, *shape, dtype=dtype) * np.array(dtype == "uint8", dtype)
    constants = {
        "w": integers(low, high, directions, INPUTS, columns, dtype=dtype),
        "r": integers(low, high, directions, HIDDEN, columns, dtype=dtype, seed=1),
        "b": normal(directions, 2 * columns),
        "ws": positive(*shape) * np.float32(0.01),
        "wz": zeros,
        "rs": positive(*shape, seed=1) * np.float32(0.01),
        "rz": zeros,
    }
    if lengths:
        constants["l"] = np.array([STEPS, STEPS - 2], np.int32)
    names = ["x", "w", "r", "b", "l" if lengths else "", "", "", "", "ws", "wz", "rs", "rz"]
    options = {"hidden_size": HIDDEN, "direction": ["forward", "bidirectional"][directions - 1]}
    return node_model(
        "DynamicQuantizeLSTM", x, constants=constants, names=names, outputs=3,
        domain="com.microsoft", **options
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("directions", [1, 2])
def test_dynamic_quantize_lstm(directions: int, by_column: bool, dtype: str) -> None:
    if by_column and dtype == "uint8":
        pytest.skip("onnxruntime takes one zero point a direction")
    x = {"x": normal(STEPS, BATCH, INPUTS)}
    # A state on the edge between two integers may be rounded to the other one.
    check(_model(x, directions, dtype, by_column=by_column), x, rtol=0, atol=4e-3)


def test_sequences_of_several_lengths_and_fusion() -> None:
    x = {"x": normal(STEPS, BATCH, INPUTS)}
    model = _model(x, 1, "int8", by_column=True, lengths=True)
    found = run_compiled(model, x)
    for mine, theirs in zip(found, check(model, x, rtol=0, atol=4e-3), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


def test_a_scale_that_does_not_fit() -> None:
    x = {"x": normal(1, 1, 2)}
    constants = {"w": np.zeros((1, 2, 4), np.int8), "r": np.zeros((1, 1, 4), np.int8)}
    constants |= {"s": normal(3), "z": np.zeros(3, np.int8)}
    names = ["x", "w", "r", "", "", "", "", "", "s", "z", "s", "z"]
    options = {"constants": constants, "names": names, "domain": "com.microsoft"}
    check_invalid("DynamicQuantizeLSTM", x, "has shape", hidden_size=1, **options)
