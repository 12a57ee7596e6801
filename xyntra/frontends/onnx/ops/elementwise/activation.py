# SPDX-License-Identifier: MIT OR Apache-2.0
"""Activation functions.

16-bit floats are computed in float32 and rounded once.
"""

from __future__ import annotations

import ml_dtypes

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import map_float
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of


def _alpha(node: Node, default: float) -> float:
    return float(node.attribute("alpha", default))


def softplus_of(x: Scalar) -> Scalar:
    """log(1 + exp(x)), without overflow."""
    return x.maximum(0) + (-x.math("absf")).math("exp").math("log1p")


def swish_of(x: Scalar, alpha: float) -> Scalar:
    """Swish: x / (1 + exp(-alpha x))."""
    return x / ((x * -alpha).math("exp") + 1)


@handles("LeakyRelu")
def leaky_relu(node: Node) -> Tensor:
    alpha = _alpha(node, 0.01)
    return map_float(node.b, lambda x: (x < 0).select(x * alpha, x), node.tensor(0))


@handles("PRelu")
def prelu(node: Node) -> Tensor:
    x, slope = node.tensor(0), node.tensor(1)
    if broadcast_shapes(x.shape, slope.shape) != x.shape:
        raise node.invalid(f"the slope {slope.shape} does not broadcast to {x.shape}")
    return map_float(node.b, lambda v, s: (v < 0).select(v * s, v), x, slope)


@handles("Elu")
def elu(node: Node) -> Tensor:
    alpha = _alpha(node, 1.0)
    return map_float(node.b, lambda x: (x < 0).select(x.math("expm1") * alpha, x), node.tensor(0))


@handles("Selu")
def selu(node: Node) -> Tensor:
    alpha, gamma = (
        _alpha(node, 1.67326319217681884765625),
        float(node.attribute("gamma", 1.05070102214813232421875)),
    )
    return map_float(
        node.b,
        lambda x: (x > 0).select(x, x.math("expm1") * alpha) * gamma,
        node.tensor(0),
    )


@handles("Celu")
def celu(node: Node) -> Tensor:
    alpha = _alpha(node, 1.0)

    def body(x: Scalar) -> Scalar:
        return x.maximum(0) + ((x / alpha).math("expm1") * alpha).minimum(0)

    return map_float(node.b, body, node.tensor(0))


@handles("HardSigmoid")
def hard_sigmoid(node: Node) -> Tensor:
    alpha, beta = _alpha(node, 0.2), float(node.attribute("beta", 0.5))
    return map_float(node.b, lambda x: (x * alpha + beta).minimum(1).maximum(0), node.tensor(0))


@handles("HardSwish")
def hard_swish(node: Node) -> Tensor:
    def body(x: Scalar) -> Scalar:
        return x * (x * (1 / 6) + 0.5).minimum(1).maximum(0)

    return map_float(node.b, body, node.tensor(0))


@handles("Softplus")
def softplus(node: Node) -> Tensor:
    return map_float(node.b, softplus_of, node.tensor(0))


@handles("Softsign")
def softsign(node: Node) -> Tensor:
    return map_float(node.b, lambda x: x / (x.math("absf") + 1), node.tensor(0))


@handles("Mish")
def mish(node: Node) -> Tensor:
    return map_float(node.b, lambda x: x * softplus_of(x).math("tanh"), node.tensor(0))


@handles("ThresholdedRelu")
def thresholded_relu(node: Node) -> Tensor:
    alpha = _alpha(node, 1.0)
    return map_float(node.b, lambda x: (x > alpha).select(x, 0), node.tensor(0))


@handles("Gelu")
def gelu(node: Node) -> Tensor:
    approximate = str(node.attribute("approximate", "none"))
    if approximate not in ("none", "tanh"):
        raise node.invalid(f"attribute 'approximate' is '{approximate}'")
    return named.gelu(node.b, node.tensor(0), approximate)


def _swish(node: Node, x: Tensor) -> Tensor:
    alpha = _alpha(node, 1.0)
    if alpha == 1:
        return named.silu(node.b, x)
    return map_float(node.b, lambda v: swish_of(v, alpha), x)


@handles("Swish")
def swish(node: Node) -> Tensor:
    return _swish(node, node.tensor(0))


@handles("SwiGLU")
def swiglu(node: Node) -> Tensor:
    gate, value = node.tensor(0), node.tensor(1)
    if gate.shape != value.shape:
        raise node.invalid(f"gate {gate.shape} and value {value.shape} differ in shape")
    return map_float(node.b, lambda a, v: a * v, _swish(node, gate), value)


@handles("Shrink")
def shrink(node: Node) -> Tensor:
    lambd, bias = float(node.attribute("lambd", 0.5)), float(node.attribute("bias", 0.0))
    x = node.tensor(0)
    wide = "float32" if x.dtype == "bfloat16" or x.dtype == "float16" else x.dtype
    wide = wide if is_float(wide) else "float64"

    def body(value: Scalar) -> Scalar:
        v = value.cast(wide)
        inside = (v > lambd).select(v - bias, constant(0, wide))
        return (v < -lambd).select(v + bias, inside).cast(x.dtype)

    return node.b.map(body, x, dtype=x.dtype)


@handles("Clip")
def clip(node: Node) -> Tensor:
    x = node.tensor(0)
    lowest, highest = _extremes(x.dtype)
    if node.opset < 11:
        low, high = node.attribute("min", lowest), node.attribute("max", highest)
        return node.b.map(lambda v: _limit(v, low, high), x, dtype=x.dtype)
    bounds = [node.optional(position) for position in (1, 2)]
    given = [bound for bound in bounds if bound is not None]
    for bound in given:
        if bound.shape not in ((), (1,)) or dtype_of(bound) != x.dtype:
            raise node.invalid(f"a bound has shape {bound.shape} and {dtype_of(bound)}")

    def body(value: Scalar, *limits: Scalar) -> Scalar:
        rest = iter(limits)
        low = next(rest) if bounds[0] is not None else lowest
        high = next(rest) if bounds[1] is not None else highest
        return _limit(value, low, high)

    return node.b.map(body, x, *given, dtype=x.dtype, shape=x.shape)


def _extremes(dtype: str) -> tuple[float | None, float | None]:
    """The bounds that are left out: infinities become finite; integers need none."""
    if not is_float(dtype):
        return None, None
    highest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    return -highest, highest


def _limit(value: Scalar, low: Scalar | float | None, high: Scalar | float | None) -> Scalar:
    raised = value if low is None else value.maximum(low)
    return raised if high is None else raised.minimum(high)
