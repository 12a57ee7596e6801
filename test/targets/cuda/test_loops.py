# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loops of any kind: what threads share of them, in the emulator, which finds races."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import xyntra
from xyntra.targets.cuda.kernel_image import KernelImage

Array = np.ndarray[Any, Any]
_NAMES = "xyz"


def _model(operator: str, inputs: list[Array], last: Array | None, **attributes: Any) -> Any:
    """A model of one operator; `last` is a constant behind the inputs."""
    names = list(_NAMES[: len(inputs)])
    kinds = [helper.np_dtype_to_tensor_dtype(each.dtype) for each in inputs]
    values = [
        helper.make_tensor_value_info(name, kind, each.shape)
        for name, kind, each in zip(names, kinds, inputs, strict=True)
    ]
    outputs = ["a", "b"] if operator == "TopK" else ["a"]
    found = [
        helper.make_tensor_value_info(name, TensorProto.INT64 if name == "b" else kinds[0], None)
        for name in outputs
    ]
    constants = [] if last is None else [numpy_helper.from_array(last, "c")]
    nodes = [
        helper.make_node(operator, names + [each.name for each in constants], outputs, **attributes)
    ]
    graph = helper.make_graph(nodes, "graph", values, found, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def _check(
    operator: str, inputs: list[Array], last: Array | None = None, **attributes: Any
) -> list[tuple[int, int]]:
    """Compare the results with ONNX's, and return blocks and threads of all launches."""
    model = _model(operator, inputs, last, **attributes)
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    wide = [each.astype(np.float64) if each.dtype == np.float32 else each for each in inputs]
    reference = ReferenceEvaluator(_model(operator, wide, last, **attributes))
    expected = reference.run(None, dict(zip(_NAMES, wide, strict=False)))
    for found, right in zip(run_artifact(artifact, inputs, {}), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-4)
    images = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    return [(launch.grid, launch.block) for image in images for launch in image.launches]


def _numbers(*shape: int) -> Array:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize(("rows", "length", "threads"), [(3, 65, 32), (1, 700, 256)])
def test_running_sums(rows: int, length: int, threads: int, exclusive: int, reverse: int) -> None:
    how = {"exclusive": exclusive, "reverse": reverse}
    launches = _check("CumSum", [_numbers(rows, length)], np.array(1), **how)
    assert launches == [(rows, threads)]


def test_running_sums_of_several_tiles() -> None:
    assert _check("CumSum", [_numbers(1, 5000)], np.array(1)) == [(1, 1024)]


def test_running_sums_of_integers() -> None:
    values = np.random.default_rng(5).integers(-(1 << 40), 1 << 40, (2, 3, 200))
    assert _check("CumSum", [values], np.array(2)) == [(6, 64)]


@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_of_columns(axis: int) -> None:
    ((_, threads),) = _check("CumSum", [_numbers(9, 7, 40)], np.array(axis))
    assert threads == 32


@pytest.mark.parametrize("count", [5, 70])
def test_best_elements(count: int) -> None:
    values = _numbers(40, 70)
    values[3, 4:9] = values[3, 20]
    launches = _check("TopK", [values], np.array([count]), axis=1)
    assert launches[-1] == (2, 32)


@pytest.mark.parametrize("axis", [0, 1])
def test_scattering(axis: int) -> None:
    values, few = _numbers(20, 30), _numbers(20, 30)[:6, :4]
    order = np.argsort(_numbers(20, 30), axis)[:6, :4]
    launches = _check("ScatterElements", [values, order, few], axis=axis)
    assert (1, 32) in launches


def test_scattering_rows() -> None:
    places = np.array([[3], [7], [0]])
    assert (1, 32) in _check("ScatterND", [_numbers(9, 20), places, _numbers(3, 20)])


def test_scattering_of_single_elements_keeps_its_order() -> None:
    places = np.array([[3, 1], [7, 2], [3, 1]])
    launches = _check("ScatterND", [_numbers(9, 20), places, _numbers(3)], reduction="add")
    assert (1, 1) in launches
