# SPDX-License-Identifier: MIT OR Apache-2.0
"""Images of any size that is a multiple: convolutions with strides, pooling, enlargement."""

from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError, UnsupportedError
from xyntra.executable import Executable

DIMS = {"b": range(1, 5), "h": range(8, 161, 8), "w": range(8, 161, 8)}


def _weights(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(seed).standard_normal(shape)
    return np.asarray(values / np.sqrt(np.prod(shape[1:])), np.float32)


def _detector() -> onnx.ModelProto:
    """Two levels of features, the smaller one enlarged and put beside the larger one."""
    op = onnx.helper.make_node
    same: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1] * 4}
    nodes = [
        op("Conv", ["x", "w1"], ["a"], strides=[2, 2], **same),
        op("Relu", ["a"], ["b"]),
        op("Conv", ["b", "w2"], ["c"], strides=[2, 2], **same),
        op("MaxPool", ["c"], ["d"], **same),
        op("Resize", ["d", "", "scales"], ["e"], mode="nearest"),
        op("Concat", ["e", "b"], ["f"], axis=1),
        op("Conv", ["f", "w3"], ["g"], **same),
        op("Reshape", ["g", "shape"], ["y"]),
    ]
    held = {
        "w1": _weights(1, 16, 3, 3, 3),
        "w2": _weights(2, 16, 16, 3, 3),
        "w3": _weights(3, 8, 32, 3, 3),
        "scales": np.array([1, 1, 2, 2], np.float32),
        "shape": np.array([0, 8, -1]),
    }
    model: onnx.ModelProto = make_model(nodes, {"x": ["b", 3, "h", "w"]}, ["y"], held)
    return model


@pytest.fixture(scope="module")
def detector() -> Executable:
    settings = {"cache": False, "strict": True}
    return xyntra.compile(_detector(), target="cpu", dims=DIMS, config=settings)


@pytest.mark.parametrize("sizes", [(1, 8, 8), (3, 24, 72), (1, 160, 160), (4, 8, 104)])
def test_images_of_all_sizes(detector: Executable, sizes: tuple[int, int, int]) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(_detector().SerializeToString())
    batch, height, width = sizes
    x = np.random.default_rng(width).standard_normal((batch, 3, height, width), np.float32)
    (expected,) = session.run(None, {"x": x})
    np.testing.assert_allclose(detector(x), expected, rtol=1e-4, atol=1e-5)


def test_sizes_between_the_steps_are_refused(detector: Executable) -> None:
    with pytest.raises(InputError, match="h = 12 is not in its range, 8 to 160 in steps of 8"):
        detector(np.zeros((1, 3, 12, 8), np.float32))
    assert "h: 8 to 160 in steps of 8" in detector.explain()
    assert "(b, 3, h, w)" in repr(detector)


def test_a_range_without_steps_is_told_which_ones_divide_evenly() -> None:
    node = onnx.helper.make_node
    weights = np.ones((4, 3, 3), np.float32)
    conv = node("Conv", ["x", "w"], ["y"], strides=[8], pads=[1, 1])
    model = make_model([conv], {"x": [1, 3, "width"]}, ["y"], {"w": weights})
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(
            model, target="cpu", dims={"width": range(30, 1025)}, config={"cache": False}
        )
    wanted = "give sizes that divide evenly: dims={'width': range(32, 1025, 8)}"
    assert caught.value.hint == wanted
    exe = xyntra.compile(model, dims={"width": range(32, 1025, 8)}, config={"cache": False})
    x = np.ones((1, 3, 64), np.float32)
    np.testing.assert_allclose(exe(x)[0, 0], [6, *[9] * 7])


def test_images_of_any_size_are_interpolated() -> None:
    op = onnx.helper.make_node
    nodes = [
        op("Resize", ["x", "", "twice"], ["a"], mode="linear"),
        op("Resize", ["x", "", "half"], ["b"], mode="cubic", antialias=1),
        op("Resize", ["x", "", "more"], ["c"], mode="nearest", nearest_mode="floor"),
    ]
    scales = {"twice": [1, 1, 2, 3], "half": [1, 1, 0.5, 1], "more": [1, 1, 1.5, 0.25]}
    held = {name: np.array(each, np.float32) for name, each in scales.items()}
    model = make_model(nodes, {"x": [1, 2, "h", "w"]}, ["a", "b", "c"], held)
    dims = {"h": range(8, 81, 8), "w": range(8, 81, 8)}
    exe = xyntra.compile(model, target="cpu", dims=dims, config={"cache": False, "strict": True})
    for height, width in ((8, 16), (24, 8)):
        x = np.random.default_rng(height).standard_normal((1, 2, height, width)).astype(np.float32)
        wanted = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})
        for found, each in zip(exe(x), wanted, strict=True):
            np.testing.assert_allclose(found, each, rtol=1e-4, atol=1e-5)
