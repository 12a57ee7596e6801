# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention whose mask is read as something else, too: it must be in memory."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import run_artifact
from onnx import TensorProto, helper

import xyntra


def model(shared: str) -> object:
    """Attention with one of its factors computed, which is added to the scores as well."""
    shapes = {"q": [16, 16], "k": [16, 16], "v": [16, 16]}
    nodes = [
        helper.make_node("Neg", [shared], ["n"]),
        helper.make_node(
            "MatMul", ["n" if shared == "q" else "q", "n" if shared == "k" else "k"], ["s"]
        ),
        helper.make_node("Add", ["s", "n"], ["b"]),
        helper.make_node("Softmax", ["b"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "n" if shared == "v" else "v"], ["y"]),
    ]
    kind = TensorProto.FLOAT16
    infos = [helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()]
    result = helper.make_tensor_value_info("y", kind, [16, 16])
    graph = helper.make_graph(nodes, "g", infos, [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.parametrize("shared", ["q", "k", "v"])
@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a"])
def test_a_mask_that_is_a_factor_too(shared, target):
    rng = np.random.default_rng(3)
    arrays = {name: rng.standard_normal((16, 16)).astype(np.float16) for name in "qkv"}
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    wide[shared] = bias = -wide[shared]
    scores = wide["q"] @ wide["k"] + bias
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    wanted = weights / weights.sum(axis=-1, keepdims=True) @ wide["v"]
    exe = xyntra.compile(model(shared), target=target)
    if target == "cpu":
        found = exe.run(arrays)["y"]
    else:
        (found,) = run_artifact(exe.artifact, list(arrays.values()), {})
    np.testing.assert_allclose(found, wanted, atol=8e-3)
