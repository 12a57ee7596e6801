# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pooling on GPUs: one launch, whole vectors, no padded copy of the image."""

from __future__ import annotations

import re

import numpy as np
import pytest
from gpu_code import assemble, compiled
from one_operator import launches_of, numbers
from onnx import TensorProto, helper

import xyntra
from xyntra.targets.cuda.code.kernel_image import KernelImage

POOLING = """
func.func @k(%x: tensor<2x{height}x9x{channels}xf16>) -> tensor<2x4x5x{channels}xf16> {{
  %low = arith.constant 0xFC00 : f16
  %y = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {{
  ^bb0(%n: index, %i: index, %j: index, %c: index):
    tensor.yield {outside} : f16
  }} : tensor<2x{height}x9x{channels}xf16> to tensor<2x{padded}x11x{channels}xf16>
  %window = tensor.empty() : tensor<3x3xf16>
  %e = tensor.empty() : tensor<2x4x5x{channels}xf16>
  %f = linalg.fill ins(%low : f16) outs(%e : tensor<2x4x5x{channels}xf16>)
    -> tensor<2x4x5x{channels}xf16>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(n, h, w, c, i, j) -> (n, h * 2 + i, w * 2 + j, c)>,
                     affine_map<(n, h, w, c, i, j) -> (i, j)>,
                     affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}}
    ins(%y, %window : tensor<2x{padded}x11x{channels}xf16>, tensor<3x3xf16>)
    outs(%f : tensor<2x4x5x{channels}xf16>) {{
  ^bb0(%u: f16, %v: f16, %o: f16):
    %m = arith.maximumf %o, %u : f16
    linalg.yield %m : f16
  }} -> tensor<2x4x5x{channels}xf16>
  return %r : tensor<2x4x5x{channels}xf16>
}}"""


def pooling(channels: int, outside: str = "%low") -> str:
    return POOLING.format(height=7, padded=9, channels=channels, outside=outside)


def test_a_padded_image_is_read_around_its_padding(tmp_path):
    image = compiled(pooling(16))
    (launch,) = image.launches
    assert launch.grid * launch.block >= 2 * 4 * 5 * 16 // 8
    assert image.scratch == ()
    assert len(re.findall(r"ld\.global\S*\.v4\.b32", image.ptx)) == 9
    assert "max.NaN.f16x2" in image.ptx
    report = assemble(image, "sm_90a", tmp_path)
    assert set(re.findall(r"(\d+) bytes spill", report)) == {"0"}


@pytest.mark.parametrize("channels", [12, 13])
def test_channels_that_are_no_multiple_of_a_vector_need_no_padded_copy(channels):
    image = compiled(pooling(channels))
    assert len(image.launches) == 1
    assert image.scratch == ()


@pytest.mark.parametrize(
    ("operator", "how"),
    [
        ("MaxPool", {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ("MaxPool", {"kernel_shape": [2, 2]}),
        ("AveragePool", {"pads": [1, 0, 1, 2]}),
        ("AveragePool", {"pads": [1, 1, 1, 1], "strides": [1, 2], "dilations": [2, 1]}),
        ("LpPool", {"pads": [1, 1, 1, 1]}),
    ],
)
def test_images_with_channels_first(operator, how):
    how = {"kernel_shape": [3, 3], "strides": [1, 1], **how}
    assert len(launches_of(operator, [numbers(2, 5, 13, 15)], **how)) == 1


def maxima(values, kernel, pads):
    """Maxima over windows at every position."""
    wide = np.pad(values, [(0, 0), (0, 0), *pads], constant_values=-np.inf)
    axes = tuple(range(2, values.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axes)
    return windows.max(tuple(each + len(axes) for each in axes))


def test_maxima_of_special_values():
    values = numbers(2, 5, 12, 14)
    values[0, 0, 2, 3], values[0, 1, 0, 0], values[1, 2, 1, 1] = np.nan, -np.inf, np.inf
    values[1, 4] = -np.inf
    right = [maxima(values, (3, 3), [(1, 1), (1, 1)])]
    how = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    assert len(launches_of("MaxPool", [values], expected=right, **how)) == 1


@pytest.mark.parametrize("outputs", [5, 10])
def test_convolutions_of_each_channel_by_itself(outputs):
    weights = numbers(outputs, 1, 3, 3)
    how = {"group": 5, "pads": [1, 1, 1, 1], "strides": [1, 2], "dilations": [2, 1]}
    assert len(launches_of("Conv", [numbers(2, 5, 13, 15)], weights, **how)) == 1


def test_of_two_neighbours_one_may_read_the_padding():
    weights = numbers(6, 1, 1, 3)
    how = {"group": 6, "pads": [0, 2, 0, 1], "strides": [2, 1], "dilations": [1, 2]}
    assert len(launches_of("Conv", [numbers(2, 6, 12, 23)], weights, **how)) == 1


def test_volumes_and_sequences():
    volume = numbers(2, 3, 7, 8, 9)
    right = [maxima(volume, (2, 2, 2), [(0, 0), (1, 1), (0, 1)])]
    how = {"kernel_shape": [2, 2, 2], "pads": [0, 1, 0, 0, 1, 1]}
    assert len(launches_of("MaxPool", [volume], expected=right, **how)) == 1
    how = {"kernel_shape": [3], "pads": [1, 1]}
    sequence = numbers(3, 4, 37)
    right = [maxima(sequence, (3,), [(1, 1)])]
    assert len(launches_of("MaxPool", [sequence], expected=right, **how)) == 1


@pytest.mark.parametrize(
    ("shape", "kernel", "pads"),
    [((2, 5, 12, 14), [2, 2], [1, 1, 1, 1]), ((2, 3, 12, 14), [4, 2], [2, 1, 2, 1])],
)
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_padding_around_windows_that_do_not_overlap_is_not_made(operator, shape, kernel, pads):
    """Rows of windows follow each other from one channel to the next, as one loop."""
    how = {"kernel_shape": kernel, "strides": kernel, "pads": pads}
    assert len(launches_of(operator, [numbers(*shape)], **how)) == 1


def test_large_images_with_channels_first_are_pooled_in_tiles():
    """A thread that reads its window from the cache has no vectors there."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16, (16, 96, 64, 64))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)
    how = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    graph = helper.make_graph([helper.make_node("AveragePool", ["x"], ["y"], **how)], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    images = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    (launch,) = [each for image in images for each in image.launches]
    assert launch.schedule.startswith("window-tiles")
