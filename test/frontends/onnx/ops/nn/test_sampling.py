# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that sample or scatter images, against onnxruntime; linear attention against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import integers, normal, positive
from harness import check_node, compare, node_model, reference, run, run_compiled
from refusals import check_invalid, check_unsupported


@pytest.mark.parametrize(
    ("image", "block", "options"),
    [
        ([5, 6], [2, 3], {}),
        ([5, 6], [2, 3], {"strides": [2, 1], "pads": [1, 0, 0, 1]}),
        ([9, 7], [3, 2], {"dilations": [2, 3], "strides": [1, 2]}),
        ([4, 3, 5], [2, 1, 3], {}),
    ],
)
def test_col2im(image: list[int], block: list[int], options: dict[str, Any]) -> None:
    rank = len(image)
    pads = options.get("pads", [0] * (2 * rank))
    blocks = 1
    for i in range(rank):
        extent = options.get("dilations", [1] * rank)[i] * (block[i] - 1) + 1
        room = image[i] + pads[i] + pads[i + rank] - extent
        blocks *= room // options.get("strides", [1] * rank)[i] + 1
    x = normal(2, 3 * int(np.prod(block)), blocks)
    constants = {"image": np.array(image), "block": np.array(block)}
    check_node("Col2Im", {"x": x}, constants=constants, **options)


def test_max_unpool_inverts_max_pool() -> None:
    x = normal(2, 3, 6, 8)
    window = {"kernel_shape": [2, 3], "strides": [2, 3], "pads": [0, 1, 0, 0]}
    largest, where = reference(node_model("MaxPool", {"x": x}, outputs=2, **window), {"x": x})
    del window["pads"]
    check_node("MaxUnpool", {"y": largest, "i": where}, **window, opset=11)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("samples", [1, 3])
def test_roi_align(aligned: bool, samples: int) -> None:
    corners = 4 * positive(5, 2)
    rois = np.concatenate([corners - 2, corners + 3 * positive(5, 2, seed=1)], 1)
    inputs = {"x": normal(3, 2, 9, 8), "rois": rois, "batch": integers(0, 3, 5)}
    options = {"output_height": 2, "output_width": 3, "sampling_ratio": samples}
    mode = "half_pixel" if aligned else "output_half_pixel"
    options |= {"coordinate_transformation_mode": mode, "spatial_scale": 0.8}
    check_node("RoiAlign", inputs, **options, rtol=1e-4)


def test_an_adaptive_number_of_samples_is_unsupported() -> None:
    inputs = {"x": normal(1, 1, 4, 4), "rois": positive(2, 4), "batch": integers(0, 1, 2)}
    check_unsupported("RoiAlign", inputs, "sampling_ratio 0")


@pytest.mark.parametrize("groups", [1, 2])
def test_deform_conv_without_offsets_is_a_convolution(groups: int) -> None:
    x, w = normal(2, 4, 6, 7), normal(6, 4 // groups, 3, 2, seed=1)
    options = {"group": groups, "strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 0, 1]}
    inputs = {"x": x, "w": w}
    wanted = reference(node_model("Conv", inputs, **options), inputs)
    inputs["offset"] = np.zeros((2, 2 * 3 * 2 * 2, *wanted[0].shape[2:]), np.float32)
    found = run(node_model("DeformConv", inputs, offset_group=2, **options), inputs)
    compare(found, wanted, 1e-4, 1e-5)


def test_linear_attention_follows_its_recurrence() -> None:
    batch, steps, heads, groups, size, width = 2, 3, 4, 2, 5, 6
    inputs = {
        "q": normal(batch, steps, heads * size),
        "k": normal(batch, steps, groups * size, seed=1) / 3,
        "v": normal(batch, steps, groups * width, seed=2),
        "s": normal(batch, groups, size, width, seed=3),
        "g": -positive(batch, steps, groups, seed=4),
        "b": positive(batch, steps, groups, seed=5),
    }
    options = {"q_num_heads": heads, "kv_num_heads": groups, "outputs": 2, "opset": 27}
    found = run(node_model("LinearAttention", inputs, **options), inputs)
    q = inputs["q"].reshape(batch, steps, groups, 2, size)
    k, v = (inputs[n].reshape(batch, steps, groups, -1) for n in "kv")
    state, outputs = inputs["s"], []
    for t in range(steps):
        state = state * np.exp(inputs["g"])[:, t, :, None, None]
        error = v[:, t] - np.einsum("bgkv,bgk->bgv", state, k[:, t])
        state = state + np.einsum("bgk,bgv->bgkv", k[:, t], inputs["b"][:, t, :, None] * error)
        outputs.append(np.einsum("bgrk,bgkv->bgrv", q[:, t], state) / np.sqrt(np.float32(size)))
    compare(found, [np.stack(outputs, 1).reshape(batch, steps, -1), state], 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("op", "inputs", "options", "message"),
    [
        (
            "MaxUnpool",
            {"x": normal(1, 1, 2), "i": integers(0, 4, 1, 1, 3)},
            {"kernel_shape": [2]},
            "fit",
        ),
        (
            "DeformConv",
            {"x": normal(1, 1, 3, 3), "w": normal(1, 1, 2, 2), "o": normal(1, 2, 2, 2)},
            {},
            "offset",
        ),
        (
            "LinearAttention",
            {"q": normal(1, 2, 4), "k": normal(1, 2, 4), "v": normal(1, 2, 4)},
            {"q_num_heads": 2, "kv_num_heads": 2, "opset": 27},
            "needs input decay",
        ),
    ],
)
def test_invalid(
    op: str, inputs: dict[str, np.ndarray], options: dict[str, Any], message: str
) -> None:
    options = {"opset": 22} | options
    check_invalid(op, inputs, message, **options)


def test_max_unpool_of_one_element() -> None:
    inputs = {"x": normal(1, 1, 1, 1), "i": np.full((1, 1, 1, 1), 3)}
    (found,) = run_compiled(node_model("MaxUnpool", inputs, kernel_shape=[2, 2]), inputs)
    np.testing.assert_array_equal(found.reshape(-1), [0, 0, 0, inputs["x"].item()])
