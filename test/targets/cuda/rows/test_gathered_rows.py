# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows at places that data names, with arithmetic on them, in the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import run_artifact
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import xyntra
from xyntra.targets.cuda.code.kernel_image import KernelImage


@pytest.mark.parametrize(
    ("table", "axis", "places", "dtype", "lanes"),
    [
        ((50, 304), 0, (70,), np.float16, 8),
        ((50, 300), 0, (70,), np.float16, 4),
        ((50, 64), 0, (3, 17), np.float32, 4),
        ((3, 40, 16), 1, (9,), np.float32, 4),
        ((2, 3, 20, 24), 2, (5, 3), np.float16, 8),
        ((50, 33), 0, (70,), np.float32, 1),
        ((50, 6), 0, (11,), np.float32, 2),
    ],
)
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_rows_are_loaded_by_vectors(table, axis, places, dtype, lanes, kind):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(table).astype(dtype)
    # Negative places count from the end.
    at = rng.integers(-table[axis], table[axis], places).astype(kind)
    shape = (*table[:axis], *places, *table[axis + 1 :])
    y = rng.standard_normal(shape).astype(dtype)
    values = {"x": x, "at": at, "y": y}
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in values.items()
    ]
    result = helper.make_tensor_value_info("r", infos[0].type.tensor_type.elem_type, shape)
    nodes = [
        helper.make_node("Gather", ["x", "at"], ["g"], axis=axis),
        helper.make_node("Mul", ["g", "y"], ["r"]),
    ]
    graph = helper.make_graph(nodes, "graph", infos, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    (found,) = run_artifact(artifact, list(values.values()), {})
    (wanted,) = ReferenceEvaluator(model).run(None, values)
    np.testing.assert_array_equal(found, wanted)
    (image,) = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    (launch,) = image.launches
    assert (f"vector {lanes}" in launch.schedule) == (lanes > 1)


def test_rows_that_are_not_there_are_no_numbers():
    x = np.ones((10, 16), np.float32)
    at = np.array([0, 10, -11, 9, -10, 2**31], np.int64)
    infos = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape),
        helper.make_tensor_value_info("at", TensorProto.INT64, at.shape),
    ]
    result = helper.make_tensor_value_info("r", TensorProto.FLOAT, (6, 16))
    nodes = [
        helper.make_node("Gather", ["x", "at"], ["g"]),
        helper.make_node("Exp", ["g"], ["r"]),
    ]
    graph = helper.make_graph(nodes, "graph", infos, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    (found,) = run_artifact(artifact, [x, at], {})
    is_there = (at >= -10) & (at < 10)
    np.testing.assert_allclose(found[is_there], np.e, rtol=1e-6)
    assert np.isnan(found[~is_there]).all()
