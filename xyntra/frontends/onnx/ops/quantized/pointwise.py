# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators on quantized tensors that compute in float32 between two conversions.

They are those of onnxruntime (domain com.microsoft, docs/ContribOperators.md): every tensor comes
with a scale and a zero point, and so does the result. Fusion keeps the float32 values in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.node import Handler, Node, handles
from xyntra.frontends.onnx.ops.elementwise.activation import leaky_relu
from xyntra.frontends.onnx.ops.elementwise.logic import where
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of, sigmoid
from xyntra.frontends.onnx.ops.nn.pool import average_pool, global_average_pool
from xyntra.frontends.onnx.ops.nn.softmax import softmax
from xyntra.frontends.onnx.ops.quantized.quantize import saturate
from xyntra.frontends.onnx.ops.tensors.joins import concat_axis
from xyntra.frontends.onnx.opsets import MICROSOFT


def _real(node: Node, position: int) -> Tensor:
    """Input `position`, whose scale and zero point follow it, in float32."""
    x = node.tensor(position)
    parameters = [node.operand(position + 1)]
    if node.has(position + 2):
        parameters.append(node.operand(position + 2))
    _check_single(node, parameters)

    def body(value: Scalar, scale: Scalar, zero: Scalar | None = None) -> Scalar:
        centred = value.cast("int32")
        if zero is not None:
            centred = centred - zero.cast("int32")
        return centred.cast("float32") * scale

    return node.b.map(body, x, *(_single(node, each) for each in parameters), dtype="float32")


def _check_single(node: Node, parameters: Sequence[Operand]) -> None:
    for parameter in parameters:
        if int(np.prod(parameter.shape)) != 1:
            raise node.unsupported(f"a scale or zero point of shape {parameter.shape}")


def _single(node: Node, parameter: Operand) -> Operand:
    if isinstance(parameter, Tensor):
        return node.b.reshape(parameter, ())
    return parameter.reshape(())


def _quantized(node: Node, x: Tensor, position: int, dtype: str) -> Tensor:
    """`x` with the scale at `position`, and after it the zero point, or else in `dtype`."""
    parameters = [node.operand(position)]
    if node.has(position + 1):
        parameters.append(node.operand(position + 1))
        dtype = dtype_of(parameters[1])
    _check_single(node, parameters)

    def body(value: Scalar, scale: Scalar, zero: Scalar | None = None) -> Scalar:
        return saturate(value / scale, zero, dtype)

    return node.b.map(body, x, *(_single(node, each) for each in parameters), dtype=dtype)


def _pair(node: Node, body: Callable[[Scalar, Scalar], Scalar]) -> Tensor:
    a, b = _real(node, 0), _real(node, 3)
    broadcast_shapes(a.shape, b.shape)
    result = node.b.map(body, a, b, dtype="float32")
    return _quantized(node, result, 6, node.tensor(0).dtype)


@handles("QLinearAdd", domain=MICROSOFT)
def qlinear_add(node: Node) -> Tensor:
    return _pair(node, lambda a, b: a + b)


@handles("QLinearMul", domain=MICROSOFT)
def qlinear_mul(node: Node) -> Tensor:
    return _pair(node, lambda a, b: a * b)


def _result(function: Handler, node: Node) -> Tensor:
    """Return what another operator's importer, which gives one tensor, makes of `node`."""
    result = function(node)
    if not isinstance(result, Tensor):
        raise TypeError("the operator has several results")
    return result


def _through(node: Node, function: Handler, opset: int | None = None) -> Tensor:
    """`function` of the float32 values of the first input, with the node's attributes."""
    inner = replace(node, operands=(_real(node, 0),), opset=opset or node.opset)
    return _quantized(node, _result(function, inner), 3, node.tensor(0).dtype)


@handles("QLinearSigmoid", domain=MICROSOFT)
def qlinear_sigmoid(node: Node) -> Tensor:
    return _through(node, sigmoid)


@handles("QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_leaky_relu(node: Node) -> Tensor:
    return _through(node, leaky_relu)


@handles("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(node: Node) -> Tensor:
    return _through(node, softmax, opset=int(node.required("opset")))


def _pooled(node: Node, pool: Handler) -> Tensor:
    if not node.attribute("channels_last", 0):
        return _through(node, pool)
    rank = node.tensor(0).rank
    last = [0, *range(2, rank), 1]

    def transposed(inner: Node) -> Tensor:
        first = inner.b.transpose(inner.tensor(0), [0, rank - 1, *range(1, rank - 1)])
        return inner.b.transpose(_result(pool, replace(inner, operands=(first,))), last)

    return _through(node, transposed)


@handles("QLinearAveragePool", domain=MICROSOFT)
def qlinear_average_pool(node: Node) -> Tensor:
    return _pooled(node, average_pool)


@handles("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_average_pool(node: Node) -> Tensor:
    return _pooled(node, global_average_pool)


@handles("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(node: Node) -> Tensor:
    if len(node.operands) < 5 or len(node.operands) % 3 != 2:
        raise node.invalid(f"{len(node.operands)} inputs are not a scale, a zero point and triples")
    dtype = dtype_of(node.operand(1))
    parts = [
        _quantized(node, _real(node, position), 0, dtype)
        for position in range(2, len(node.operands), 3)
    ]
    return concatenate(node.b, parts, concat_axis(node, [part.shape for part in parts]))


@handles("QLinearWhere", domain=MICROSOFT)
def qlinear_where(node: Node) -> Tensor:
    operands = (node.operand(0), _real(node, 1), _real(node, 4))
    return _quantized(
        node, _result(where, replace(node, operands=operands)), 7, node.tensor(1).dtype
    )
