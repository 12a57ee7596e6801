# SPDX-License-Identifier: MIT OR Apache-2.0
"""Embeddings with the norm behind them: one launch, in the emulator, beside ONNX's own results."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import xyntra
from xyntra.targets.cuda.code.kernel_image import KernelImage

_WORDS, _ROWS = 50, 6


def _embedding(width: int, kind: int, *, keeps_sum: bool) -> Any:
    """A model that adds what two indices name and what each place has, and normalizes the sum."""
    tensor, node = helper.make_tensor_value_info, helper.make_node
    places = [1, _ROWS]
    tables = [tensor("words", kind, [_WORDS, width]), tensor("parts", kind, [2, width])]
    rest = [tensor("places", kind, [*places, width]), tensor("scale", kind, [width])]
    numbers = [tensor(name, TensorProto.INT64, places) for name in ("word", "part")]
    nodes = [
        node("Gather", ["words", "word"], ["a"], axis=0),
        node("Gather", ["parts", "part"], ["b"], axis=0),
        node("Add", ["a", "b"], ["ab"]),
        node("Add", ["ab", "places"], ["sum"]),
        node("LayerNormalization", ["sum", "scale"], ["result"], axis=-1),
    ]
    outputs = ["result", "sum"] if keeps_sum else ["result"]
    results = [tensor(name, kind, [*places, width]) for name in outputs]
    graph = helper.make_graph(nodes, "graph", [*numbers, *tables, *rest], results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.parametrize(
    ("width", "dtype", "keeps_sum"),
    [(96, "float16", False), (768, "float16", True), (50, "float32", False), (33, "float32", True)],
)
def test_a_norm_takes_embeddings_along(width: int, dtype: str, keeps_sum: bool) -> None:
    kind = TensorProto.FLOAT16 if dtype == "float16" else TensorProto.FLOAT
    model = _embedding(width, kind, keeps_sum=keeps_sum)
    onnx.checker.check_model(model)
    rng = np.random.default_rng(3)
    words, parts = rng.integers(-_WORDS, _WORDS, (1, _ROWS)), rng.integers(0, 2, (1, _ROWS))
    shapes = [(_WORDS, width), (2, width), (1, _ROWS, width), (width,)]
    arrays = [words, parts, *(rng.standard_normal(shape).astype(dtype) for shape in shapes)]
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    names = [each.name for each in model.graph.input]
    expected = ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))
    for found, right in zip(run_artifact(artifact, arrays, {}), expected, strict=True):
        np.testing.assert_allclose(
            found, right, rtol=2e-3, atol=4e-3 if dtype == "float16" else 1e-5
        )
    images = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    ((launch,),) = [image.launches for image in images]
    assert launch.shared == 0
    width_of = 4 if width % 8 == 0 else 2 if width % 2 == 0 else 1
    (ptx,) = [image.ptx for image in images]
    assert (f"ld.global.v{width_of}" in ptx) == (width_of > 1)
