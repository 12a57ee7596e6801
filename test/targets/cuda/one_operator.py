# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of one ONNX operator, compiled for GPUs and run in the emulator, which finds races."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from emulator import run_artifact
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import xyntra
from xyntra.targets.cuda.code.kernel_image import KernelImage

Array = np.ndarray[Any, Any]
_NAMES = "xyz"
_POSITIONS = ("ArgMax", "ArgMin")


def _model(operator: str, inputs: list[Array], last: Array | None, **attributes: Any) -> Any:
    """A model of one operator; `last` is a constant behind the inputs."""
    names = list(_NAMES[: len(inputs)])
    kinds = [helper.np_dtype_to_tensor_dtype(each.dtype) for each in inputs]
    values = [
        helper.make_tensor_value_info(name, kind, each.shape)
        for name, kind, each in zip(names, kinds, inputs, strict=True)
    ]
    outputs = ["a", "b"] if operator == "TopK" else ["a"]
    first = TensorProto.INT64 if operator in _POSITIONS else kinds[0]
    found = [
        helper.make_tensor_value_info(name, TensorProto.INT64 if name == "b" else first, None)
        for name in outputs
    ]
    constants = [] if last is None else [numpy_helper.from_array(last, "c")]
    nodes = [
        helper.make_node(operator, names + [each.name for each in constants], outputs, **attributes)
    ]
    graph = helper.make_graph(nodes, "graph", values, found, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def launches_of(
    operator: str,
    inputs: list[Array],
    last: Array | None = None,
    expected: list[Array] | None = None,
    **attributes: Any,
) -> list[tuple[int, int]]:
    """Compare the results with ONNX's, and return blocks and threads of all launches.

    Args:
        operator: of ONNX.
        inputs: up to three.
        last: a constant behind them.
        expected: the results, where ONNX's reference has no right ones.
        attributes: of the operator.
    """
    model = _model(operator, inputs, last, **attributes)
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    if expected is None:
        wide = [each.astype(np.float64) if each.dtype == np.float32 else each for each in inputs]
        reference = ReferenceEvaluator(_model(operator, wide, last, **attributes))
        expected = reference.run(None, dict(zip(_NAMES, wide, strict=False)))
    for found, right in zip(run_artifact(artifact, inputs, {}), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-4)
    images = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    return [(launch.grid, launch.block) for image in images for launch in image.launches]


def numbers(*shape: int) -> Array:
    """Normal numbers, always the same."""
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)
