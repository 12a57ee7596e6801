# SPDX-License-Identifier: MIT OR Apache-2.0
"""Single operators and whole models through onnx's reference and onnxruntime."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from verify.random_graphs.dtypes import DTYPES, FLOATS, native

__all__ = ["accepted", "onnx_node", "onnxruntime_model", "onnxruntime_node"]

_KEPT = 256
"""Sessions and evaluators of single nodes that are kept for further runs."""


def onnx_node(
    node: onnx.NodeProto,
    arrays: Sequence[np.ndarray | None],
    elems: Sequence[int | None],
    version: int,
) -> list[np.ndarray | None]:
    """The results of onnx's reference implementation for floats of 64 bits."""
    kinds = tuple(
        None if elem is None else TensorProto.DOUBLE if elem in FLOATS else elem for elem in elems
    )
    evaluator = _evaluator(_bare(node), kinds, version)
    feeds = {f"i{i}": array for i, array in enumerate(arrays) if array is not None}
    return _in_place(node, evaluator.run(None, feeds))


def onnxruntime_node(
    node: onnx.NodeProto,
    arrays: Sequence[np.ndarray | None],
    elems: Sequence[int | None],
    opsets: Mapping[str, int],
) -> list[np.ndarray | None]:
    """The results of onnxruntime's kernel for inputs of the model's types."""
    session = _session(_bare(node), tuple(elems), min(opsets.get("", 21), 21))
    feeds = {
        f"i{i}": native(array, elem)
        for i, (array, elem) in enumerate(zip(arrays, elems, strict=True))
        if array is not None
    }
    return _in_place(node, session.run(None, feeds))


def onnxruntime_model(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], *, optimized: bool = False
) -> dict[str, np.ndarray]:
    """The outputs of a model in onnxruntime.

    Raises:
        Exception: onnxruntime refuses the model or its inputs.
    """
    import onnxruntime as ort

    session = _new_session(model.SerializeToString(), optimized)
    names = [each.name for each in session.get_outputs()]
    if any(array.dtype == DTYPES[TensorProto.BFLOAT16] for array in inputs.values()):
        feeds: dict[str, Any] = {
            name: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
                np.ascontiguousarray(array).view(np.uint16), TensorProto.BFLOAT16
            )
            if array.dtype == DTYPES[TensorProto.BFLOAT16]
            else ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
            for name, array in inputs.items()
        }
        found = [each.numpy() for each in session.run_with_ort_values(names, feeds)]
    else:
        found = session.run(names, dict(inputs))
    return dict(zip(names, found, strict=True))


def accepted(model: onnx.ModelProto) -> str:
    """An empty text where onnx's full checker and onnxruntime load a model, else their words."""
    try:
        onnx.checker.check_model(model, full_check=True)
        _new_session(model.SerializeToString(), False)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error):
            return ""  # a type that has no kernel there
        return f"{type(error).__name__}: {error}"
    return ""


def _bare(node: onnx.NodeProto) -> bytes:
    """The node with inputs i0, i1, … and outputs o0, o1, …, serialized."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.name = ""
    for position, name in enumerate(node.input):
        copy.input[position] = f"i{position}" if name else ""
    for position, name in enumerate(node.output):
        copy.output[position] = f"o{position}" if name else ""
    return bytes(copy.SerializeToString(deterministic=True))


def _in_place(node: onnx.NodeProto, found: Sequence[Any]) -> list[np.ndarray | None]:
    rest = iter(found)
    return [np.asarray(next(rest)) if name else None for name in node.output]


def _model(
    serialized: bytes, elems: Sequence[int | None], opsets: Mapping[str, int]
) -> onnx.ModelProto:
    node = onnx.NodeProto.FromString(serialized)
    inputs = [
        helper.make_tensor_value_info(f"i{i}", elem, None)
        for i, elem in enumerate(elems)
        if elem is not None
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, outputs)
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


@functools.lru_cache(_KEPT)
def _evaluator(serialized: bytes, elems: tuple[int | None, ...], version: int) -> Any:
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(_model(serialized, elems, {"": version}))


@functools.lru_cache(_KEPT)
def _session(serialized: bytes, elems: tuple[int | None, ...], version: int) -> Any:
    model = _model(serialized, elems, {"": version, "com.microsoft": 1})
    return _new_session(model.SerializeToString(), False)


def _new_session(serialized: bytes, optimized: bool) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
    return ort.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])
