# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels to measure: each as a kernel of Xyntra, and as a function of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import xyntra.lang as xl

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """What is measured.

    Attributes:
        name: of the row.
        kernel: a function that Xyntra compiles.
        torch: the same for tensors.
        shapes: of arguments on the CPU, all floats.
        gpu: of arguments on a GPU.
        numbers: arguments behind them.
    """

    name: str
    kernel: Callable[..., Any]
    torch: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]
    gpu: Sequence[tuple[int, ...]]
    numbers: tuple[float, ...] = ()


def gelu(x: Any, bias: Any) -> Any:
    y = x + bias
    return 0.5 * y * (1 + xl.erf(y / 2**0.5))


def torch_gelu(x: Any, bias: Any) -> Any:
    y = x + bias
    return 0.5 * y * (1 + (y / 2**0.5).erf())


def softmax(x: Any) -> Any:
    e = xl.exp(x - xl.max(x, axis=-1, keepdims=True))
    return e / xl.sum(e, axis=-1, keepdims=True)


def torch_softmax(x: Any) -> Any:
    return x.softmax(-1)


def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    centred = x - xl.mean(x, axis=-1, keepdims=True)
    variance = xl.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xl.sqrt(variance + 1e-5) * scale + bias


def torch_layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    import torch

    return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, bias)


def rms_norm(x: Any, scale: Any, eps: float) -> Any:
    return x * xl.rsqrt(xl.mean(x * x, axis=-1, keepdims=True) + eps) * scale


def torch_rms_norm(x: Any, scale: Any, eps: float) -> Any:
    return x * (x * x).mean(-1, keepdim=True).add(eps).rsqrt() * scale


def rotary(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return xl.concat([a * cos - b * sin, b * cos + a * sin], axis=-1)


def torch_rotary(x: Any, cos: Any, sin: Any) -> Any:
    import torch

    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def chain(x: Any, y: Any, z: Any) -> Any:
    s = xl.sigmoid(x * y) * xl.tanh(y - z) + xl.where(z > 0, x, y * 0.1)
    return xl.sqrt(s * s + 1) * xl.exp(-abs(z)) + xl.maximum(x, z)


def torch_chain(x: Any, y: Any, z: Any) -> Any:
    import torch

    s = (x * y).sigmoid() * (y - z).tanh() + torch.where(z > 0, x, y * 0.1)
    return (s * s + 1).sqrt() * (-z.abs()).exp() + torch.maximum(x, z)


def product(x: Any, w: Any) -> Any:
    return x @ w


def linear(x: Any, w: Any, bias: Any) -> Any:
    return gelu(x @ w, bias)


def torch_linear(x: Any, w: Any, bias: Any) -> Any:
    return torch_gelu(x @ w, bias)


def causal(q: Any, k: Any, v: Any) -> Any:
    return xl.attention(q, k, v, causal=True)


def torch_causal(q: Any, k: Any, v: Any) -> Any:
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def alibi(q: Any, k: Any, v: Any) -> Any:
    def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        return s - xl.exp2(-xl.astype(h + 1, xl.float32)) * xl.astype(i - j, xl.float32)

    return xl.attention(q, k, v, score=score, causal=True)


def torch_alibi(q: Any, k: Any, v: Any) -> Any:
    import torch

    heads, queries = q.shape[1:3]
    at = torch.arange(queries, device=q.device)
    slopes = torch.exp2(-torch.arange(1.0, heads + 1, device=q.device))[:, None, None]
    apart = at[:, None] - at
    bias = (-slopes * apart).masked_fill(apart < 0, -math.inf).to(q.dtype)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def moments(x: Any) -> Any:
    def merged(a: Any, b: Any) -> Any:
        (n1, mean1, m1), (n2, mean2, m2) = a, b
        n, distance = n1 + n2, mean2 - mean1
        return n, mean1 + distance * n2 / n, m1 + m2 + distance * distance * n1 * n2 / n

    given = xl.ones_like(x), x, xl.zeros_like(x)
    n, mean, m = xl.reduce(merged, given, axis=-1, commutative=True)
    return mean + m / n


def torch_moments(x: Any) -> Any:
    return x.mean(-1) + x.var(-1, correction=0)


def depthwise(x: Any, w: Any) -> Any:
    return xl.relu(xl.conv(x, w, padding="same", groups=x.shape[1]))


def torch_depthwise(x: Any, w: Any) -> Any:
    import torch

    return torch.nn.functional.conv2d(x, w, padding="same", groups=x.shape[1]).relu()


def convolution(x: Any, w: Any) -> Any:
    return xl.conv(x, w, padding="same")


def torch_convolution(x: Any, w: Any) -> Any:
    import torch

    return torch.nn.functional.conv2d(x, w, padding="same")


_GPU_ROWS = (8192, 4096)
CASES = (
    Case("call of 64 elements", gelu, torch_gelu, [(64,), (64,)], [(64,), (64,)]),
    Case("bias and GELU", gelu, torch_gelu, [(1024, 768), (768,)], [_GPU_ROWS, (4096,)]),
    Case("softmax", softmax, torch_softmax, [(2048, 1000)], [_GPU_ROWS]),
    Case(
        "layer norm",
        layer_norm,
        torch_layer_norm,
        [(2048, 768), (768,), (768,)],
        [_GPU_ROWS, (4096,), (4096,)],
    ),
    Case(
        "RMS norm", rms_norm, torch_rms_norm, [(2048, 768), (768,)], [_GPU_ROWS, (4096,)], (1e-5,)
    ),
    Case(
        "rotary embedding",
        rotary,
        torch_rotary,
        [(4, 12, 256, 64), (256, 32), (256, 32)],
        [(8, 32, 2048, 128), (2048, 64), (2048, 64)],
    ),
    Case("chain of 14", chain, torch_chain, [(1024, 1000)] * 3, [_GPU_ROWS] * 3),
    Case("product", product, product, [(256, 768), (768, 768)], [(4096, 4096)] * 2),
    Case(
        "product, bias, GELU",
        linear,
        torch_linear,
        [(256, 768), (768, 768), (768,)],
        [(4096, 4096), (4096, 4096), (4096,)],
    ),
    Case("attention, causal", causal, torch_causal, [(1, 8, 256, 64)] * 3, [(4, 16, 2048, 64)] * 3),
    Case("attention, ALiBi", alibi, torch_alibi, [(1, 8, 256, 64)] * 3, [(4, 16, 2048, 64)] * 3),
    Case("mean and variance", moments, torch_moments, [(2048, 1000)], [_GPU_ROWS]),
    Case(
        "convolution 3 x 3",
        convolution,
        torch_convolution,
        [(1, 64, 56, 56), (64, 64, 3, 3)],
        [(32, 128, 56, 56), (128, 128, 3, 3)],
    ),
    Case(
        "depthwise 3 x 3",
        depthwise,
        torch_depthwise,
        [(1, 64, 56, 56), (64, 1, 3, 3)],
        [(32, 256, 56, 56), (256, 1, 3, 3)],
    ),
)
