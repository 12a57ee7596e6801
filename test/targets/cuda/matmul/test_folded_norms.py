# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models whose norms are folded into products: one launch a product, and right in the emulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from normed_network import LAYER, RMS, Network, errors
from onnx_models import make_model

import xyntra
from xyntra.passes.lower.cuda.matmul import select
from xyntra.plan.artifact import Artifact
from xyntra.targets.cuda.code.kernel_image import KernelImage

Weights = dict[str, np.ndarray]


def compiled(network: Network, folder: Path) -> Artifact:
    path = folder / "model.onnx"
    onnx.save(network.model(), path)
    settings = {"fold_norms": True, "cache": False, "isolate": False}
    return xyntra.compile(path, target="cuda:sm_90a", config=settings).artifact


def launches(artifact: Artifact) -> list[int]:
    """How many launches each product takes."""
    images = {name: KernelImage.from_bytes(code) for name, code in artifact.objects.items()}
    steps = [step.kernel for step in artifact.plan.steps if step.kernel.startswith("contraction")]
    return [len(images[kernel].launches) for kernel in steps]


@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize("norm", [LAYER, RMS])
@pytest.mark.parametrize("shape", [(1, 256, 128), (20, 64, 40), (77, 256, 128)])
def test_folded_norms(tmp_path, shape, norm, post):
    network = Network(*shape)
    network.norm, network.post = norm, post
    artifact = compiled(network, tmp_path)
    # A single row has no tiles: sums of its columns are a launch of their own.
    assert launches(artifact) == [1, 2 if shape[0] == 1 else 1, 1]
    results = run_artifact(artifact, network.inputs(3.0), network.rounded())
    assert max(errors(network, [np.asarray(each) for each in results])) < 6e-4


def gated(rows: int, columns: int, hidden: int) -> tuple[onnx.ModelProto, Weights]:
    """x = a w0 + r; n = norm(x) in f32, rounded, times a scale; y = silu(n w1) * (n w2)."""
    random = np.random.default_rng(rows)
    shapes = {"w0": (columns, columns), "w1": (columns, hidden), "w2": (columns, hidden)}
    weights = {name: random.standard_normal(each) / 16 for name, each in shapes.items()}
    weights["scale"] = 1 + 0.3 * random.standard_normal(columns)
    weights = {name: each.astype(np.float16) for name, each in weights.items()}
    constants = {"two": np.float32(2), "epsilon": np.float32(1e-6)}
    nodes = [
        ("MatMul", ["a", "w0"], ["p"]),
        ("Add", ["p", "r"], ["x"]),
        onnx.helper.make_node("Cast", ["x"], ["wide"], to=onnx.TensorProto.FLOAT),
        ("Pow", ["wide", "two"], ["square"]),
        onnx.helper.make_node("ReduceMean", ["square", "last"], ["mean"], keepdims=1),
        ("Add", ["mean", "epsilon"], ["shifted"]),
        ("Sqrt", ["shifted"], ["root"]),
        ("Reciprocal", ["root"], ["factor"]),
        ("Mul", ["wide", "factor"], ["normal"]),
        onnx.helper.make_node("Cast", ["normal"], ["narrow"], to=onnx.TensorProto.FLOAT16),
        ("Mul", ["scale", "narrow"], ["n"]),
        ("MatMul", ["n", "w1"], ["gate"]),
        ("Sigmoid", ["gate"], ["open"]),
        ("Mul", ["gate", "open"], ["silu"]),
        ("MatMul", ["n", "w2"], ["up"]),
        ("Mul", ["silu", "up"], ["y"]),
    ]
    shape = [rows, columns]
    constants["last"] = np.array([-1])
    model = make_model(
        nodes, {"a": shape, "r": shape}, ["x", "y"], {**weights, **constants},
        dtype=onnx.TensorProto.FLOAT16,
    )  # fmt: skip
    return model, weights


@pytest.mark.parametrize("shape", [(1, 256, 192), (40, 64, 96), (130, 256, 200)])
def test_a_norm_in_f32_between_conversions_and_gates_behind_it(tmp_path, shape, monkeypatch):
    monkeypatch.setattr(select, "_is_faster", lambda *_: True)
    model, weights = gated(*shape)
    onnx.save(model, tmp_path / "model.onnx")
    settings = {"fold_norms": True, "cache": False, "isolate": False}
    path = tmp_path / "model.onnx"
    artifact = xyntra.compile(path, target="cuda:sm_90a", config=settings).artifact
    assert launches(artifact) == [1, 1]
    assert len([step for step in artifact.plan.steps if not step.once]) == 2
    random = np.random.default_rng(3)
    inputs = [random.standard_normal(shape[:2]).astype(np.float16) for _ in range(2)]
    x, y = (np.asarray(each, float) for each in run_artifact(artifact, inputs, weights))
    wide = {name: each.astype(float) for name, each in weights.items()}
    n = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * wide["scale"]
    gate = n @ wide["w1"]
    wanted = gate / (1 + np.exp(-gate)) * (n @ wide["w2"])
    assert np.sqrt(((y - wanted) ** 2).mean() / (wanted**2).mean()) < 1e-3
