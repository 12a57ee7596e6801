# SPDX-License-Identifier: MIT OR Apache-2.0
"""Constant indices at even distances become accesses that are linear in their loops."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import xyntra
from xyntra.errors import ModelError
from xyntra.frontends.onnx.file.container import scan
from xyntra.frontends.onnx.file.patterns import EvenValues, pattern_of


def _grid(shape: tuple[int, ...], first: int, steps: tuple[int, ...]) -> np.ndarray:
    return first + np.tensordot(steps, np.indices(shape), axes=1)


def _gathering(indices: np.ndarray, shape: tuple[int, ...], axis: int) -> bytes:
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    made = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    node = helper.make_node("Gather", ["x", "w"], ["y"], axis=axis)
    graph = helper.make_graph([node], "g", [given], [made], [numpy_helper.from_array(indices, "w")])
    opset = helper.make_opsetid("", 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()


def _stated(indices: np.ndarray) -> EvenValues | None:
    """What the importer is told of a weight."""
    model = onnx.load_from_string(scan(_gathering(indices, (4096,), 0)).skeleton)
    texts = {entry.key: entry.value for entry in model.graph.initializer[0].external_data}
    found = pattern_of(texts["xyntra.pattern"]) if "xyntra.pattern" in texts else None
    return found if isinstance(found, EvenValues) else None


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("shape", "first", "steps"),
    [((300,), 5, (2,)), ((20, 40), 0, (16, 1)), ((3, 1, 200), 7, (9, 0, -1)), ((9, 70), 1, (0, 3))],
)
def test_even_distances_are_found(
    dtype: type[np.generic], shape: tuple[int, ...], first: int, steps: tuple[int, ...]
) -> None:
    weight = _grid(shape, first, steps).astype(dtype)
    assert _stated(weight) == EvenValues(first, steps)
    weight.flat[-3] += 1
    assert _stated(weight) is None


CASES = {
    "frames that overlap": ((2, 160), 1, _grid((13, 40), 0, (10, 1))),
    "frames apart": ((700,), 0, _grid((9, 40), 3, (77, 1))),
    "every third element": ((700, 3), 0, _grid((5, 40), 1, (130, 3))),
    "of a dimension in the middle": ((2, 90, 3), 1, _grid((4, 5, 8), 0, (17, 3, 1))),
    "rows again": ((3, 64), 1, _grid((40, 7), 4, (0, 1))),
    "the first rows, again and again": ((24, 8), 0, _grid((40, 5), 0, (0, 1))),
    "rows, each again": ((24, 8), 0, _grid((5, 40), 0, (1, 0))),
    "one row alone": ((24, 8), 0, _grid((5, 40), 0, (0, 0))),
    "with a size of one": ((2, 512), 1, _grid((9, 1, 40), 11, (16, 0, 1))),
    "counted from the end": ((512,), 0, _grid((8, 40), -400, (30, 1))),
    "small": ((2, 16), 1, _grid((3, 4), 0, (3, 1))),
    "of 32 bits": ((160,), 0, _grid((13, 40), 0, (10, 1)).astype(np.int32)),
    "backwards": ((512,), 0, _grid((8, 40), 60, (40, -1))),
    "uneven": ((512,), 0, np.random.default_rng(3).integers(0, 512, (8, 40))),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_gathered(name: str) -> None:
    shape, axis, indices = CASES[name]
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    executable = xyntra.compile(_gathering(indices, shape, axis))
    np.testing.assert_array_equal(executable(x), np.take(x, indices, axis))
    (kernel,) = executable.kernels
    is_looked_up = "tensor.extract %" in kernel.text
    assert is_looked_up == (name in ("backwards", "uneven", "one row alone"))
    assert bool(executable.weights) == (name in ("uneven", "one row alone"))


def test_indices_that_others_read_stay_a_weight() -> None:
    indices = _grid((8, 40), 0, (40, 1))
    model = onnx.load_from_string(_gathering(indices, (512,), 0))
    model.graph.node.append(helper.make_node("Identity", ["w"], ["z"]))
    model.graph.output.append(helper.make_tensor_value_info("z", onnx.TensorProto.INT64, None))
    executable = xyntra.compile(model.SerializeToString())
    x = np.arange(512, dtype=np.float32)
    found, same = executable(x)
    np.testing.assert_array_equal(found, x[indices])
    np.testing.assert_array_equal(same, indices)


def test_indices_out_of_range_are_refused() -> None:
    with pytest.raises(ModelError, match="index 512 is out of range"):
        xyntra.compile(_gathering(_grid((8, 40), 200, (40, 1)), (512,), 0))
