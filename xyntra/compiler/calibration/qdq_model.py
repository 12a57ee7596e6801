# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes what was quantized as an ONNX model with QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, version_converter

from xyntra.compiler.calibration.search import Quantization
from xyntra.errors import UnsupportedError
from xyntra.frontends.onnx.order import node_label
from xyntra.passes.precision.quantization import FactorRange

__all__ = ["qdq_model"]

Array = np.ndarray[Any, Any]

_OPSET = 13
"""The first operator set of which scales may vary along an axis."""
_OPERATORS = ("Conv", "Gemm", "MatMul")


def qdq_model(model: onnx.ModelProto, found: Quantization) -> tuple[onnx.ModelProto, list[str]]:
    """Return a copy of `model` with quantized factors, and the nodes that this was not possible of.

    The tensor that a call multiplies goes through QuantizeLinear and DequantizeLinear, the weight
    is stored in int8 with a scale for each channel. `Conv`, `Gemm` and `MatMul` with a stored
    weight are written so.

    Args:
        model: the model that was quantized, with its weights.
        found: what was decided.

    Raises:
        UnsupportedError: the model has an operator set below 13, and cannot be converted.
    """
    return _Writer(_converted(model)).write(found)


def _converted(model: onnx.ModelProto) -> onnx.ModelProto:
    versions = {each.domain: each.version for each in model.opset_import}
    if versions.get("", _OPSET) >= _OPSET:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        return copy
    try:
        return version_converter.convert_version(model, _OPSET)
    except (RuntimeError, onnx.checker.ValidationError) as error:
        raise UnsupportedError(
            "quantized-opset",
            f"the model has operator set {versions['']}, and quantized ones need {_OPSET}",
            cause=str(error).splitlines()[0] if str(error) else None,
            hint="convert it with onnx.version_converter, and quantize that",
        ) from None


class _Writer:
    """Adds the nodes to one model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model, self.graph = model, model.graph
        self.weights = {each.name: each for each in self.graph.initializer}
        for node in self.graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
                self.weights[node.output[0]] = node.attribute[0].t
        self.names = set(self.weights) | {
            name for node in self.graph.node for name in (*node.input, *node.output)
        }
        self.activations: dict[tuple[str, FactorRange], str] = {}
        self.quantized: dict[tuple[str, int | None], str] = {}
        self.added: dict[int, list[onnx.NodeProto]] = {}

    def write(self, found: Quantization) -> tuple[onnx.ModelProto, list[str]]:
        """Return the model, and labels of nodes that stay."""
        ranges = {
            label: range_
            for nodes, range_ in zip(found.nodes, found.ranges, strict=True)
            if not range_.reason
            for label in nodes
        }
        written: set[str] = set()
        for place, node in enumerate(self.graph.node):
            label = node_label(node)
            range_ = ranges.get(label)
            if (
                range_ is not None
                and node.op_type in _OPERATORS
                and self._node(place, node, range_)
            ):
                written.add(label)
        nodes = [each for place in range(len(self.graph.node)) for each in self._with_added(place)]
        del self.graph.node[:]
        self.graph.node.extend(nodes)
        self._drop_unused()
        missing = [
            ", ".join(nodes)
            for nodes, range_ in zip(found.nodes, found.ranges, strict=True)
            if not range_.reason and not written.intersection(nodes)
        ]
        return self.model, missing

    def _with_added(self, place: int) -> Iterator[onnx.NodeProto]:
        yield from self.added.get(place, [])
        yield self.graph.node[place]

    def _node(self, place: int, node: onnx.NodeProto, range_: FactorRange) -> bool:
        """Quantize both factors of a node; False where it has no stored weight."""
        known = [node.input[i] in self.weights for i in (0, 1)]
        if known == [False, False] or all(known) or (known[0] and node.op_type != "MatMul"):
            return False
        of = known.index(True)
        name = node.input[of]
        rank = len(self.weights[name].dims)
        if self.weights[name].data_type != onnx.TensorProto.FLOAT or not rank:
            return False
        axis: int | None = 0  # of a convolution's filters
        if node.op_type == "MatMul":
            axis = None if rank < 2 else rank - 1 if of == 1 else rank - 2
        elif node.op_type == "Gemm":
            turned = next((each.i for each in node.attribute if each.name == "transB"), 0)
            axis = 0 if turned else 1
        key, new = (name, axis), self.added.setdefault(place, [])
        if key not in self.quantized:
            self.quantized[key] = self._weight(name, axis, new)
        pair = node.input[1 - of], range_
        if pair not in self.activations:
            self.activations[pair] = self._activation(*pair, new)
        node.input[of] = self.quantized[key]
        node.input[1 - of] = self.activations[pair]
        return True

    def _weight(self, name: str, axis: int | None, new: list[onnx.NodeProto]) -> str:
        array = numpy_helper.to_array(self.weights[name]).astype(np.float32)
        axes = None if axis is None else tuple(i for i in range(array.ndim) if i != axis)
        peak = np.abs(array).max(axes, keepdims=True, initial=0.0)
        scale = np.where(peak > 1e-30, peak / np.float32(127), 1).astype(np.float32)
        integers = np.clip(np.rint(array / scale), -127, 127).astype(np.int8)
        inputs = [
            self._stored(f"{name}_quantized", integers),
            self._stored(f"{name}_scale", scale.reshape(-1) if axis is not None else scale.max()),
        ]
        output = self._unique(f"{name}_dequantized")
        node = helper.make_node("DequantizeLinear", inputs, [output], name=output)
        if axis is not None:
            node.attribute.append(helper.make_attribute("axis", axis))
        new.append(node)
        return output

    def _activation(self, name: str, range_: FactorRange, new: list[onnx.NodeProto]) -> str:
        scale = self._stored(f"{name}_scale", np.float32(range_.scale))
        point = self._stored(f"{name}_zero_point", np.array(range_.point, range_.dtype))
        integers = self._unique(f"{name}_integers")
        output = self._unique(f"{name}_dequantized")
        inputs = [name, scale, point], [integers, scale, point]
        for kind, given, result in zip(
            ("QuantizeLinear", "DequantizeLinear"), inputs, (integers, output), strict=True
        ):
            new.append(helper.make_node(kind, given, [result], name=result))
        return output

    def _stored(self, name: str, array: Array | np.generic) -> str:
        unique = self._unique(name)
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(array), unique))
        return unique

    def _unique(self, name: str) -> str:
        found, number = name, 0
        while found in self.names:
            number += 1
            found = f"{name}_{number}"
        self.names.add(found)
        return found

    def _drop_unused(self) -> None:
        """Take out stored weights that nothing reads any more; subgraphs may read any."""
        if any(each.HasField("g") or each.graphs for n in self.graph.node for each in n.attribute):
            return
        read = {name for node in self.graph.node for name in node.input}
        read |= {output.name for output in self.graph.output}
        kept = [each for each in self.graph.initializer if each.name in read]
        inputs = [
            each for each in self.graph.input if each.name not in self.weights or each.name in read
        ]
        nodes = [
            node
            for node in self.graph.node
            if node.op_type != "Constant" or read.intersection(node.output)
        ]
        for field, rest in (("initializer", kept), ("input", inputs), ("node", nodes)):
            held = list(rest)
            self.graph.ClearField(field)
            getattr(self.graph, field).extend(held)
