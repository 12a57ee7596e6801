# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of one tensor, and activations."""

from __future__ import annotations

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float, is_unsigned
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.ops.elementwise.precision import cast
from xyntra.frontends.onnx.ops.elementwise.simple import logistic
from xyntra.frontends.torch.node import AtenNode, Handler, Result, handles
from xyntra.frontends.torch.ops.elementwise import combined, truncated

_FUNCTIONS = """
    exp exp2 log log2 log10 log1p expm1 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh
    atanh erf
"""
"""Operators that the math dialect has under the same name."""


def _function(name: str) -> Handler:
    return lambda node: combined(node, lambda x: x.math(name), "self")


for _name in _FUNCTIONS.split():
    handles(_name)(_function(_name))


def _rounding(name: str) -> Handler:
    def handler(node: AtenNode) -> Tensor:
        if not is_float(node.dtype):
            return node.tensor("self")
        if node["decimals"]:
            return _rounded_to_decimals(node, int(node["decimals"]))
        if name == "trunc":
            return combined(node, truncated, "self")
        return combined(node, lambda x: x.math(name), "self")

    return handler


def _rounded_to_decimals(node: AtenNode, decimals: int) -> Tensor:
    """Computed from a multiple, or for negative decimals from a part, as PyTorch does."""
    power = 10.0 ** abs(decimals)

    def body(x: Scalar) -> Scalar:
        scaled = x * power if decimals > 0 else x / power
        whole = scaled.math("roundeven")
        return whole / power if decimals > 0 else whole * power

    return combined(node, body, "self")


for _name, _operation in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc")):
    handles(_name)(_rounding(_operation))
handles("round")(_rounding("roundeven"))


@handles("neg")
def neg(node: AtenNode) -> Tensor:
    return combined(node, lambda x: -x, "self")


@handles("abs")
def absolute(node: AtenNode) -> Tensor:
    return combined(node, Scalar.absolute, "self")


@handles("reciprocal")
def reciprocal(node: AtenNode) -> Tensor:
    return combined(node, lambda x: constant(1, x.dtype) / x, "self")


@handles("rsqrt")
def rsqrt(node: AtenNode) -> Tensor:
    return combined(node, lambda x: constant(1, x.dtype) / x.math("sqrt"), "self")


@handles("sign", "sgn")
def sign(node: AtenNode) -> Tensor:
    """The sign of NaN is 0."""

    def body(x: Scalar) -> Scalar:
        one = constant(1, x.dtype)
        if is_unsigned(x.dtype):
            return x.minimum(one)
        return (x > 0).select(one, (x < 0).select(constant(-1, x.dtype), 0))

    return combined(node, body, "self")


@handles("relu")
def relu(node: AtenNode) -> Tensor:
    return combined(node, lambda x: x.maximum(0), "self")


@handles("sigmoid")
def sigmoid(node: AtenNode) -> Tensor:
    return combined(node, logistic, "self")


@handles("gelu")
def gelu(node: AtenNode) -> Tensor:
    return named.gelu(node.b, node.tensor("self"), node["approximate"])


@handles("silu")
def silu(node: AtenNode) -> Tensor:
    return named.silu(node.b, node.tensor("self"))


@handles("leaky_relu")
def leaky_relu(node: AtenNode) -> Tensor:
    slope = node["negative_slope"]
    return combined(node, lambda x: (x > 0).select(x, x * float(slope)), "self")


@handles("elu")
def elu(node: AtenNode) -> Tensor:
    scale, factor = float(node["scale"]), float(node["alpha"]) * float(node["scale"])
    inner = float(node["input_scale"])

    def body(x: Scalar) -> Scalar:
        return (x > 0).select(x * scale, (x * inner).math("expm1") * factor)

    return combined(node, body, "self")


@handles("hardtanh")
def hard_tanh(node: AtenNode) -> Tensor:
    return combined(
        node, lambda x, low, high: x.maximum(low).minimum(high), "self", "min_val", "max_val"
    )


@handles("hardsigmoid")
def hard_sigmoid(node: AtenNode) -> Tensor:
    return combined(node, lambda x: (x + 3).maximum(0).minimum(6) / 6, "self")


@handles("hardswish")
def hard_swish(node: AtenNode) -> Tensor:
    return combined(node, lambda x: x * (x + 3).maximum(0).minimum(6) / 6, "self")


@handles("softplus")
def softplus(node: AtenNode) -> Tensor:
    beta, threshold = float(node["beta"]), float(node["threshold"])

    def body(x: Scalar) -> Scalar:
        scaled = x * beta
        return (scaled > threshold).select(x, scaled.math("exp").math("log1p") / beta)

    return combined(node, body, "self")


@handles("_to_copy")
def to_copy(node: AtenNode) -> Tensor:
    return cast(node.b, node.tensor("self"), node.dtype)


@handles("clone", "alias", "detach", "lift_fresh_copy", "contiguous")
def clone(node: AtenNode) -> Result:
    return node.operand("self")


@handles("_assert_tensor_metadata")
def assert_metadata(node: AtenNode) -> Result:
    """Nothing: shapes and dtypes are static, and were checked by the export."""
    return None
