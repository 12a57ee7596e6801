# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products in 8 bits of a model of f32, run without a GPU and compared with the CPU's."""

from __future__ import annotations

import numpy as np
from emulator import run_artifact
from onnx import TensorProto, helper, numpy_helper

import xyntra

RNG = np.random.default_rng(8)


def test_a_gpu_computes_what_the_cpu_does() -> None:
    weights = {"w": RNG.standard_normal((64, 48)) / 8, "v": RNG.standard_normal((48, 40)) / 7}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "v"], ["y"], name="second"),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "test",
        [info("x", TensorProto.FLOAT, [5, 64])],
        [info("y", TensorProto.FLOAT, [5, 40])],
        [numpy_helper.from_array(each.astype(np.float32), name) for name, each in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    samples = [{"x": RNG.standard_normal((5, 64)).astype(np.float32)} for _ in range(3)]
    x = samples[1]["x"]
    how = {"precision": "int8", "samples": samples}
    gpu = xyntra.compile(model, target="cuda:sm_90a", **how)
    assert [kind for _, kind, _ in gpu.plan.precisions] == ["int8", "int8"]
    (found,) = run_artifact(gpu.artifact, [x], gpu.weights)
    expected = xyntra.compile(model, target="cpu", **how)(x)
    exact = np.maximum(x @ weights["w"], 0) @ weights["v"]
    # A sum on the edge between two integers may be rounded to either.
    np.testing.assert_allclose(found, expected, rtol=0, atol=4e-3 * np.abs(exact).max())
    np.testing.assert_allclose(found, exact, rtol=0, atol=4e-2 * np.abs(exact).max())
