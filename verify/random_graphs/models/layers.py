# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makers of products, convolutions, pooling, norms, softmax, attention and recurrent layers."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from verify.random_graphs.models.builder import Builder, Ref, Reject
from verify.random_graphs.dtypes import is_float
from verify.random_graphs.models.registry import maker

__all__ = ["conv", "image", "matmul", "norm"]

_LETTERS = "abcdefgh"


def matmul(g: Builder, x: Ref, columns: int | None = None) -> Ref:
    """A product with a weight, an input, or another value of the graph."""
    if x.rank == 0:
        raise Reject("no rows")
    depth = x.shape[-1]
    if columns is None and g.chance(0.25):
        try:
            y = g.pick(
                (x.elem,),
                1,
                4,
                lambda r: (r.shape[-2] if r.rank > 1 else r.shape[0]) == depth,
                fresh=0,
            )
            return g.node("MatMul", [x, y])[0]
        except Reject:
            pass
    columns = columns if columns is not None else g.dimension()
    if g.chance(0.08):
        return g.node("MatMul", [x, g.weight((depth,), x.elem)])[0]
    lead: tuple[int, ...] = ()
    if g.chance(0.25):
        lead = tuple(g.choice((1, n)) for n in x.shape[:-2]) or (g.integer(1, 3),)
    return g.node("MatMul", [x, g.weight((*lead, depth, columns), x.elem, "unit")])[0]


@maker("matmul", 5)
def _matmul(g: Builder) -> None:
    x = g.pick(g.allowed("MatMul", 0) if g.chance(0.15) else (g.style.float_type,), 1, 4)
    if g.chance(0.15):
        w = g.weight(
            (g.dimension(), x.shape[-2] if x.rank > 1 else x.shape[0]),
            x.elem,
        )
        g.node("MatMul", [w, x])
    else:
        matmul(g, x)


@maker("gemm", 3)
def _gemm(g: Builder) -> None:
    x = g.pick(g.allowed("Gemm", 0), 2, 2)
    ta, tb = g.integer(0, 1), g.integer(0, 1)
    rows, depth = x.shape[::-1] if ta else x.shape
    columns = g.dimension()
    w = g.weight((columns, depth) if tb else (depth, columns), x.elem, "unit")
    inputs = [x, w]
    if g.opset < 11 or g.chance(0.7):
        inputs.append(
            g.weight(
                g.choice(((columns,), (1, columns), (rows, 1), (rows, columns), (), (1,))), x.elem
            )
        )
    whole = not is_float(x.elem)
    attributes = {
        k: g.choice((None, None, 2.0 if whole else g.real(-2, 2), 0.0 if g.chance(0.2) else 1.0))
        for k in ("alpha", "beta")
    }
    g.node(
        "Gemm",
        inputs,
        transA=g.choice((ta, ta or None)),
        transB=g.choice((tb, tb or None)),
        **attributes,
    )


@maker("einsum", 1.5)
def _einsum(g: Builder) -> None:
    x = g.pick(g.allowed("Einsum", 0), 1, 4)
    a = _LETTERS[: x.rank]
    shared = g.shuffled(a)[: g.integer(0, x.rank)]
    sizes = dict(zip(a, x.shape, strict=True))
    b = shared + list(_LETTERS[x.rank : x.rank + g.integer(0, 2)])
    b = g.shuffled(b)
    for c in b:
        sizes.setdefault(c, g.integer(1, 6))
    y = g.weight([sizes[c] for c in b], x.elem, "unit")
    out = [c for c in g.shuffled(sorted({*a, *b})) if g.chance(0.65)]
    if math.prod(sizes.values()) > 30_000:
        raise Reject("large")
    if g.chance(0.2):
        g.node("Einsum", [x], equation=f"{a}->{''.join(c for c in out if c in a)}")
    else:
        g.node("Einsum", [x, y], equation=f"{a},{''.join(b)}->{''.join(out)}")


def image(g: Builder, elems: tuple[int, ...], rank: int | None = None) -> Ref:
    """A value of the shape [batch, channels, sizes…]."""
    rank = rank or g.choice((3, 4, 4, 4, 5))
    try:
        return g.pick(elems, rank, rank, fresh=0.2 if g.chance(0.7) else 1)
    except Reject:
        sizes = [g.integer(1, 12) for _ in range(rank - 2)]
        return g.input((g.integer(1, 2), g.integer(1, 8), *sizes), g.choice(elems))


