# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makers of com.microsoft operators; onnxruntime's kernels are their reference."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from verify.random_graphs.models.builder import Builder, Ref, Reject
from verify.random_graphs.models.registry import maker

__all__: list[str] = []

_F32 = TensorProto.FLOAT


def _rows(g: Builder, low: int = 2, high: int = 3) -> Ref:
    if g.style.special:
        raise Reject("not with special values")
    return g.pick((_F32,), low, high, lambda r: bool(r.array.size))


def _ms(
    g: Builder, op: str, inputs: list[Ref | None], outputs: int = 1, **found: object
) -> list[Ref]:
    return g.node(op, inputs, outputs, domain="com.microsoft", **found)


@maker("ms_pointwise", 0.8)
def _pointwise(g: Builder) -> None:
    x = _rows(g, 1, 4)
    bias = g.weight(x.shape[-1:], _F32)
    op = g.choice(("Gelu", "FastGelu", "QuickGelu", "BiasGelu"))
    if op == "QuickGelu":
        _ms(g, op, [x], alpha=g.real(0.5, 2))
    elif op == "BiasGelu":
        _ms(g, op, [x, bias])
    else:
        _ms(g, op, [x, bias] if op == "FastGelu" and g.chance(0.5) else [x])


@maker("ms_product", 0.8)
def _product(g: Builder) -> None:
    x = _rows(g, 2, 3)
    ta, tb = g.integer(0, 1), g.integer(0, 1)
    depth = x.shape[-2] if ta else x.shape[-1]
    columns = g.integer(1, 17)
    w = g.weight((columns, depth) if tb else (depth, columns), _F32, "unit")
    if x.rank == 2 and g.chance(0.5):
        found = {"activation": g.choice(("Relu", "Tanh", "Sigmoid"))}
        _ms(g, "FusedGemm", [x, w, g.weight((columns,), _F32)], transA=ta, transB=tb, **found)
    else:
        _ms(g, "FusedMatMul", [x, w], transA=ta, transB=tb, alpha=g.real(-1, 2))


@maker("ms_skip_norm", 0.8)
def _skip_norm(g: Builder) -> None:
    x = _rows(g, 3, 3)
    n = x.shape[-1:]
    skip = g.weight(x.shape, _F32)
    outputs = g.choice((1, 1, 4))
    if g.chance(0.5):
        inputs = [x, skip, g.weight(n, _F32), g.weight(n, _F32) if g.chance(0.7) else None]
        op = "SkipLayerNormalization"
    else:
        inputs, op = [x, skip, g.weight(n, _F32)], "SkipSimplifiedLayerNormalization"
    if g.chance(0.4):
        inputs.append(g.weight(n, _F32))
    names = [g.name() if i in (0, 3) else "" for i in range(outputs)]
    g.node(op, inputs, outputs, "com.microsoft", names, epsilon=g.choice((1e-5, 1e-3)))


@maker("ms_attention", 0.6)
def _attention(g: Builder) -> None:
    b, s, heads, d = g.integer(1, 2), g.integer(1, 9), g.integer(1, 3), g.choice((2, 4, 8))
    if g.style.special:
        raise Reject("not with special values")
    if g.chance(0.5):
        t = g.integer(1, 9)
        q, k, v = (g.weight((b, n, heads * d), _F32) for n in (s, t, t))
        found = {"scale": g.real(0.1, 1)} if g.chance(0.3) else {}
        _ms(g, "MultiHeadAttention", [q, k, v], num_heads=heads, **found)
    else:
        width = g.integer(2, 9)
        x = g.weight((b, s, width), _F32)
        w = g.weight((width, 3 * heads * d), _F32, "unit")
        bias = g.weight((3 * heads * d,), _F32)
        found = {"unidirectional": 1} if g.chance(0.4) else {}
        _ms(g, "Attention", [x, w, bias], num_heads=heads, **found)


@maker("ms_quantized", 0.8)
def _quantized(g: Builder) -> None:
    elem = g.choice((TensorProto.UINT8, TensorProto.INT8))
    x = g.pick((elem,), 1, 4, lambda r: bool(r.array.size))

    def parameters() -> list[Ref]:
        scale = g.constant(np.array(g.real(0.01, 0.1)), _F32)
        return [scale, g.constant(np.array(g.integer(0, 40)), elem)]

    op = g.choice(("QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu"))
    if op in ("QLinearAdd", "QLinearMul"):
        y = g.weight(g.choice((x.shape, x.shape[-1:])), elem, "")
        _ms(g, op, [x, *parameters(), y, *parameters(), *parameters()])
    else:
        found = {"alpha": g.real(0, 1)} if op == "QLinearLeakyRelu" else {}
        _ms(g, op, [x, *parameters(), *parameters()], **found)


@maker("ms_rotary", 0.4)
def _rotary(g: Builder) -> None:
    b, heads, s, d = g.integer(1, 2), g.integer(1, 3), g.integer(1, 6), g.choice((2, 4, 8))
    if g.style.special:
        raise Reject("not with special values")
    x = g.weight((b, heads, s, d), _F32)
    positions = g.constant(g.rng.integers(0, 10, (b, s)), TensorProto.INT64)
    tables = [g.weight((10, d // 2), _F32, "unit") for _ in range(2)]
    _ms(g, "RotaryEmbedding", [x, positions, *tables], interleaved=g.integer(0, 1))
