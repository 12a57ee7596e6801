# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions of single channels, or of few, in tiles of the image, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import xyntra
from xyntra.targets.cuda.kernel_image import KernelImage

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def _model(x: Array, weights: dict[str, Array], *, turned: bool, **how: Any) -> onnx.ModelProto:
    """A convolution with its bias and a Relu; `turned` writes its channels last."""
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    nodes = [
        helper.make_node("Conv", ["x", *weights], ["t"], **how),
        helper.make_node("Relu", ["t"], ["r"]),
    ]
    spatial = [*range(2, x.ndim)]
    order = [0, *spatial, 1] if turned else [*range(x.ndim)]
    nodes.append(helper.make_node("Transpose", ["r"], ["y"], perm=order))
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _drawn(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def check(
    shape: Shape, weights: Shape, *, dtype: str = "float32", turned: bool = False, **how: Any
) -> list[KernelImage]:
    """Compare a convolution with ONNX's in float64, and return its code."""
    x = _drawn(1, *shape).astype(dtype)
    constants = {"w": _drawn(2, *weights).astype(dtype), "b": _drawn(3, weights[0]).astype(dtype)}
    model = _model(x, constants, turned=turned, **how)
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    wide = {name: value.astype(np.float64) for name, value in constants.items()}
    reference = ReferenceEvaluator(_model(x.astype(np.float64), wide, turned=turned, **how))
    (right,) = reference.run(None, {"x": x.astype(np.float64)})
    (found,) = run_artifact(artifact, [x], constants)
    close = {"rtol": 1e-5, "atol": 1e-4} if dtype == "float32" else {"rtol": 2e-3, "atol": 2e-3}
    np.testing.assert_allclose(found, right, **close)
    return [KernelImage.from_bytes(each) for each in artifact.objects.values()]


def emitters(images: list[KernelImage]) -> list[str]:
    """The emitters of all launches."""
    return [launch.schedule.split()[0] for image in images for launch in image.launches]


DEPTHWISE: list[tuple[Shape, Shape, dict[str, Any]]] = [
    ((2, 5, 17, 24), (5, 1, 7, 7), {"pads": [3, 3, 3, 3]}),
    ((1, 6, 23, 19), (6, 1, 7, 7), {"pads": [3, 2, 1, 4], "strides": [2, 1]}),
    ((1, 3, 31, 45), (3, 1, 5, 5), {"pads": [2, 2, 2, 2], "strides": [2, 2]}),
    ((1, 4, 20, 33), (4, 1, 11, 9), {"pads": [5, 4, 5, 4]}),
    ((1, 2, 26, 22), (2, 1, 5, 6), {"dilations": [3, 2], "pads": [6, 5, 6, 5]}),
    ((1, 3, 21, 40), (3, 1, 1, 9), {"pads": [0, 4, 0, 4]}),
    ((1, 4, 40, 18), (4, 1, 9, 1), {"pads": [4, 0, 4, 0]}),
    ((3, 8, 7, 7), (8, 1, 7, 7), {"pads": [3, 3, 3, 3]}),
    ((1, 4, 12, 16), (8, 1, 6, 5), {"pads": [2, 2, 3, 2]}),
    ((2, 6, 131), (6, 1, 9), {"dilations": [4], "pads": [16, 16]}),
    ((2, 6, 131), (6, 1, 40), {"strides": [3], "pads": [7, 4]}),
    ((1, 3, 6, 11, 13), (3, 1, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
    ((1, 3, 9, 12, 8), (3, 1, 5, 3, 3), {"pads": [2, 1, 0, 2, 1, 1], "strides": [2, 1, 1]}),
    ((1, 8, 14, 24), (8, 2, 5, 5), {"pads": [2, 2, 2, 2]}),
    ((2, 1, 17, 20), (24, 1, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 1, 200), (40, 1, 7), {"pads": [3, 3]}),
]


@pytest.mark.parametrize(("dtype", "turned"), [("float16", False), ("float32", True)])
@pytest.mark.parametrize(("shape", "weights", "how"), DEPTHWISE)
def test_convolutions(
    shape: Shape, weights: Shape, how: dict[str, Any], turned: bool, dtype: str
) -> None:
    groups = shape[1] // weights[1]
    check(shape, weights, dtype=dtype, turned=turned, group=groups, **how)


def test_one_launch_reads_around_the_padding() -> None:
    how = {"group": 32, "pads": [3, 3, 3, 3]}
    images = check((1, 32, 28, 28), (32, 1, 7, 7), dtype="float16", **how)
    assert emitters(images) == ["window-tiles"]
    assert images[0].scratch == ()


def test_images_smaller_than_their_weights() -> None:
    """The padding is that of the factor with fewer elements along the result."""
    images = check((1, 32, 5, 5), (64, 32, 3, 3), dtype="float16", pads=[1, 1, 1, 1])
    assert "mma" in emitters(images)
