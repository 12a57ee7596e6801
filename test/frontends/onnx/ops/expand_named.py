# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the named ops of the dialect out as linalg, so that tests can run them."""

from __future__ import annotations

from math import prod

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.scalar import Scalar


def expand_named(module: ir.Module) -> None:
    """Replace every named op of `module`."""
    found: list[ir.Operation] = []

    def collect(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("xyntra."):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    for op in found:
        b = TensorBuilder(ir.InsertionPoint(op), op.location)
        operands = [_tensor(value) for value in op.operands]
        result = _RULES[op.name.removeprefix("xyntra.")](b, op, *operands)
        op.results[0].replace_all_uses_with(result.value)
        op.erase()


def _tensor(value: ir.Value) -> Tensor:
    return Tensor(value, default_dtype(ir.RankedTensorType(value.type).element_type))


def _wide(b: TensorBuilder, x: Tensor) -> Tensor:
    dtype = "float32" if x.dtype in ("float16", "bfloat16") else x.dtype
    return x if dtype == x.dtype else b.map(lambda v: v.cast(dtype), x, dtype=dtype)


def _narrow(b: TensorBuilder, x: Tensor, dtype: str) -> Tensor:
    return x if dtype == x.dtype else b.map(lambda v: v.cast(dtype), x, dtype=dtype)


def _softmax(b: TensorBuilder, op: ir.Operation, x: Tensor) -> Tensor:
    axis, wide = op.attributes["axis"].value, _wide(b, x)
    peak = b.reduce(wide, [axis], "max")
    shifted = b.map(lambda v, m: v - m, wide, peak, dtype=wide.dtype)
    total = b.reduce(shifted, [axis], "sum", element=lambda v: v.math("exp"))
    if op.name == "xyntra.softmax":
        result = b.map(lambda v, t: v.math("exp") / t, shifted, total, dtype=wide.dtype)
    else:
        result = b.map(lambda v, t: v - t.math("log"), shifted, total, dtype=wide.dtype)
    return _narrow(b, result, x.dtype)


def _layer_norm(b: TensorBuilder, op: ir.Operation, x: Tensor, *factors: Tensor) -> Tensor:
    sizes = list(op.attributes["operandSegmentSizes"])
    wide, axes = _wide(b, x), range(op.attributes["axis"].value, x.rank)
    count = prod(x.shape[axis] for axis in axes)
    mean = b.reduce(wide, axes, "sum")
    mean = b.map(lambda v: v / count, mean, dtype=wide.dtype)
    centred = b.map(lambda v, m: v - m, wide, mean, dtype=wide.dtype)
    result = _scaled(b, op, centred)
    position = 0
    if sizes[1]:
        result = b.map(lambda v, s: v * s.cast(v.dtype), result, factors[0], dtype=wide.dtype)
        position = 1
    if sizes[2]:
        result = b.map(
            lambda v, s: v + s.cast(v.dtype), result, factors[position], dtype=wide.dtype
        )
    return _narrow(b, result, x.dtype)


def _scaled(b: TensorBuilder, op: ir.Operation, x: Tensor) -> Tensor:
    axes = range(op.attributes["axis"].value, x.rank)
    count, epsilon = prod(x.shape[axis] for axis in axes), op.attributes["epsilon"].value
    squares = b.reduce(x, axes, "sum", element=lambda v: v * v)
    return b.map(lambda v, s: v / (s / count + epsilon).math("sqrt"), x, squares, dtype=x.dtype)


def _rms_norm(b: TensorBuilder, op: ir.Operation, x: Tensor, *scale: Tensor) -> Tensor:
    result = _scaled(b, op, _wide(b, x))
    if scale:
        result = b.map(lambda v, s: v * s.cast(v.dtype), result, scale[0], dtype=result.dtype)
    return _narrow(b, result, x.dtype)


def _gelu(b: TensorBuilder, op: ir.Operation, x: Tensor) -> Tensor:
    wide = _wide(b, x)

    def exact(v: Scalar) -> Scalar:
        return v * 0.5 * ((v * np.sqrt(0.5)).math("erf") + 1)

    def approximate(v: Scalar) -> Scalar:
        inner = (v + v * v * v * 0.044715) * np.sqrt(2 / np.pi)
        return v * 0.5 * (inner.math("tanh") + 1)

    body = approximate if op.attributes["approximate"].value == "tanh" else exact
    return _narrow(b, b.map(body, wide, dtype=wide.dtype), x.dtype)


def _silu(b: TensorBuilder, op: ir.Operation, x: Tensor) -> Tensor:
    wide = _wide(b, x)
    result = b.map(lambda v: v / ((-v).math("exp") + 1), wide, dtype=wide.dtype)
    return _narrow(b, result, x.dtype)


_RULES = {
    "softmax": _softmax, "log_softmax": _softmax, "layer_norm": _layer_norm,
    "rms_norm": _rms_norm, "gelu": _gelu, "silu": _silu,
}  # fmt: skip
