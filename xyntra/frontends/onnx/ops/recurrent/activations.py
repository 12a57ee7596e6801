# SPDX-License-Identifier: MIT OR Apache-2.0
"""The activation functions that recurrent operators name, with their own parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.node import Node
from xyntra.frontends.onnx.ops.elementwise.activation import softplus_of
from xyntra.frontends.onnx.ops.elementwise.simple import logistic

Activation = Callable[[Scalar], Scalar]
_Family = Callable[[float, float], Activation]

_FUNCTIONS: dict[str, tuple[_Family, float | None, float | None]] = {
    "relu": (lambda a, b: lambda x: x.maximum(0), None, None),
    "tanh": (lambda a, b: lambda x: x.math("tanh"), None, None),
    "sigmoid": (lambda a, b: logistic, None, None),
    "affine": (lambda a, b: lambda x: x * a + b, 1.0, 0.0),
    "leakyrelu": (lambda a, b: lambda x: (x < 0).select(x * a, x), 0.01, None),
    "thresholdedrelu": (lambda a, b: lambda x: (x >= a).select(x, 0), 1.0, None),
    "scaledtanh": (lambda a, b: lambda x: (x * b).math("tanh") * a, 1.0, 1.0),
    "hardsigmoid": (lambda a, b: lambda x: (x * a + b).minimum(1).maximum(0), 0.2, 0.5),
    "elu": (lambda a, b: lambda x: (x < 0).select(x.math("expm1") * a, x), 1.0, None),
    "softsign": (lambda a, b: lambda x: x / (x.math("absf") + 1), None, None),
    "softplus": (lambda a, b: softplus_of, None, None),
}
"""By lower-case name: the function of alpha and beta, and their defaults where it has them."""


def read_activations(
    node: Node, defaults: Sequence[str], directions: int
) -> list[list[Activation]]:
    """The functions of each direction, in the operator's order.

    Alphas and betas are taken from their lists by the functions that have one, in order. `clip`
    limits what the first two functions see, the sums of the gates; like onnxruntime, not the state
    that goes through the third one.
    """
    names = node.attribute("activations") or list(defaults) * directions
    if len(names) != len(defaults) * directions:
        raise node.invalid(f"{len(names)} activations for {directions} directions")
    alphas = list(node.attribute("activation_alpha") or [])
    betas = list(node.attribute("activation_beta") or [])
    functions: list[Activation] = []
    count = len(defaults)
    for name in names:
        if str(name).lower() not in _FUNCTIONS:
            raise node.invalid(f"there is no activation '{name}'")
        family, alpha, beta = _FUNCTIONS[str(name).lower()]
        alpha = alphas.pop(0) if alpha is not None and alphas else alpha
        beta = betas.pop(0) if beta is not None and betas else beta
        limit = node.attribute("clip") if len(functions) % count < 2 else None
        functions.append(_clipped(family(alpha or 0.0, beta or 0.0), limit))
    return [functions[start : start + count] for start in range(0, len(functions), count)]


def _clipped(function: Activation, limit: float | None) -> Activation:
    """`function` of its argument limited to [-limit, limit]."""
    if not limit:
        return function
    return lambda x: function(x.maximum(-limit).minimum(limit))
