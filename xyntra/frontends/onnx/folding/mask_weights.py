# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes weights that are masks of positions, or positions, instead of reading them.

Exporters fold causal masks, or the ones that these are cut from, into weights, and modules keep
them as buffers. As a parameter a mask would hide that it depends on positions alone. Weights of
equal elements of which something else is made, such as the scales of a norm that was not trained,
stay parameters: kernels do not depend on their values. Positions at even distances, by which a
signal is cut into frames, are arithmetic for those who read there.
"""

from __future__ import annotations

import numpy as np
import onnx

from xyntra.dialects.builder import Operand, Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.file.patterns import Pattern, TriangularValues, pattern_of
from xyntra.frontends.onnx.file.tensors import MARKER_KEY, PATTERN_KEY
from xyntra.frontends.onnx.order import names_read
from xyntra.frontends.weight_types import dtype_of

__all__ = ["MaskWeights"]

_MASKS = frozenset(
    "Trilu Where Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor Not".split()
)
_PASSED_ON = frozenset(
    "Cast Identity Expand Reshape Unsqueeze Squeeze Transpose Slice Tile".split()
)
_Readers = dict[str, list[onnx.NodeProto]]


class MaskWeights:
    """The weights of a model whose values the importer knows, by their names as parameters."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        named = [(str(each.name), each) for each in graph.initializer]
        named += [
            (node.output[0], attribute.t)
            for node in graph.node
            if node.op_type == "Constant"
            for attribute in node.attribute
            if attribute.name == "value"
        ]
        found = [(name, tensor) for name, tensor in named if PATTERN_KEY in _entries(tensor)]
        readers: _Readers = {}
        for node in graph.node if found else ():
            for name in names_read(node):
                readers.setdefault(name, []).append(node)
        outputs = {str(value.name) for value in graph.output}
        self._tensors = {
            _entries(tensor)[MARKER_KEY]: tensor
            for name, tensor in found
            if _is_wanted(name, _pattern(tensor), readers, outputs)
        }

    def __contains__(self, weight: str) -> bool:
        return weight in self._tensors

    def tensor(self, weight: str, b: TensorBuilder) -> Operand:
        """Return one of the weights, computed by the program; positions as an array."""
        tensor = self._tensors[weight]
        shape, rank = list(tensor.dims), len(tensor.dims)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).name
        pattern = _pattern(tensor)
        if not isinstance(pattern, TriangularValues):
            places = np.meshgrid(*map(np.arange, shape), indexing="ij", sparse=True)
            steps = zip(places, pattern.steps, strict=True)
            values = pattern.first + sum(place * step for place, step in steps)
            return np.asarray(values).astype(dtype)
        lower, upper = (
            np.frombuffer(each, dtype_of(dtype))[0].item()
            for each in (pattern.lower, pattern.upper)
        )
        if pattern.is_uniform:
            return Tensor(b.fill(shape, dtype, lower), dtype)

        def body() -> Scalar:
            row, column = (b.index(d).cast("int64") for d in (rank - 2, rank - 1))
            is_lower = column - row <= pattern.diagonal
            return is_lower.select(constant(lower, dtype), constant(upper, dtype))

        return b.map(body, dtype=dtype, shape=shape)


def _entries(tensor: onnx.TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _pattern(tensor: onnx.TensorProto) -> Pattern:
    return pattern_of(_entries(tensor)[PATTERN_KEY])


def _is_wanted(name: str, pattern: Pattern, readers: _Readers, outputs: set[str]) -> bool:
    """Tell whether a weight should be computed, by who reads it."""
    if isinstance(pattern, TriangularValues):
        return _only_masks_read(name, readers, outputs, _kinds(pattern))
    found = readers.get(name, [])
    return name not in outputs and all(
        node.op_type == "Gather" and not node.domain and list(node.input).index(name) == 1
        for node in found
    )


def _kinds(pattern: TriangularValues) -> frozenset[str]:
    """The operators that make masks of it; triangles are masks that may be added to scores."""
    return _MASKS if pattern.is_uniform else _MASKS | {"Add"}


def _only_masks_read(
    name: str, readers: _Readers, outputs: set[str], kinds: frozenset[str]
) -> bool:
    """Whether all readers are of these kinds, maybe once it has another type or shape."""
    waiting, seen = [name], {name}
    while waiting:
        name = waiting.pop()
        if name in outputs or name not in readers:
            return False
        for node in readers[name]:
            if node.domain not in ("", "ai.onnx"):
                return False
            if node.op_type in _PASSED_ON and node.input[0] == name:
                new = set(node.output) - seen
                seen |= new
                waiting += new
            elif node.op_type not in kinds:
                return False
    return True
