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
from xyntra.passes.lower.cuda.matmul.fma import plan as fma_plan
from xyntra.targets.cuda.code.kernel_image import KernelImage

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def _model(
    x: Array, weights: dict[str, Array], *, turned: bool, last: bool = False, **how: Any
) -> onnx.ModelProto:
    """A convolution with its bias and a Relu.

    `turned` writes its channels last; `last` reads an image that has them last as well.
    """
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    spatial = [*range(2, x.ndim)]
    first = [0, x.ndim - 1, *range(1, x.ndim - 1)] if last else [*range(x.ndim)]
    nodes = [
        helper.make_node("Transpose", ["x"], ["i"], perm=first),
        helper.make_node("Conv", ["i", *weights], ["t"], **how),
        helper.make_node("Relu", ["t"], ["r"]),
    ]
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
    shape: Shape,
    weights: Shape,
    *,
    dtype: str = "float32",
    turned: bool = False,
    last: bool = False,
    **how: Any,
) -> list[KernelImage]:
    """Compare a convolution with ONNX's in float64, and return its code."""
    if last:
        shape = (shape[0], *shape[2:], shape[1])
    how |= {"last": last}
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


GROUPED: list[tuple[Shape, Shape, dict[str, Any]]] = [
    ((2, 16, 9, 14), (16, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((1, 32, 12, 13), (48, 16, 3, 3), {"pads": [2, 1, 2, 1], "dilations": [2, 1]}),
    ((1, 16, 15, 19), (16, 4, 3, 2), {"strides": [2, 1], "pads": [1, 0, 1, 0]}),
    ((1, 15, 10, 12), (15, 3, 5, 5), {"pads": [2, 2, 2, 2]}),
    ((1, 33, 8, 11), (99, 1, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 24, 9, 8), (48, 1, 5, 5), {"pads": [2, 2, 2, 2]}),
    ((1, 60, 9, 10), (20, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 96, 9, 10), (96, 4, 1, 1), {}),
    ((1, 60, 17, 15), (40, 6, 1, 1), {"strides": [2, 2]}),
    ((2, 12, 160), (24, 2, 5), {"pads": [2, 2]}),
    ((1, 64, 5, 7, 9), (64, 2, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
]


@pytest.mark.parametrize(
    ("dtype", "last"), [("float32", True), ("float16", True), ("float32", False)]
)
@pytest.mark.parametrize(("shape", "weights", "how"), GROUPED)
def test_groups_of_few_channels_that_are_innermost(
    shape: Shape, weights: Shape, how: dict[str, Any], last: bool, dtype: str
) -> None:
    """A thread has neighbouring outputs of a group, and sums over its channels."""
    groups = shape[1] // weights[1]
    images = check(shape, weights, dtype=dtype, turned=True, last=last, group=groups, **how)
    if dtype == "float32" and last:
        assert "window-tiles" in emitters(images)


def test_a_group_of_few_channels_needs_no_padded_copy() -> None:
    how = {"group": 8, "pads": [1, 1, 1, 1], "last": True, "turned": True}
    images = check((1, 32, 20, 20), (32, 4, 3, 3), **how)
    assert emitters(images) == ["pointwise", "window-tiles"]  # the former orders weights, once
    assert all(image.scratch == () for image in images)


FEW_OUTPUTS: list[tuple[Shape, Shape, dict[str, Any]]] = [
    ((1, 24, 12, 11), (3, 24, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 20, 12, 11), (5, 20, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
    ((2, 64, 12, 11), (8, 64, 1, 1), {}),
]


@pytest.mark.parametrize(("shape", "weights", "how"), FEW_OUTPUTS)
def test_few_outputs_that_are_innermost_are_rows_of_tiles(
    shape: Shape, weights: Shape, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XYNTRA_ISOLATE", "false")
    monkeypatch.setenv("XYNTRA_CACHE", "false")
    monkeypatch.setattr(fma_plan, "_SURE", 100.0)  # images are small here
    images = check(shape, weights, last=True, turned=True, **how)
    schedules = [launch.schedule for image in images for launch in image.launches]
    assert any(each.startswith("fma tile [8, 64]") for each in schedules)


def test_one_launch_reads_around_the_padding() -> None:
    how = {"group": 32, "pads": [3, 3, 3, 3]}
    images = check((1, 32, 28, 28), (32, 1, 7, 7), dtype="float16", **how)
    assert emitters(images) == ["window-tiles"]
    assert images[0].scratch == ()


def test_images_smaller_than_their_weights() -> None:
    """The padding is that of the factor with fewer elements along the result."""
    images = check((1, 32, 5, 5), (64, 32, 3, 3), dtype="float16", pads=[1, 1, 1, 1])
    assert "mma" in emitters(images)
