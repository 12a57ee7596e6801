# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rotary embeddings of queries and keys: one launch before attention, and right in the emulator."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from onnx_models import make_model

import xyntra
from xyntra.targets.cuda.code.kernel_image import KernelImage

Array = np.ndarray
HEADS, KEY_HEADS, LENGTH, SIZE = 4, 2, 21, 32


def nodes(name: str, part: int) -> list[tuple[str, list[str], list[str]]]:
    """`name` with its first `part` elements rotated by halves, the others as they are."""
    rotated = [
        ("Slice", [name, "zero", "half", "last"], [f"{name}_low"]),
        ("Slice", [name, "half", "part", "last"], [f"{name}_high"]),
        ("Neg", [f"{name}_high"], [f"{name}_minus"]),
        onnx.helper.make_node("Concat", [f"{name}_minus", f"{name}_low"], [f"{name}_t"], axis=-1),
        ("Slice", [name, "zero", "part", "last"], [f"{name}_part"]),
        ("Mul", [f"{name}_part", "cos"], [f"{name}_c"]),
        ("Mul", [f"{name}_t", "sin"], [f"{name}_s"]),
        ("Add", [f"{name}_c", f"{name}_s"], [f"{name}_turned"]),
    ]
    if part == SIZE:
        return rotated
    joined = onnx.helper.make_node(
        "Concat", [f"{name}_turned", f"{name}_rest"], [f"{name}_r"], axis=-1
    )
    return [*rotated, ("Slice", [name, "part", "size", "last"], [f"{name}_rest"]), joined]


def turned(x: Array, cos: Array, sin: Array) -> Array:
    part = cos.shape[-1]
    low, high, rest = np.split(x, [part // 2, part], axis=-1)
    both = np.concatenate([-high, low], -1)
    return np.concatenate([x[..., :part] * cos + both * sin, rest], -1)


@pytest.mark.parametrize("part", [SIZE, SIZE // 2])
def test_rotated_queries_and_keys(part, tmp_path):
    suffix = "_turned" if part == SIZE else "_r"
    attention = onnx.helper.make_node("Attention", [f"q{suffix}", f"k{suffix}", "v"], ["y"])
    constants = {"zero": 0, "half": part // 2, "part": part, "size": SIZE, "last": -1}
    random = np.random.default_rng(part)
    angles = random.standard_normal((LENGTH, part))
    weights = {name: np.array([number]) for name, number in constants.items()}
    tables = {"cos": np.cos(angles), "sin": np.sin(angles)}
    tables = {name: each.astype(np.float16) for name, each in tables.items()}
    shapes = {
        "q": (1, HEADS, LENGTH, SIZE),
        "k": (1, KEY_HEADS, LENGTH, SIZE),
        "v": (1, KEY_HEADS, LENGTH, SIZE),
    }
    model = make_model(
        [*nodes("q", part), *nodes("k", part), attention], shapes, ["y"], {**weights, **tables},
        dtype=onnx.TensorProto.FLOAT16, opset=23,
    )  # fmt: skip
    onnx.save(model, tmp_path / "model.onnx")
    settings = {"cache": False, "isolate": False}
    artifact = xyntra.compile(
        tmp_path / "model.onnx", target="cuda:sm_90a", config=settings
    ).artifact
    images = [KernelImage.from_bytes(code) for code in artifact.objects.values()]
    assert [len(image.launches) for image in images if "mma.sync" in image.ptx] == [2]
    inputs = [random.standard_normal(shape).astype(np.float16) for shape in shapes.values()]
    (y,) = run_artifact(artifact, inputs, tables)
    cos, sin = (each.astype(float) for each in tables.values())
    q, k, v = (each.astype(float) for each in inputs)
    q, k = turned(q, cos, sin), turned(k, cos, sin)
    k, v = (np.repeat(each, HEADS // KEY_HEADS, axis=1) for each in (k, v))
    scores = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(SIZE))
    wanted = scores / scores.sum(-1, keepdims=True) @ v
    assert np.abs(np.asarray(y, float) - wanted).max() < 4e-3
