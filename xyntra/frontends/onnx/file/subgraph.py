# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cuts a part out of an ONNX model, as a model of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import ml_dtypes
import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import helper, numpy_helper

from xyntra.frontends.onnx.file.tensors import MARKER_KEY
from xyntra.frontends.onnx.inputs.input_shapes import bind_inputs
from xyntra.frontends.onnx.order import node_label, sort_nodes
from xyntra.frontends.weights import WeightRef

__all__ = ["Subgraphs", "with_random_weights"]

_SEED = 20


class Subgraphs:
    """Parts of a model, by the positions of its nodes.

    What a part reads from the rest becomes an input, with the shape that onnx infers for it; what
    the rest reads becomes an output. Nodes in functions and subgraphs are not told apart.

    Args:
        skeleton: the model, as `container.scan` gives it.
        shapes: sizes of its inputs, as for `bind_inputs`.
        dims: sizes of named dimensions.

    Raises:
        ModelError: the graph has a cycle.
        InputError: `shapes` or `dims` do not fit.
        ValueError: the skeleton is no model, or onnx cannot infer its shapes.
    """

    def __init__(
        self, skeleton: bytes, shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int]
    ) -> None:
        self._model = onnx.ModelProto()
        try:
            self._model.ParseFromString(skeleton)
        except DecodeError as error:
            raise ValueError(str(error)) from None
        graph = self._model.graph
        self.nodes = sort_nodes(graph.node)
        self._initializers = {each.name: each for each in graph.initializer}
        self._sparse = {each.values.name: each for each in graph.sparse_initializer}
        inputs = [each for each in graph.input if each.name not in self._initializers]
        self._types = self._inferred(inputs, shapes, dims)
        self._returned = [each.name for each in graph.output]

    def labels(self) -> list[str]:
        """Return what messages call each node."""
        return [node_label(node) for node in self.nodes]

    def cut(self, positions: Iterable[int]) -> onnx.ModelProto | None:
        """Return the model of the nodes at `positions`.

        None where that reads a tensor of unknown shape, or gives nothing.
        """
        kept = sorted(set(positions))
        nodes = [self.nodes[position] for position in kept]
        made = {name for node in nodes for name in node.output if name}
        read = [name for node in nodes for name in _reads(node)]
        needed = [name for name in dict.fromkeys(read) if name not in made]
        free = [n for n in needed if n not in self._initializers and n not in self._sparse]
        if not all(name in self._types for name in free):
            return None
        rest = set(range(len(self.nodes))) - set(kept)
        outside = {name for position in rest for name in _reads(self.nodes[position])}
        results = [
            name
            for name in dict.fromkeys(name for node in nodes for name in node.output if name)
            if name in outside or name in self._returned or name not in read
        ]
        if not results:
            return None
        graph = helper.make_graph(
            nodes,
            self._model.graph.name or "part",
            [self._types[name] for name in free],
            [self._types.get(name, onnx.ValueInfoProto(name=name)) for name in results],
            [self._initializers[name] for name in needed if name in self._initializers],
            sparse_initializer=[self._sparse[name] for name in needed if name in self._sparse],
        )
        part = onnx.ModelProto()
        part.CopyFrom(self._model)
        part.graph.CopyFrom(graph)
        return part

    def _inferred(
        self,
        inputs: Sequence[onnx.ValueInfoProto],
        shapes: Mapping[str, Sequence[int]],
        dims: Mapping[str, int],
    ) -> dict[str, onnx.ValueInfoProto]:
        """Return the types of all values whose shape is known."""
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        bound = {each.name: each for each in bind_inputs(inputs, shapes, dims)}
        for value in model.graph.input:
            if value.name in bound:
                element = value.type.tensor_type.elem_type
                shape = bound[value.name].shape
                value.CopyFrom(helper.make_tensor_value_info(value.name, element, shape))
        del model.graph.value_info[:]
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
        try:
            model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        except onnx.shape_inference.InferenceError as error:
            raise ValueError(str(error)) from None
        graph = model.graph
        known = [*graph.input, *graph.value_info, *graph.output]
        return {value.name: value for value in known if _is_static(value)}


def with_random_weights(
    model: onnx.ModelProto, references: Mapping[str, WeightRef]
) -> onnx.ModelProto:
    """Return `model` with random numbers in the place of the weights that `scan` cut out."""
    rng = np.random.default_rng(_SEED)
    tensors = list(model.graph.initializer)
    tensors += [a.t for node in model.graph.node for a in node.attribute if a.name == "value"]
    for tensor in tensors:
        name = next((each.value for each in tensor.external_data if each.key == MARKER_KEY), None)
        if name is not None:
            reference = references[name]
            array = _random(rng, reference.dtype, reference.shape)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return model


def _random(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> np.ndarray:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu":
        return rng.integers(0, 4, shape).astype(kind)
    return (rng.standard_normal(shape) * 0.1).astype(kind)


def _reads(node: onnx.NodeProto) -> list[str]:
    """Return the names that a node reads, those in its subgraphs among them."""
    found = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            inside = {name for inner in graph.node for name in inner.output}
            inside |= {each.name for each in (*graph.input, *graph.initializer)}
            read = [name for inner in graph.node for name in _reads(inner)]
            read += [value.name for value in graph.output]
            found += [name for name in read if name not in inside]
    return found


def _is_static(value: onnx.ValueInfoProto) -> bool:
    tensor = value.type.tensor_type
    return tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim)
