# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention whose scores are capped, run without a GPU and on the CPU, against float64."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from emulator import run_artifact

import xyntra

CAP = 2.0


def expected(arrays: list[np.ndarray], *, causal: bool) -> np.ndarray:
    q, k, v, *bias = (x.astype(np.float64) for x in arrays)
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = CAP * np.tanh(q @ k.swapaxes(-1, -2) / (np.sqrt(q.shape[-1]) * CAP))
    scores = scores + bias[0] if bias else scores
    if causal:
        seen = np.arange(k.shape[2]) <= np.arange(q.shape[2])[:, None]
        scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def model(arrays: list[np.ndarray], *, causal: bool) -> onnx.ModelProto:
    helper, names = onnx.helper, list("qkvm"[: len(arrays)])
    kind = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    infos = [
        helper.make_tensor_value_info(name, kind, x.shape)
        for name, x in zip([*names, "y"], [*arrays, arrays[0]], strict=True)
    ]
    node = helper.make_node("Attention", names, ["y"], softcap=CAP, is_causal=int(causal))
    graph = helper.make_graph([node], "g", infos[:-1], infos[-1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])


@pytest.mark.parametrize(
    ("dtype", "lengths", "size", "causal", "biased"),
    [
        ("float32", (19, 70), 32, True, True), ("float16", (19, 70), 64, True, False),
        ("float16", (130, 197), 64, True, False), ("float16", (130, 140), 128, False, True),
    ],
)  # fmt: skip
def test_capped_scores(
    dtype: str, lengths: tuple[int, int], size: int, causal: bool, biased: bool, settings
) -> None:
    rng = np.random.default_rng(1)
    shapes = [(1, 2, lengths[0], size), *[(1, 1, lengths[1], size)] * 2, *[lengths] * biased]
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    arrays[0] *= 5
    source, wanted = model(arrays, causal=causal), expected(arrays, causal=causal)
    bound = 3e-6 if dtype == "float32" else 4e-3
    for target in ("cpu", "cuda:sm_90a"):
        executable = xyntra.compile(source, target=target, config=settings)
        assert [kernel.kind for kernel in executable.kernels] == ["attention"]
        if target == "cpu":
            result = executable.run(dict(zip("qkvm", arrays, strict=False)))["y"]
        else:
            (result,) = run_artifact(executable.artifact, arrays, {})
        np.testing.assert_allclose(np.asarray(result, np.float64), wanted, bound, bound)
