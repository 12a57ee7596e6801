# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites an ONNX model from one floating-point type to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["narrowed", "widened"]

_CASTS = ("Cast", "EyeLike", "RandomNormal", "RandomUniform", "RandomNormalLike")
_LARGEST = 65504.0


def narrowed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with f16 in place of f32; constants beyond its range become its largest numbers."""
    return _Rewriter(TensorProto.FLOAT, TensorProto.FLOAT16, np.float16).rewrite(model)


def widened(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with f32 in place of f16."""
    return _Rewriter(TensorProto.FLOAT16, TensorProto.FLOAT, np.float32).rewrite(model)


class _Rewriter:
    def __init__(self, before: int, after: int, dtype: Any) -> None:
        self.before, self.after, self.dtype = before, after, dtype

    def rewrite(self, model: onnx.ModelProto) -> onnx.ModelProto:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        self._graph(copy.graph)
        for function in copy.functions:
            self._nodes(function.node)
            del function.value_info[:]
        return copy

    def _graph(self, graph: onnx.GraphProto) -> None:
        # Resize demands f32 for its scales, whatever it resizes.
        fixed = {name for node in graph.node if node.op_type == "Resize" for name in node.input[1:]}
        for tensor in graph.initializer:
            if tensor.name not in fixed:
                self._tensor(tensor)
        for value in [*graph.input, *graph.output]:
            kind = value.type.tensor_type
            if kind.elem_type == self.before:
                kind.elem_type = self.after
        del graph.value_info[:]
        self._nodes(graph.node, fixed)

    def _nodes(self, nodes: Any, fixed: frozenset[str] | set[str] = frozenset()) -> None:
        rewritten = [part for node in nodes for part in self._node(node, fixed)]
        del nodes[:]
        nodes.extend(rewritten)

    def _node(self, node: onnx.NodeProto, fixed: Any) -> Iterator[onnx.NodeProto]:
        if node.op_type == "Constant" and node.output[0] in fixed:
            yield node
            return
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                self._tensor(attribute.t)
            elif attribute.type == onnx.AttributeProto.GRAPH:
                self._graph(attribute.g)
            elif attribute.name in ("to", "dtype") and node.op_type in _CASTS:
                attribute.i = self.after if attribute.i == self.before else attribute.i
        if node.op_type == "Constant" and node.attribute[0].name in ("value_float", "value_floats"):
            value = helper.get_attribute_value(node.attribute[0])
            tensor = numpy_helper.from_array(np.asarray(value, np.float32))
            self._tensor(tensor)
            yield helper.make_node("Constant", [], node.output, value=tensor, name=node.name)
        elif node.op_type == "Range" and self.after == TensorProto.FLOAT16:
            yield from self._in_f32(node)
        else:
            yield node

    def _in_f32(self, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
        """The node between casts: its operator has no f16. Integers pass through f32 unharmed."""
        name = node.output[0]
        inputs = [f"{value}_{name}_f32" for value in node.input]
        for before, after in zip(node.input, inputs, strict=True):
            yield helper.make_node("Cast", [before], [after], to=TensorProto.FLOAT)
        yield helper.make_node(node.op_type, inputs, [f"{name}_f32"], name=node.name)
        yield helper.make_node("CastLike", [f"{name}_f32", node.input[0]], [name])

    def _tensor(self, tensor: TensorProto) -> None:
        if tensor.data_type != self.before:
            return
        array = numpy_helper.to_array(tensor)
        if self.dtype == np.float16:
            array = np.where(np.isinf(array), array, np.clip(array, -_LARGEST, _LARGEST))
        tensor.CopyFrom(numpy_helper.from_array(array.astype(self.dtype), tensor.name))
