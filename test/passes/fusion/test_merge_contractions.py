# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions that share an operand: as few kernels as possible, and the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnx_models import make_model
from pipeline_with import compile_with, largest_error

import xyntra

MERGE = "merge-contractions"


def normal(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def projections(columns: list[int], *, bias: list[bool], transposed: bool) -> onnx.ModelProto:
    """tanh(x W + b) for several W, the results one behind the other."""
    nodes, weights, results = [], {}, []
    for number, (n, has_bias) in enumerate(zip(columns, bias, strict=True)):
        shape = (n, 48) if transposed else (48, n)
        weights[f"w{number}"] = normal(*shape, seed=number)
        weights[f"b{number}"] = normal(n, seed=50 + number)
        inputs = ["x", f"w{number}"] + ([f"b{number}"] if has_bias else [])
        if transposed:
            nodes.append(helper.make_node("Gemm", inputs, [f"a{number}"], transB=1))
        else:
            nodes.append(helper.make_node("MatMul", inputs[:2], [f"p{number}"]))
            added = [f"p{number}", f"b{number}"] if has_bias else [f"p{number}"]
            nodes.append(helper.make_node("Add" if has_bias else "Neg", added, [f"a{number}"]))
        nodes.append(helper.make_node("Tanh", [f"a{number}"], [f"t{number}"]))
        results.append(f"t{number}")
    nodes.append(helper.make_node("Concat", results, ["y"], axis=-1))
    shape_of_x = [20, 48] if transposed else [2, 10, 48]
    return make_model(nodes, {"x": shape_of_x}, ["y"], weights)


def expected(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    """What onnxruntime computes."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (result,) = session.run(None, {"x": x})
    return np.asarray(result)


def contractions(kinds: list[str]) -> int:
    return kinds.count("contraction")


@pytest.mark.parametrize(
    ("columns", "bias", "transposed"),
    [
        ([64, 64, 64], [True] * 3, False),
        ([64, 32, 96], [True] * 3, False),
        ([33, 7], [True] * 2, False),
        ([64, 64], [True, False], False),
        ([64, 64, 48], [True] * 3, True),
        ([31, 65], [False] * 2, True),
    ],
)
def test_merged_contractions_give_the_same_numbers(
    columns: list[int], bias: list[bool], transposed: bool, tmp_path: Path
) -> None:
    model = projections(columns, bias=bias, transposed=transposed)
    x = normal(*((20, 48) if transposed else (2, 10, 48)), seed=99)
    merged = compile_with(model, [MERGE], [], tmp_path)
    plain = compile_with(model, [], [MERGE], tmp_path)
    assert contractions([kernel.kind for kernel in merged.kernels]) == 1
    assert contractions([kernel.kind for kernel in plain.kernels]) == len(columns)
    result = merged.run({"x": x})["y"]
    assert largest_error(result, expected(model, x)) < 2e-6
    assert largest_error(result, plain.run({"x": x})["y"].astype(float)) < 1e-6


def test_concatenation_happens_once_at_load(tmp_path: Path) -> None:
    model = projections([64, 64, 64], bias=[True] * 3, transposed=False)
    merged = compile_with(model, [MERGE], [], tmp_path)
    once = [step for step in merged.plan.steps if step.once]
    assert len(once) == 1
    assert len(once[0].outputs) == 2
    x = normal(2, 10, 48, seed=1)
    first, second = merged.run({"x": x})["y"], merged.run({"x": x})["y"]
    assert np.array_equal(first, second)


@pytest.mark.parametrize(("op", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_weights_may_be_parts_of_one_tensor(op: str, gates: int) -> None:
    """Both directions of a layer multiply the same inputs with parts of one weight."""
    weights = {
        "w": normal(2, gates * 6, 40, seed=1),
        "r": normal(2, gates * 6, 6, seed=2),
        "b": normal(2, 2 * gates * 6, seed=3),
    }
    node = helper.make_node(op, ["x", *weights], ["y"], hidden_size=6, direction="bidirectional")
    model = make_model([node], {"x": [3, 2, 40]}, ["y"], weights)
    x = normal(3, 2, 40, seed=4)
    compiled = xyntra.compile(model, config={"cache": False, "isolate": False})
    assert largest_error(compiled.run({"x": x})["y"], expected(model, x)) < 1e-5
