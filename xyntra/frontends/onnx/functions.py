# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions: those of a model, and the bodies that ONNX itself defines for some operators."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import onnx

from xyntra.frontends.onnx.values import Absent, Result, Sized, TensorSequence
from xyntra.frontends.weight_types import dtype_of


@contextmanager
def deep_recursion(calls: int) -> Iterator[None]:
    """Allow at least so many calls of Python's in each other, as nested functions take."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, calls))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def schema_function(
    node: onnx.NodeProto, domain: str, opset: int, operands: Sequence[Result]
) -> onnx.FunctionProto | None:
    """The function body that ONNX defines for a node, or None.

    Args:
        node: the node; some bodies depend on its attributes.
        domain: operator set of the node.
        opset: version of that operator set.
        operands: the node's inputs; some bodies depend on their dtypes.
    """
    try:
        schema: Any = onnx.defs.get_schema(node.op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None
    version = _newest(schema.function_opset_versions, opset)
    if version is not None:
        serialized = schema.get_function_with_opset_version(version)
    else:
        version = _newest(schema.context_dependent_function_opset_versions, opset)
        if version is None:
            return None
        types = [type_of(operand).SerializeToString() for operand in operands]
        serialized = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), types
        )
    function = onnx.FunctionProto()
    function.ParseFromString(serialized)
    defaults = (attribute.default_value for attribute in schema.attributes.values())
    function.attribute_proto.extend(value for value in defaults if value.name)
    return function


def bound_nodes(function: onnx.FunctionProto, caller: onnx.NodeProto) -> list[onnx.NodeProto]:
    """The nodes of `function` with the attributes of the node that calls it put in."""
    values = {value.name: value for value in function.attribute_proto}
    values |= {value.name: value for value in caller.attribute}
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in function.node]
    for node in nodes:
        _bind(node, values)
    return nodes


def _bind(node: onnx.NodeProto, values: dict[str, onnx.AttributeProto]) -> None:
    attributes = list(_resolved(node.attribute, values))
    del node.attribute[:]
    node.attribute.extend(attributes)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                _bind(inner, values)


def _resolved(
    attributes: Iterable[onnx.AttributeProto], values: dict[str, onnx.AttributeProto]
) -> Iterable[onnx.AttributeProto]:
    for attribute in attributes:
        if not attribute.ref_attr_name:
            yield attribute
        elif attribute.ref_attr_name in values:
            value = onnx.AttributeProto()
            value.CopyFrom(values[attribute.ref_attr_name])
            value.name = attribute.name
            yield value


def _newest(versions: Sequence[int], opset: int) -> int | None:
    return max((version for version in versions if version <= opset), default=None)


def type_of(operand: Result) -> onnx.TypeProto:
    """Return the ONNX type of an operand; that of nothing where it is left out."""
    if operand is None or isinstance(operand, Absent):
        return onnx.TypeProto()
    if isinstance(operand, TensorSequence):
        kind = onnx.helper.np_dtype_to_tensor_dtype(dtype_of(operand.element))
        tensor = onnx.helper.make_tensor_type_proto(kind, None)
        return onnx.helper.make_sequence_type_proto(tensor)
    if isinstance(operand, Sized):
        kind = onnx.helper.np_dtype_to_tensor_dtype(dtype_of(operand.dtype))
        sizes = [None if d in operand.sizes else n for d, n in enumerate(operand.largest)]
        return onnx.helper.make_tensor_type_proto(kind, sizes)
    dtype = dtype_of(str(operand.dtype))
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    return onnx.helper.make_tensor_type_proto(kind, operand.shape)