def _window(g: Builder, x: Ref, largest: int = 3) -> dict[str, object]:
    rank = x.rank - 2
    window = [g.integer(1, largest) for _ in range(rank)]
    if g.chance(0.4):
        window = [min(3, largest)] * rank
    found: dict[str, object] = {"kernel_shape": window}
    if g.chance(0.5):
        found["strides"] = [g.integer(1, 3) for _ in range(rank)]
    dilations = [1] * rank
    if g.chance(0.25):
        dilations = found["dilations"] = [g.integer(1, 2) for _ in range(rank)]
    mode = g.integer(0, 4)
    if mode <= 2:
        found["pads"] = [g.integer(0, max(w - 1, 0)) for w in window] + [
            g.integer(0, max(w - 1, 0)) for w in window
        ]
        if mode == 0:
            found["pads"] = [w // 2 for w in window] * 2
    elif mode == 3 and dilations == [1] * rank:
        found["auto_pad"] = g.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
    pads = found.get("pads", [0] * (2 * rank))
    for i, (w, d) in enumerate(zip(window, dilations, strict=True)):
        if (w - 1) * d + 1 > x.shape[i + 2] + pads[i] + pads[i + rank] and "SAME" not in str(
            found.get("auto_pad")
        ):
            raise Reject("the window is larger than the image")
    return found


def conv(g: Builder, x: Ref, filters: int | None = None) -> Ref:
    """A convolution with a constant weight, mostly."""
    channels = x.shape[1]
    if not x.array.size:
        raise Reject("an empty image")
    found = _window(g, x)
    group = g.choice([1, 1, 1, channels, *[d for d in (2, 3, 4) if channels % d == 0]])
    per = (
        filters // group
        if filters and filters % group == 0
        else g.integer(1, 12 if group == 1 else 3)
    )
    shape = (per * group, channels // group, *found["kernel_shape"])
    inputs = [x, g.weight(shape, x.elem, "unit")]
    if g.chance(0.5):
        inputs.append(g.weight(shape[:1], x.elem))
    if g.chance(0.3):
        found.pop("kernel_shape")
    return g.node("Conv", inputs, group=group if group > 1 or g.chance(0.3) else None, **found)[0]


@maker("conv", 4)
def _conv(g: Builder) -> None:
    conv(g, image(g, g.allowed("Conv", 0)))


@maker("conv_transpose", 1)
def _conv_transpose(g: Builder) -> None:
    if g.style.special:
        raise Reject("documented to differ")
    x = image(g, g.allowed("ConvTranspose", 0), 4)
    if not x.array.size:
        raise Reject("an empty image")
    window = [g.integer(1, 3), g.integer(1, 3)]
    strides = [g.integer(1, 3), g.integer(1, 3)]
    group = g.choice([1, 1, x.shape[1]])
    shape = (x.shape[1], g.integer(1, 4), *window)
    pads = [g.integer(0, 1) if w > 1 else 0 for w in window] * 2
    found = {"strides": strides, "group": group, "pads": pads}
    if g.chance(0.4):
        found["output_padding"] = [g.integer(0, s - 1) for s in strides]
    if g.chance(0.2):
        found["dilations"] = [g.integer(1, 2), g.integer(1, 2)]
    inputs = [x, g.weight(shape, x.elem, "unit")]
    if g.chance(0.5):
        inputs.append(g.weight((shape[1] * group,), x.elem))
    if not g.node("ConvTranspose", inputs, **found)[0].array.size:
        raise Reject("nothing is left")


@maker("pool", 2.5)
def _pool(g: Builder) -> None:
    op = g.choice(("MaxPool", "AveragePool", "LpPool", "MaxPool"))
    x = image(g, g.allowed(op, 0))
    if not x.array.size:
        raise Reject("an empty image")
    found = _window(g, x)
    since = {"AveragePool": 19, "LpPool": 18, "MaxPool": 10}[op]
    if g.opset < since and "dilations" in found:
        raise Reject("no dilations")
    if op == "AveragePool" and g.chance(0.5):
        found["count_include_pad"] = g.integer(0, 1)
    if op == "LpPool":
        found["p"] = g.integer(1, 3)
    if op == "MaxPool" and g.chance(0.2):
        found["storage_order"] = g.integer(0, 1)
        if not np.isfinite(x.array.astype(float)).all():
            raise Reject("indices of NaN")
        g.node(op, [x], 2, **found)
        return
    g.node(op, [x], **found)


@maker("global_pool", 1)
def _global_pool(g: Builder) -> None:
    op = g.choice(("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"))
    x = image(g, g.allowed(op, 0))
    if not x.array.size:
        raise Reject("an empty image")
    g.node(op, [x], p=g.integer(1, 3) if op == "GlobalLpPool" else None)


def norm(g: Builder, op: str, x: Ref) -> Ref:
    """A norm of any sort, with constant parameters mostly."""
    if x.rank < 2 or not x.array.size:
        raise Reject("nothing to normalise")
    epsilon = g.choice((None, 1e-3, 1e-5, 1e-12 if x.elem != TensorProto.FLOAT16 else 1e-3))
    if op in ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"):
        axis = g.choice((-1, -1, g.integer(-x.rank, x.rank - 1)))
        shape = x.shape[axis:]
        inputs = [x, g.weight(shape, x.elem)]
        if op == "LayerNormalization" and g.chance(0.7):
            inputs.append(g.weight(shape, x.elem))
        count = 1
        if op == "LayerNormalization" and g.chance(0.1) and x.elem == TensorProto.FLOAT:
            count = 3
        return g.node(op, inputs, count, axis=axis, epsilon=epsilon)[0]
    channels = x.shape[1]
    scale, bias = g.weight((channels,), x.elem), g.weight((channels,), x.elem)
    if op == "BatchNormalization":
        kind = [
            scale,
            bias,
            g.weight((channels,), x.elem),
            g.weight((channels,), x.elem, "positive"),
        ]
        return g.node(op, [x, *kind], epsilon=epsilon, momentum=g.choice((None, 0.5)))[0]
    if x.rank < 3:
        raise Reject("no image")
    if op == "GroupNormalization":
        groups = g.choice([d for d in range(1, channels + 1) if channels % d == 0])
        count = groups if g.opset < 21 else channels
        parameters = [g.weight((count,), x.elem), g.weight((count,), x.elem)]
        return g.node(op, [x, *parameters], num_groups=groups, epsilon=epsilon)[0]
    return g.node(op, [x, scale, bias], epsilon=epsilon)[0]


@maker("norm", 4)
def _norm(g: Builder) -> None:
    op = g.choice(("Layer", "Layer", "RMS", "Batch", "Group", "Instance")) + "Normalization"
    norm(g, op, g.pick(g.allowed(op, 0), 2, 5))


@maker("other_norm", 1)
def _other_norm(g: Builder) -> None:
    op = g.choice(("LpNormalization", "MeanVarianceNormalization", "LRN"))
    x = g.pick(g.allowed(op, 0), 4, 4)
    if not x.array.size:
        raise Reject("nothing to normalise")
    if op == "LpNormalization":
        g.node(op, [x], axis=g.integer(-4, 3), p=g.choice((1, 2)))
    elif op == "LRN":
        found = {"alpha": g.real(0, 1), "beta": g.real(0, 1), "bias": g.real(0.5, 2)}
        g.node(op, [x], size=g.integer(1, 5), **{k: v for k, v in found.items() if g.chance(0.7)})
    else:
        g.node(op, [x], axes=g.choice((None, [0, 2, 3], [1], [-1])) if g.opset >= 13 else None)


@maker("softmax", 3)
def _softmax(g: Builder) -> None:
    op = g.choice(("Softmax", "LogSoftmax", "Softmax", "Hardmax"))
    x = g.pick(
        g.allowed(op, 0),
        1,
        where=lambda r: op != "Hardmax" or (bool(r.array.size) and not np.isnan(r.array).any()),
    )
    low = 0 if g.opset < 11 else -x.rank
    g.node(op, [x], axis=g.choice((None, g.integer(low, x.rank - 1))) if x.rank > 1 else 0)


@maker("attention_op", 1)
def _attention(g: Builder) -> None:
    if g.opset < 23 or g.style.special:
        raise Reject("no Attention")
    elem = g.float_type()
    b, heads, groups = g.integer(1, 2), g.integer(1, 2), g.integer(1, 2)
    s, t, d, dv = (g.integer(1, 12) for _ in range(4))
    q, k, v = ((b, heads * groups, s, d), (b, heads, t, d), (b, heads, t, dv))
    found: dict[str, object] = {}
    if g.chance(0.4):
        q, k, v = ((n, rows, h * w) for n, h, rows, w in (q, k, v))
        found = {"q_num_heads": heads * groups, "kv_num_heads": heads}
    inputs: list[Ref | None] = [g.weight(each, elem) for each in (q, k, v)]
    if g.chance(0.4):
        mask = g.choice(((s, t), (1, 1, s, t), (b, 1, s, t), (b, heads * groups, s, t)))
        if g.chance(0.5):
            keep = g.rng.random(mask) < 0.7
            keep[..., 0] = True
            inputs.append(g.constant(keep, TensorProto.BOOL))
        else:
            inputs.append(g.weight(mask, elem))
    if g.chance(0.3):
        found["scale"] = g.real(0.1, 1.5)
    if g.chance(0.2):
        found["softcap"] = g.real(1, 5)
    if g.chance(0.3) and s <= t:
        found["is_causal"] = 1
    g.node("Attention", inputs, **found)


@maker("recurrent", 1)
def _recurrent(g: Builder) -> None:
    if g.style.special:
        raise Reject("not with special values")
    op = g.choice(("LSTM", "GRU", "RNN"))
    x = g.pick((g.style.float_type,), 3, 3, lambda r: bool(r.array.size) and r.shape[0] <= 9)
    if x.elem not in g.allowed(op, 0):
        raise Reject("type")
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    direction = g.choice((None, "forward", "reverse", "bidirectional"))
    dirs, hidden = 2 if direction == "bidirectional" else 1, g.integer(1, 7)
    inputs: list[Ref | None] = [
        x,
        g.weight((dirs, gates * hidden, x.shape[2]), x.elem, "unit"),
        g.weight((dirs, gates * hidden, hidden), x.elem, "unit"),
        g.weight((dirs, 2 * gates * hidden), x.elem, "unit") if g.chance(0.6) else None,
    ]
    if g.chance(0.25):
        inputs.append(
            g.constant(
                np.array([g.integer(1, x.shape[0]) for _ in range(x.shape[1])]), TensorProto.INT32
            )
        )
    else:
        inputs.append(None)
    if g.chance(0.4):
        inputs.append(g.weight((dirs, x.shape[1], hidden), x.elem, "unit"))
        if op == "LSTM":
            inputs.append(g.weight((dirs, x.shape[1], hidden), x.elem, "unit"))
    found: dict[str, object] = {"hidden_size": hidden, "direction": direction}
    if op == "GRU":
        found["linear_before_reset"] = g.choice((None, 0, 1))
    g.node(op, inputs, 3 if op == "LSTM" else 2, **found)


@maker("resize", 1.2)
def _resize(g: Builder) -> None:
    if g.opset < 11:
        raise Reject("the old Resize")
    x = image(g, g.allowed("Resize", 0), 4)
    if not x.array.size or not is_float(x.elem):
        raise Reject("nothing to resize")
    mode = g.choice(("nearest", "linear", "cubic"))
    transform = g.choice(("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"))
    found: dict[str, object] = {"mode": mode, "coordinate_transformation_mode": transform}
    if mode == "nearest":
        found["nearest_mode"] = g.choice(
            ("round_prefer_floor", "floor", "ceil", "round_prefer_ceil")
        )
    if mode == "cubic" and g.chance(0.5):
        found |= {"cubic_coeff_a": -0.5, "exclude_outside": g.integer(0, 1)}
    sizes = [*x.shape[:2], *(g.integer(1, 2 * n) for n in x.shape[2:])]
    roi = g.constant(np.zeros(0), TensorProto.FLOAT) if g.opset < 13 or g.chance(0.3) else None
    if g.chance(0.5):
        scales = [1.0, 1.0, *(g.choice((0.5, 2.0, 1.5, 3.0)) for _ in range(2))]
        if any(int(n * s) < 1 for n, s in zip(x.shape, scales, strict=True)):
            raise Reject("nothing is left")
        g.node("Resize", [x, roi, g.constant(np.array(scales), TensorProto.FLOAT)], **found)
    else:
        empty = g.constant(np.zeros(0), TensorProto.FLOAT) if g.opset < 13 else None
        g.node("Resize", [x, roi, empty, g.integers(sizes)], **found)


@maker("grid_sample", 0.6)
def _grid_sample(g: Builder) -> None:
    if g.style.special:
        raise Reject("not with special values")
    x = image(g, g.allowed("GridSample", 0), 4)
    if not x.array.size or not is_float(x.elem):
        raise Reject("nothing to sample")
    grid = g.weight((x.shape[0], g.integer(1, 5), g.integer(1, 5), 2), x.elem, "unit")
    modes = ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    padding = g.choice((None, "zeros", "border", "reflection"))
    g.node(
        "GridSample",
        [x, grid],
        mode=g.choice(modes),
        padding_mode=padding,
        align_corners=g.integer(0, 1),
    )
