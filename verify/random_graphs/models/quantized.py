# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makers of operators on quantized tensors."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from verify.random_graphs.models.builder import Builder, Ref, Reject
from verify.random_graphs.dtypes import rounded
from verify.random_graphs.models.layers import image
from verify.random_graphs.models.registry import maker

__all__: list[str] = []


@maker("quantize", 2)
def _quantize(g: Builder) -> None:
    x = g.pick((TensorProto.FLOAT,), 1, 4)
    per_axis = g.opset >= 13 and g.chance(0.35)
    axis = g.integer(0, x.rank - 1)
    shape = (x.shape[axis],) if per_axis else ()
    kinds = [TensorProto.UINT8, TensorProto.INT8] + [TensorProto.UINT16, TensorProto.INT16] * (
        g.opset >= 21
    )
    elem = g.choice(kinds)
    scale = g.constant(rounded(g.rng.uniform(0.01, 0.2, shape), x.elem), x.elem)
    low = 0 if elem in (TensorProto.UINT8, TensorProto.UINT16) else -20
    zero = g.constant(g.rng.integers(low, 100, shape), elem)
    inputs = [x, scale, zero] if elem != TensorProto.UINT8 or g.chance(0.8) else [x, scale]
    found = {"axis": axis} if per_axis else {}
    y = g.node("QuantizeLinear", inputs, **found)[0]
    if g.chance(0.8):
        g.node("DequantizeLinear", [y, *inputs[1:]], **found)


@maker("integer_product", 1)
def _integer_product(g: Builder) -> None:
    elems = (TensorProto.UINT8, TensorProto.INT8)
    x = g.pick(elems, 2, 3)
    if not x.array.size:
        raise Reject("empty")
    w = g.weight((x.shape[-1], g.integer(1, 9)), g.choice(elems), "")
    zeros = [g.constant(np.array(g.integer(0, 50)), each.elem) for each in (x, w)]
    y = g.node("MatMulInteger", [x, w, *zeros[: g.integer(0, 2)]])[0]
    if g.chance(0.5):
        g.node("Cast", [y], to=TensorProto.FLOAT)


@maker("qlinear", 0.8)
def _qlinear(g: Builder) -> None:
    elem = g.choice((TensorProto.UINT8, TensorProto.INT8))
    low = 0 if elem == TensorProto.UINT8 else -20

    def parameters(kind: int) -> list[Ref]:
        scale = g.constant(
            rounded(np.array(g.real(0.01, 0.1)), TensorProto.FLOAT), TensorProto.FLOAT
        )
        return [scale, g.constant(np.array(g.integer(low, 60)), kind)]

    if g.chance(0.5):
        x = g.pick((elem,), 2, 3, lambda r: bool(r.array.size))
        w = g.weight((x.shape[-1], g.integer(1, 9)), elem, "")
        g.node("QLinearMatMul", [x, *parameters(elem), w, *parameters(elem), *parameters(elem)])
    else:
        x = image(g, (elem,), 4)
        if not x.array.size:
            raise Reject("an empty image")
        w = g.weight((g.integer(1, 5), x.shape[1], 1, 1), elem, "")
        g.node("QLinearConv", [x, *parameters(elem), w, *parameters(elem), *parameters(elem)])


@maker("dynamic_quantize", 0.6)
def _dynamic_quantize(g: Builder) -> None:
    x = g.pick(
        (TensorProto.FLOAT,),
        1,
        4,
        lambda r: bool(r.array.size) and bool(np.isfinite(r.array).all()),
    )
    g.node("DynamicQuantizeLinear", [x], 3)
