# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of `bench.cuda` as users of PyTorch write them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch.nn import functional

from bench.cuda.operations import Operation

__all__ = ["DTYPES", "function_of", "reference", "tolerance"]

DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i8": torch.int8,
    "i32": torch.int32,
}
_EPSILON = 1e-5
_ROUNDING = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
Function = Callable[..., Any]


def function_of(operation: Operation) -> Function:
    """Return the function of an operation."""
    if operation.group == "convolutions":
        return _convolution(operation)
    return _FUNCTIONS[operation.kind]


def reference(operation: Operation, inputs: list[Any]) -> Any:
    """Return the result in f64; one batch of attention after the other, scores are large."""
    function = function_of(operation)
    if operation.group != "attention":
        return function(*(each.double() for each in inputs))
    batches = zip(*(each.split(1) for each in inputs), strict=True)
    return torch.cat([function(*(each.double() for each in batch)) for batch in batches])


def tolerance(operation: Operation, inputs: list[Any], expected: Any) -> Any:
    """Return how far elements may be from `expected`: rounding, also of sums of many products."""
    if operation.dtype == "i8":
        return torch.zeros_like(expected)
    length = operation.inputs[0][-1] if operation.flops else 1
    if operation.group == "contractions":
        length = operation.flops // (2 * prod(operation.output))
    if operation.group == "convolutions":
        length *= operation.inputs[1][1] ** 2
    rounding, sums = _ROUNDING[operation.dtype], 2.0**-24 * 16 * length**0.5
    if operation.group == "attention":  # weights and results are rounded; values may cancel
        query, key, value, *masks = inputs
        return (2 * rounding + sums) * reference(operation, [query, key, value.abs(), *masks])
    floor = 1e-6 if operation.kind == "softmax" else expected.abs().mean()
    return (8 * rounding + sums) * expected.abs().clamp(min=float(floor))


def _integer_product(a: Any, b: Any) -> Any:
    return a @ b.mT if a.is_floating_point() else torch._int_mm(a, b.mT)


def _rms_norm(x: Any, weight: Any) -> Any:
    return functional.rms_norm(x, (x.shape[-1],), weight, _EPSILON)


def _layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    return functional.layer_norm(x, (x.shape[-1],), weight, bias, _EPSILON)


def _attention(q: Any, k: Any, v: Any, **options: Any) -> Any:
    options["enable_gqa"] = k.shape[1] != q.shape[1]
    return functional.scaled_dot_product_attention(q, k, v, **options)


def _convolution(operation: Operation) -> Function:
    """Return a convolution with scale and shift; images and filters have channels innermost."""
    size, taps = (each[1] for each in operation.inputs[:2])
    step, acts = -(-size // operation.output[1]), operation.kind.endswith("relu")

    def work(x: Any, weights: Any, scale: Any, shift: Any, *added: Any) -> Any:
        image, filters = x.permute(0, 3, 1, 2), weights.permute(0, 3, 1, 2)
        found = functional.conv2d(image, filters, stride=step, padding=taps // 2)
        found = found.permute(0, 2, 3, 1) * scale + shift
        found = found + added[0] if added else found
        return torch.relu(found) if acts else found

    return work


_FUNCTIONS: dict[str, Function] = {
    "chain": lambda x, a, b, c: functional.gelu(x * a + b) * c,
    "softmax": lambda x: torch.softmax(x, -1),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "matmul": lambda a, b: a @ b,
    "integer_product": _integer_product,
    "product_nn": lambda a, b: a @ b,
    "product_nt": lambda a, b: a @ b.mT,
    "product_tn": lambda a, b: a.mT @ b,
    "product_tt": lambda a, b: a.mT @ b.mT,
    "matmul_bias_gelu": lambda a, b, c: functional.gelu(a @ b + c),
    "attention": lambda q, k, v: _attention(q, k, v),
    "causal_attention": lambda q, k, v: _attention(q, k, v, is_causal=True),
    "masked_attention": lambda q, k, v, mask: _attention(q, k, v, attn_mask=mask),
}
