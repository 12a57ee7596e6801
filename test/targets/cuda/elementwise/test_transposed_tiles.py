# SPDX-License-Identifier: MIT OR Apache-2.0
"""Transposes by tiles in shared memory, in the emulator, which finds races."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from emulator import run_artifact
from gpu_code import change_devices
from onnx import helper

import xyntra
from xyntra.passes.lower.gpu.elementwise import transposed_tiles
from xyntra.targets.cuda.code.kernel_image import KernelImage


@pytest.mark.parametrize(
    ("shape", "order", "dtype", "blocks"),
    [
        ((100, 130), (1, 0), "float32", 6),
        ((70, 66), (1, 0), "float16", 4),
        ((2, 33, 40), (0, 2, 1), "float32", 8),
        ((2, 64, 6, 11), (0, 2, 3, 1), "float16", 4),
        ((34, 5, 37), (2, 1, 0), "float32", 20),
        ((40, 50), (1, 0), "uint8", 4),
        ((8, 33, 40), (2, 1, 0), "float16", 18),
        ((5, 70, 3, 66), (3, 1, 2, 0), "float32", 34),
        ((3, 3, 7, 50), (3, 2, 1, 0), "float32", 4),
        ((40, 6, 7), (2, 1, 0), "float32", 4),
        ((2, 24, 5, 40), (0, 2, 3, 1), "float16", 14),
        ((3, 20, 16), (0, 2, 1), "float32", 3),
    ],
)
def test_transposes_go_through_tiles(
    shape: Sequence[int],
    order: Sequence[int],
    dtype: str,
    blocks: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transposed_tiles, "_MIN_ELEMENTS", 1)
    change_devices(monkeypatch, multiprocessors=1)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    result = [shape[number] for number in order]
    graph = helper.make_graph(
        [helper.make_node("Transpose", ["x"], ["y"], perm=list(order))],
        "graph",
        [helper.make_tensor_value_info("x", kind, list(shape))],
        [helper.make_tensor_value_info("y", kind, result)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    config = xyntra.Config(isolate=False, cache=False)
    artifact = xyntra.compile(model, target="cuda:sm_90a", config=config).artifact
    x = (np.random.default_rng(3).standard_normal(shape) * 20).astype(dtype)
    (found,) = run_artifact(artifact, [x], {})
    np.testing.assert_array_equal(found, x.transpose(order))
    images = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    ((launch,),) = [image.launches for image in images]
    assert launch.grid == blocks
