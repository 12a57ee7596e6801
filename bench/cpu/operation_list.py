# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations that `python -m bench.cpu` measures, and the limits that they are held to."""

from __future__ import annotations

import math
from collections.abc import Iterator

import onnx

from bench.cpu.operations import FLOAT_BYTES, Graph, Operation, normal
from bench.models.spec import InputSpec

__all__ = ["OPERATIONS"]

_MILLION = 1 << 20


def _specs(scale: float = 1.0, **shapes: tuple[int, ...]) -> tuple[InputSpec, ...]:
    return tuple(InputSpec(name, "float32", shape, normal(scale)) for name, shape in shapes.items())


def _bytes(*shapes: tuple[int, ...]) -> int:
    return sum(math.prod(shape) for shape in shapes) * FLOAT_BYTES


def _chain() -> Operation:
    """gelu(x * a + b) * c, with the gelu spelled out."""
    shape = (4 * _MILLION,)

    def model() -> onnx.ModelProto:
        g = Graph(dict.fromkeys("xabc", shape))
        t = g.node("Add", g.node("Mul", "x", "a"), "b")
        erf = g.node("Erf", g.node("Div", t, g.constant(math.sqrt(2.0))))
        half = g.node("Mul", g.node("Mul", t, g.node("Add", erf, g.constant(1.0))), g.constant(0.5))
        return g.model(g.node("Mul", half, "c"), shape)

    return Operation(
        name="gelu-chain",
        title="erf-GELU chain with tensors, 4M",
        inputs=_specs(x=shape, a=shape, b=shape, c=shape),
        model=model,
        work=_bytes(*[shape] * 5),
        unit="B",
        limit=0.40,
    )


def _softmax() -> Operation:
    shape = (2048, 2048)

    def model() -> onnx.ModelProto:
        g = Graph({"x": shape})
        return g.model(g.node("Softmax", "x", axis=-1), shape)

    work = _bytes(shape, shape)
    return Operation("softmax", "softmax 2048×2048", _specs(x=shape), model, work, "B", 0.85)


def _layer_norm() -> Operation:
    shape = (4096, 768)

    def model() -> onnx.ModelProto:
        g = Graph({"x": shape})
        scale, bias = g.weight(shape[1]), g.weight(shape[1])
        return g.model(g.node("LayerNormalization", "x", scale, bias, axis=-1), shape)

    work = _bytes(shape, shape)
    return Operation("layer-norm", "layer norm 4096×768", _specs(x=shape), model, work, "B", 0.5)


def _product(m: int, n: int, k: int, *, weights: bool) -> Operation:
    shapes = {"a": (m, k)} if weights else {"a": (m, k), "b": (k, n)}

    def model() -> onnx.ModelProto:
        g = Graph(shapes)
        b = g.weight(k, n, scale=1 / math.sqrt(k)) if weights else "b"
        return g.model(g.node("MatMul", "a", b), (m, n))

    size = f"{m}x{n}x{k}"
    vector = m == 1
    return Operation(
        name=f"matmul-{size}{'-weights' if weights else ''}",
        title=f"matmul {size.replace('x', '×')}{', B constant' if weights else ''}",
        inputs=_specs(k**-0.25, **shapes),
        model=model,
        work=_bytes((m, k), (k, n), (m, n)) if vector else 2.0 * m * n * k,
        unit="B" if vector else "FLOP",
        limit=1.0,
    )


