# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makers of layers as exporters write them, with variations that recognisers have to get right."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from verify.random_graphs.models.builder import Builder, Ref, Reject
from verify.random_graphs.dtypes import rounded
from verify.random_graphs.models.layers import conv, image, matmul, norm
from verify.random_graphs.models.pointwise import broadcast_partner, unary
from verify.random_graphs.models.registry import maker

__all__: list[str] = []


def _scalar(g: Builder, value: float, elem: int) -> Ref:
    shape = g.choice(((), (), (1,)))
    return g.constant(rounded(np.full(shape, value), elem), elem)


def _axes(g: Builder, op: str, x: Ref, axes: list[int], keep: int = 1) -> Ref:
    if g.opset >= (13 if op == "ReduceSum" else 18):
        return g.node(op, [x, g.integers(axes)], keepdims=keep)[0]
    if g.opset < 11:
        axes = [a % x.rank for a in axes]
    return g.node(op, [x], axes=axes, keepdims=keep)[0]


def _swap(g: Builder, x: Ref) -> Ref:
    return g.node("Transpose", [x], perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])[0]


def _rows(g: Builder) -> Ref:
    return g.pick((g.style.float_type,), 2, 4, lambda r: bool(r.array.size))


def _maybe(g: Builder, x: Ref) -> Ref:
    """Sometimes an elementwise step between the parts of a layer."""
    if not g.chance(0.2):
        return x
    op = g.choice(("Neg", "Relu", "Identity", "Tanh", "Abs"))
    return unary(g, op, x) if x.elem in g.allowed(op, 0) else x


@maker("decomposed_norm", 2)
def _decomposed_norm(g: Builder) -> None:
    x = _rows(g)
    e = x.elem
    axes = g.choice(([-1], [-1], [-2, -1], [1]))
    centred = x
    if g.chance(0.7):
        centred = g.node("Sub", [x, _axes(g, "ReduceMean", x, axes)])[0]
    if g.chance(0.5):
        square = g.node("Mul", [centred, centred])[0]
    else:
        square = g.node("Pow", [centred, _scalar(g, 2.0, e)])[0]
    variance = _maybe(
        g, _axes(g, g.choice(("ReduceMean", "ReduceMean", "ReduceSum")), square, axes)
    )
    shifted = g.node("Add", [variance, _scalar(g, g.choice((1e-5, 1e-2, 1.0)), e)])[0]
    root = g.node("Sqrt", [shifted])[0]
    if g.chance(0.6):
        y = g.node("Div", [centred if g.chance(0.9) else x, root])[0]
    else:
        y = g.node("Mul", [g.node("Reciprocal", [root])[0], centred])[0]
    for op in ("Mul", "Add"):
        if g.chance(0.6):
            y = g.node(op, [y, broadcast_partner(g, y, (e,), one_way=True)])[0]


@maker("decomposed_softmax", 1.5)
def _decomposed_softmax(g: Builder) -> None:
    x = _rows(g)
    axes = g.choice(([-1], [-1], [1], [-2]))
    if g.chance(0.7):
        x = g.node("Sub", [x, _axes(g, "ReduceMax", x, axes)])[0]
    e = g.node("Exp", [_maybe(g, x)])[0]
    total = _axes(g, "ReduceSum", e, axes)
    if g.chance(0.2):
        total = g.node("Add", [total, _scalar(g, 1.0, e.elem)])[0]
    y = g.node("Div", [e, total])[0]
    if g.chance(0.3):
        g.node("Log", [y])


@maker("decomposed_gelu", 1.5)
def _decomposed_gelu(g: Builder) -> None:
    x = g.pick((g.style.float_type,), where=lambda r: bool(r.array.size))
    e = x.elem
    if g.chance(0.5):
        inside = g.node("Div", [x, _scalar(g, g.choice((2**0.5, 2**0.5, 1.4)), e)])[0]
        gate = g.node("Add", [g.node("Erf", [inside])[0], _scalar(g, 1.0, e)])[0]
    else:
        cube = g.node("Mul", [g.node("Mul", [x, x])[0], x])[0]
        part = g.node("Add", [x, g.node("Mul", [cube, _scalar(g, 0.044715, e)])[0]])[0]
        inside = g.node("Mul", [part, _scalar(g, (2 / np.pi) ** 0.5, e)])[0]
        gate = g.node("Add", [g.node("Tanh", [inside])[0], _scalar(g, 1.0, e)])[0]
    y = g.node("Mul", [x, gate] if g.chance(0.5) else [gate, x])[0]
    g.node("Mul", [y, _scalar(g, g.choice((0.5, 0.5, 1.0)), e)])


