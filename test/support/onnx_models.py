# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small ONNX models for the tests of the whole compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

Shapes = Mapping[str, Sequence[int | str | None] | None]
Node = tuple[str, Sequence[str], Sequence[str]] | NodeProto

FLOAT = TensorProto.FLOAT


def make_model(
    nodes: Sequence[Node],
    inputs: Shapes,
    outputs: Sequence[str],
    weights: Mapping[str, np.ndarray] | None = None,
    *,
    dtype: int = FLOAT,
    opset: int = 20,
    **fields: Any,
) -> onnx.ModelProto:
    """A model of `nodes`, each a NodeProto or (operator, inputs, outputs).

    Args:
        nodes: the operations in order.
        inputs: shape of each input by name.
        outputs: names of the outputs; their types are left open.
        weights: initializers by name.
        dtype: element type of every input.
        opset: version of the default domain.
        fields: further fields of the graph, such as sparse_initializer.
    """
    graph = helper.make_graph(
        [node if isinstance(node, NodeProto) else helper.make_node(*node) for node in nodes],
        "graph",
        [helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
        **fields,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def chain() -> onnx.ModelProto:
    """relu(x + y) * 2: one kernel when fused, three when not."""
    nodes = [("Add", ["x", "y"], ["s"]), ("Relu", ["s"], ["r"]), ("Mul", ["r", "two"], ["z"])]
    weights = {"two": np.array(2, np.float32)}
    return make_model(nodes, {"x": [2, 3], "y": [2, 3]}, ["z"], weights)


def mlp() -> onnx.ModelProto:
    """relu(x @ w + b): `w` is above the size from which weights leave the model."""
    generator = np.random.default_rng(0)
    weights = {
        "w": generator.standard_normal((32, 16), np.float32),
        "b": generator.standard_normal(16, np.float32),
    }
    nodes = [("MatMul", ["x", "w"], ["p"]), ("Add", ["p", "b"], ["s"]), ("Relu", ["s"], ["y"])]
    return make_model(nodes, {"x": [4, 32]}, ["y"], weights)


def mlp_reference(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    """What `mlp` computes, in numpy's double precision."""
    w, b = (numpy_helper.to_array(tensor).astype(float) for tensor in model.graph.initializer)
    return np.maximum(x.astype(float) @ w + b, 0)