def _convolution(
    name: str,
    title: str,
    channels: tuple[int, int],
    size: int,
    kernel: int,
    *,
    group: int = 1,
    stride: int = 1,
    limit: float | None = None,
) -> Operation:
    """A convolution with bias that keeps the picture's size, or divides it by the stride."""
    ic, oc = channels
    source, result = (1, ic, size, size), (1, oc, size // stride, size // stride)
    pad = kernel // 2

    def model() -> onnx.ModelProto:
        g = Graph({"x": source})
        weight, bias = g.weight(oc, ic // group, kernel, kernel), g.weight(oc)
        pads = [pad, pad, pad, pad]
        y = g.node("Conv", "x", weight, bias, group=group, pads=pads, strides=[stride, stride])
        return g.model(y, result)

    depthwise = group == ic
    flops = 2.0 * math.prod(result) * (ic // group) * kernel * kernel
    work = _bytes(source, result) if depthwise else flops
    unit = "B" if depthwise else "FLOP"
    return Operation(name, title, _specs(x=source), model, work, unit, limit)


def _max_pool() -> Operation:
    source, result = (1, 64, 112, 112), (1, 64, 56, 56)

    def model() -> onnx.ModelProto:
        g = Graph({"x": source})
        y = g.node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        return g.model(y, result)

    work = _bytes(source, result)
    return Operation("max-pool", "max pool 3×3/2, 64×112×112", _specs(x=source), model, work, "B")


def _attention(length: int, *, rows: bool) -> Operation:
    """Attention of 12 heads of 64; `rows`: from (1, length, 768) as models have it."""
    heads, width = 12, 64
    split = (1, heads, length, width)
    shape = (1, length, heads * width) if rows else split

    def decomposed() -> onnx.ModelProto:
        g = Graph(dict.fromkeys("qkv", shape))
        folded = g.constant([1, length, heads, width]) if rows else ""

        def head(name: str, *order: int) -> str:
            tensor = g.node("Reshape", name, folded) if rows else name
            return g.node("Transpose", tensor, perm=order) if order else tensor

        q = head("q", 0, 2, 1, 3) if rows else "q"
        v = head("v", 0, 2, 1, 3) if rows else "v"
        k = head("k", 0, 2, 3, 1) if rows else head("k", 0, 1, 3, 2)
        scores = g.node("Mul", g.node("MatMul", q, k), g.constant(width**-0.5))
        y = g.node("MatMul", g.node("Softmax", scores, axis=-1), v)
        if rows:
            y = g.node("Transpose", y, perm=[0, 2, 1, 3])
            y = g.node("Reshape", y, g.constant(list(shape)))
        return g.model(y, shape)

    def contributed() -> onnx.ModelProto:
        g = Graph(dict.fromkeys("qkv", shape))
        y = g.node("MultiHeadAttention", "q", "k", "v", contributed=True, num_heads=heads)
        return g.model(y, shape)

    kind, words = ("-rows", ", from rows") if rows else ("", "")
    return Operation(
        name=f"attention-{heads}x{length}x{width}{kind}",
        title=f"attention {heads}×{length}×{width}{words}",
        inputs=_specs(q=shape, k=shape, v=shape),
        model=decomposed,
        work=4.0 * heads * length * length * width,
        unit="FLOP",
        limit=0.9,
        best=contributed if rows else None,
    )


def _all() -> Iterator[Operation]:
    yield _chain()
    yield _softmax()
    yield _layer_norm()
    for size in ((512, 512, 512), (1024, 1024, 1024), (1000, 777, 513), (1, 4096, 4096)):
        for weights in (False, True):
            yield _product(*size, weights=weights)
    yield _convolution("conv-3x3", "conv 3×3, 64→64, 56×56", (64, 64), 56, 3, limit=1.0)
    yield _convolution(
        "depthwise-3x3", "depthwise 3×3, 128, 56×56", (128, 128), 56, 3, group=128, limit=1.0
    )
    yield _convolution("conv-1x1", "conv 1×1, 256→64, 56×56", (256, 64), 56, 1)
    yield _convolution("conv-7x7-stride", "conv 7×7/2, 3→64, 224×224", (3, 64), 224, 7, stride=2)
    yield _convolution("conv-3x3-deep", "conv 3×3, 512→512, 7×7", (512, 512), 7, 3)
    yield _max_pool()
    for length in (128, 1024):
        for rows in (False, True):
            yield _attention(length, rows=rows)


OPERATIONS = {operation.name: operation for operation in _all()}