@maker("decomposed_attention", 3)
def _decomposed_attention(g: Builder) -> None:
    if g.style.special:
        raise Reject("documented to differ")
    e = g.style.float_type
    b, h, s, t, d, dv = (
        g.integer(1, 2),
        g.integer(1, 3),
        *(g.choice((1, 2, 5, 8, 16, 17, 33)) for _ in range(4)),
    )
    lead = g.choice(((b, h), (h,), (), (b, 1)))
    q, k, v = (g.weight((*lead, *shape), e) for shape in ((s, d), (t, d), (t, dv)))
    if g.chance(0.3):
        x = g.weight((*lead, s, g.integer(2, 9)), e)
        q = matmul(g, x, d)
    scaled = g.integer(0, 3)
    if scaled == 1:
        q = g.node("Mul", [q, _scalar(g, d**-0.5, e)])[0]
    scores = g.node("MatMul", [_maybe(g, q), _swap(g, k)])[0]
    if scaled == 2:
        scores = g.node("Div", [scores, _scalar(g, d**0.5, e)])[0]
    if g.chance(0.5):
        mask = broadcast_partner(g, scores, (e,), one_way=True)
        scores = g.node(g.choice(("Add", "Add", "Mul")), [scores, mask])[0]
    if g.chance(0.25):
        keep = g.rng.random(scores.shape[-2:]) < 0.7
        low = _scalar(g, g.choice((-1e4, -3e38 if e in (1, 11) else -6e4)), e)
        scores = g.node("Where", [g.constant(keep, TensorProto.BOOL), scores, low])[0]
    p = g.node(
        "Softmax",
        [_maybe(g, scores)],
        axis=g.choice((-1, -1, -1, -2)) if g.opset >= 13 else scores.rank - 1,
    )[0]
    y = g.node("MatMul", [_maybe(g, p), v])[0]
    if g.chance(0.6) and y.rank == 4:
        y = g.node("Transpose", [y], perm=[0, 2, 1, 3])[0]
        y = g.node("Reshape", [y, g.integers([0, 0, -1])])[0]
        y = matmul(g, y, g.integer(1, 9))
    if g.chance(0.3):
        g.node("Add", [y, broadcast_partner(g, y, (e,), one_way=True)])


@maker("mlp", 3)
def _mlp(g: Builder) -> None:
    """A gated or plain feed-forward part, with a residual sometimes."""
    x = _rows(g)
    hidden = g.choice((1, 4, 8, 17, 32, 64))
    up = matmul(g, x, hidden)
    if g.chance(0.5):
        up = g.node("Add", [up, g.weight((hidden,), x.elem)])[0]
    op = g.choice(("Sigmoid", "Relu", "Tanh", "Gelu", "Softplus", "HardSwish"))
    if x.elem not in g.allowed(op, 0):
        op = "Tanh"
    active = g.node(op, [up])[0]
    if g.chance(0.5):
        gate = up if g.chance(0.5) else matmul(g, x, hidden)
        active = g.node("Mul", [active, gate])[0]
    y = matmul(g, active, x.shape[-1])
    if g.chance(0.7):
        y = g.node("Add", [x, y] if g.chance(0.5) else [y, x])[0]
    if g.chance(0.4):
        norm(g, g.choice(("LayerNormalization", "RMSNormalization")), y)


@maker("conv_block", 3)
def _conv_block(g: Builder) -> None:
    x = image(g, g.allowed("Conv", 0), 4)
    y = conv(g, x, g.choice((None, x.shape[1], 8, 16)))
    if g.chance(0.6):
        y = norm(
            g, g.choice(("BatchNormalization", "BatchNormalization", "InstanceNormalization")), y
        )
    if g.chance(0.4):
        y = g.node(
            g.choice(("Mul", "Add")),
            [y, g.weight(g.choice(((y.shape[1], 1, 1), (), (1, y.shape[1], 1, 1), (1,))), y.elem)],
        )[0]
    if y.shape == x.shape and g.chance(0.7):
        y = g.node("Add", [y, x])[0]
    op = g.choice(("Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Clip", "Elu"))
    if op == "Clip":
        bounds = {"min": 0.0, "max": 1.0} if g.opset < 11 else {}
        more = [] if bounds else [_scalar0(g, 0, y.elem), _scalar0(g, 1, y.elem)]
        y = g.node("Clip", [y, *more], **bounds)[0]
    else:
        y = g.node(op, [y])[0] if y.elem in g.allowed(op, 0) else y
    if g.chance(0.4):
        pooled = g.node("GlobalAveragePool", [y])[0]
        gate = unary(g, "Sigmoid", conv1(g, pooled)) if g.chance(0.6) else pooled
        y = g.node("Mul", [y, gate])[0]
    if g.chance(0.3):
        conv(g, y)


def _scalar0(g: Builder, value: float, elem: int) -> Ref:
    return g.constant(np.array(float(value)), elem)


def conv1(g: Builder, x: Ref) -> Ref:
    """A convolution of 1 x 1 that keeps the channels."""
    return g.node("Conv", [x, g.weight((x.shape[1], x.shape[1], 1, 1), x.elem, "unit")])[0]


