# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products and convolutions with their activation, as onnxruntime's optimizer writes them."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.node import Handler, Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import check_vectors, map_float
from xyntra.frontends.onnx.ops.elementwise.simple import logistic
from xyntra.frontends.onnx.ops.microsoft.transformer import fused_matmul
from xyntra.frontends.onnx.ops.nn.conv import conv
from xyntra.frontends.onnx.ops.nn.matmul import gemm
from xyntra.frontends.onnx.opsets import MICROSOFT

_LARGEST = 3.4028234663852886e38
_Activation = Callable[[Scalar, list[float]], Scalar]
_ACTIVATIONS: dict[str, tuple[list[float], _Activation]] = {
    "Relu": ([], lambda x, _: x.maximum(0)),
    "Tanh": ([], lambda x, _: x.math("tanh")),
    "Sigmoid": ([], lambda x, _: logistic(x)),
    "LeakyRelu": ([0.01], lambda x, p: (x < 0).select(x * p[0], x)),
    "Clip": ([-_LARGEST, _LARGEST], lambda x, p: x.maximum(p[0]).minimum(p[1])),
    "HardSigmoid": ([0.2, 0.5], lambda x, p: (x * p[0] + p[1]).minimum(1).maximum(0)),
}
"""Functions by name, with the default of each parameter."""


def _tensor(node: Node, handler: Handler) -> Tensor:
    """The result of a handler with one tensor."""
    result = handler(node)
    if not isinstance(result, Tensor):
        raise node.unsupported("a result that is no tensor")
    return result


def _activated(node: Node, x: Tensor, parameters: list[float]) -> Tensor:
    """The function that the attribute `activation` names."""
    name = str(node.attribute("activation", ""))
    if not name:
        return x
    if name not in _ACTIVATIONS:
        raise node.unsupported(f"activation '{name}'")
    defaults, function = _ACTIVATIONS[name]
    given = [*parameters, *defaults[len(parameters) :]][: len(defaults)]
    return map_float(node.b, lambda v: function(v, given), x)


@handles("FusedGemm", domain=MICROSOFT)
def fused_gemm(node: Node) -> Tensor:
    name = str(node.attribute("activation", ""))
    alpha = node.attribute("activation_alpha", None)
    beta = node.attribute("activation_beta", None)
    if name == "LeakyRelu" and node.attribute("leaky_relu_alpha", None) is not None:
        alpha = node.attribute("leaky_relu_alpha")
    parameters = [float(value) for value in (alpha, beta) if value is not None]
    return _activated(node, _tensor(node, gemm), parameters)


@handles("FusedConv", domain=MICROSOFT)
def fused_conv(node: Node) -> Tensor:
    result = _tensor(node, conv)
    if node.has(3):
        addend = node.tensor(3)
        if addend.shape != result.shape:
            raise node.invalid(f"input 3 {addend.shape} is not of shape {result.shape}")
        result = map_float(node.b, lambda v, z: v + z, result, addend)
    return _activated(node, result, [float(v) for v in node.attribute("activation_params", [])])


@handles("TransposeMatMul", domain=MICROSOFT)
def transpose_matmul(node: Node) -> Tensor:
    """The former name of FusedMatMul."""
    return _tensor(node, fused_matmul)


@handles("BiasAdd", domain=MICROSOFT)
def bias_add(node: Node) -> Tensor:
    x, skip = node.tensor(0), node.tensor(2)
    (bias,) = check_vectors(node, [1], x.shape[-1])
    if skip.shape != x.shape:
        raise node.invalid(f"input {x.shape} and skip {skip.shape} do not fit")
    return map_float(node.b, lambda v, c, s: v + c + s, x, bias, skip)