@maker("quantized_layer", 1.5)
def _quantized_layer(g: Builder) -> None:
    """Quantize, dequantize, multiply or convolve, and quantize again."""
    e = TensorProto.FLOAT
    x = g.pick((e,), 2, 4, lambda r: bool(r.array.size) and bool(np.isfinite(r.array).all()))
    kind = g.choice((TensorProto.UINT8, TensorProto.INT8))

    def parameters() -> list[Ref]:
        scale = g.constant(np.array(g.real(0.01, 0.1)), e)
        return [scale, g.constant(np.array(g.integer(0, 30)), kind)]

    p = parameters()
    a = g.node("DequantizeLinear", [g.node("QuantizeLinear", [x, *p])[0], *p])[0]
    if x.rank == 4 and g.chance(0.7):
        shape = (
            (g.integer(1, 8), x.shape[1], 1, 1)
            if min(x.shape[2:]) < 3
            else (g.integer(1, 8), x.shape[1], 3, 3)
        )
        axis, op = 0, "Conv"
    else:
        shape, axis, op = (x.shape[-1], g.integer(1, 9)), 1, "MatMul"
    per = g.opset >= 13 and g.chance(0.5)
    sizes = (shape[axis],) if per else ()
    scale = g.constant(rounded(g.rng.uniform(0.01, 0.1, sizes), e), e)
    zero = g.constant(
        np.zeros(sizes) if g.chance(0.6) else g.rng.integers(-3, 4, sizes), TensorProto.INT8
    )
    w = g.constant(g.rng.integers(-100, 101, shape), TensorProto.INT8, node=False)
    found = {"axis": axis} if per else {}
    b = g.node("DequantizeLinear", [w, scale, zero], **found)[0]
    y = g.node(op, [a, b])[0]
    if g.chance(0.5):
        y = g.node("Add", [y, g.weight((y.shape[1], 1, 1) if op == "Conv" else y.shape[-1:], e)])[0]
    if g.chance(0.4):
        y = unary(g, "Relu", y)
    if g.chance(0.6):
        p = parameters()
        g.node("DequantizeLinear", [g.node("QuantizeLinear", [y, *p])[0], *p])


@maker("rotary", 1)
def _rotary(g: Builder) -> None:
    x = g.pick((g.style.float_type,), 2, 4, lambda r: r.shape[-1] % 2 == 0 and bool(r.array.size))
    half = x.shape[-1] // 2
    if g.opset >= 13:
        low, high = g.node("Split", [x, g.integers([half, half])], 2, axis=-1)
    else:
        low, high = g.node("Split", [x], 2, axis=x.rank - 1, split=[half, half])
    turned = g.node("Concat", [unary(g, "Neg", high), low], axis=x.rank - 1)[0]
    cos, sin = (broadcast_partner(g, x, (x.elem,), one_way=True) for _ in range(2))
    g.node("Add", [g.node("Mul", [x, cos])[0], g.node("Mul", [turned, sin])[0]])


@maker("diamond", 2)
def _diamond(g: Builder) -> None:
    """A value that a reduction and elementwise operators read, joined again."""
    x = _rows(g)
    left, right = _maybe(g, x), _maybe(g, x)
    op = g.choice(("ReduceMax", "ReduceMean", "ReduceSum", "ReduceMin"))
    total = _axes(g, op, left, g.choice(([-1], [0], [-2], [-1, -2])))
    y = g.node(g.choice(("Sub", "Mul", "Add", "Max")), [right, total])[0]
    if g.chance(0.5):
        y = g.node(g.choice(("Add", "Mul")), [y, x])[0]
    if g.chance(0.4):
        _axes(g, "ReduceMean", y, [-1], g.integer(0, 1))


@maker("movement_mix", 2)
def _movement_mix(g: Builder) -> None:
    """Moves of data between elementwise operators, as splits into heads and windows are."""
    x = g.pick((g.style.float_type,), 2, 4, lambda r: bool(r.array.size))
    for _ in range(g.integer(2, 5)):
        step = g.integer(0, 4)
        if step == 0:
            x = g.node("Transpose", [x], perm=g.shuffled(range(x.rank)))[0]
        elif step == 1:
            x = g.node("Reshape", [x, g.integers([-1] if g.chance(0.3) else [x.shape[0], -1])])[0]
        elif step == 2:
            x = g.node("Add", [x, broadcast_partner(g, x, (x.elem,), one_way=True)])[0]
        elif step == 3 and x.rank < 5:
            axes = [g.integer(0, x.rank)]
            x = (
                g.node("Unsqueeze", [x, g.integers(axes)])[0]
                if g.opset >= 13
                else g.node("Unsqueeze", [x], axes=axes)[0]
            )
        else:
            axis = g.integer(0, x.rank - 1)
            x = g.node("Concat", [x, x] if g.chance(0.5) else [x, unary(g, "Neg", x)], axis=axis)[0]
