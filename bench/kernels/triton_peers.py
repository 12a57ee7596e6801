# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes norms, softmax, products and attention in Triton, by the schemes of its tutorials.

A program computes a row; a tile of a product, with tiles in groups that share factors in the cache;
or the queries of a tile, along the keys with a running maximum and sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["PEERS"]


@triton.jit
def _softmax(out, x, columns, block: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    at = tl.arange(0, block)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * columns + at, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def _rms_norm(out, x, scale, columns, eps, block: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    at = tl.arange(0, block)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    root = 1 / tl.sqrt(tl.sum(value * value, axis=0) / columns + eps)
    factor = tl.load(scale + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * columns + at, value * root * factor, mask=inside)


@triton.jit
def _layer_norm(out, x, scale, bias, columns, block: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    at = tl.arange(0, block)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, value - tl.sum(value, axis=0) / columns, 0.0)
    root = tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    factor = tl.load(scale + at, mask=inside, other=0.0).to(tl.float32)
    term = tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * columns + at, centred / root * factor + term, mask=inside)


def _tile(m: int, n: int, k: int, warps: int, stages: int) -> Any:
    sizes = {"tile_m": m, "tile_n": n, "tile_k": k, "group": 8}
    return triton.Config(sizes, num_warps=warps, num_stages=stages)


@triton.autotune(
    [
        _tile(128, 256, 64, 8, 3),
        _tile(128, 128, 64, 4, 4),
        _tile(128, 128, 64, 8, 3),
        _tile(128, 64, 64, 4, 4),
        _tile(64, 128, 64, 4, 4),
    ],
    key=["rows", "columns", "depth"],
)
@triton.jit
def _product(  # type: ignore[no-untyped-def]
    out, x, w, bias, rows, columns, depth,
    gelu: tl.constexpr, tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr,
    group: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0)
    down, across = tl.cdiv(rows, tile_m), tl.cdiv(columns, tile_n)
    first = number // (group * across) * group
    height = min(down - first, group)
    m = first + number % (group * across) % height
    n = number % (group * across) // height
    at_m = m * tile_m + tl.arange(0, tile_m)
    at_n = n * tile_n + tl.arange(0, tile_n)
    at_k = tl.arange(0, tile_k)
    left = x + (at_m % rows)[:, None] * depth + at_k[None, :]
    right = w + at_k[:, None] * columns + (at_n % columns)[None, :]
    found = tl.zeros((tile_m, tile_n), dtype=tl.float32)
    for k in range(tl.cdiv(depth, tile_k)):
        rest = depth - k * tile_k
        a = tl.load(left, mask=at_k[None, :] < rest, other=0.0)
        b = tl.load(right, mask=at_k[:, None] < rest, other=0.0)
        found = tl.dot(a, b, found)
        left += tile_k
        right += tile_k * columns
    if gelu:
        found += tl.load(bias + at_n, mask=at_n < columns, other=0.0).to(tl.float32)[None, :]
        found = 0.5 * found * (1 + tl.erf(found * 0.7071067811865476))
    inside = (at_m[:, None] < rows) & (at_n[None, :] < columns)
    tl.store(out + at_m[:, None] * columns + at_n[None, :], found, mask=inside)


@triton.autotune(
    [
        triton.Config({"tile_q": q, "tile_k": k}, num_warps=w, num_stages=s)
        for q, k, w, s in ((128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 3), (64, 64, 4, 3))
    ],
    key=["length", "size"],
)
@triton.jit
def _attention(  # type: ignore[no-untyped-def]
    out, q, k, v, scale, heads, length,
    alibi: tl.constexpr, size: tl.constexpr, tile_q: tl.constexpr, tile_k: tl.constexpr,
):  # fmt: skip
    start, head = tl.program_id(0) * tile_q, tl.program_id(1)
    base = head.to(tl.int64) * length * size
    at_q, at_k, at_d = start + tl.arange(0, tile_q), tl.arange(0, tile_k), tl.arange(0, size)
    queries = tl.load(q + base + at_q[:, None] * size + at_d[None, :])
    slope = tl.exp2(-((head % heads) + 1).to(tl.float32)) * 1.4426950408889634
    largest = tl.full((tile_q,), -float("inf"), tl.float32)
    total = tl.zeros((tile_q,), tl.float32)
    found = tl.zeros((tile_q, size), tl.float32)
    for first in range(0, start + tile_q, tile_k):
        at = first + at_k
        keys = tl.load(k + base + at[None, :] * size + at_d[:, None])
        scores = tl.dot(queries, keys) * (scale * 1.4426950408889634)
        apart = at_q[:, None] - at[None, :]
        if alibi:
            scores -= slope * apart.to(tl.float32)
        scores = tl.where(apart >= 0, scores, -float("inf"))
        above = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - above[:, None])
        shrunk = tl.exp2(largest - above)
        total = total * shrunk + tl.sum(weights, 1)
        values = tl.load(v + base + at[:, None] * size + at_d[None, :])
        found = tl.dot(weights.to(values.dtype), values, found * shrunk[:, None])
        largest = above
    tl.store(out + base + at_q[:, None] * size + at_d[None, :], found / total[:, None])


def softmax(x: Any) -> Any:
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    _softmax[(x.shape[0],)](out, x, x.shape[1], block=block, num_warps=8)
    return out


def rms_norm(x: Any, scale: Any, eps: float) -> Any:
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    _rms_norm[(x.shape[0],)](out, x, scale, x.shape[1], eps, block=block, num_warps=8)
    return out


def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    _layer_norm[(x.shape[0],)](out, x, scale, bias, x.shape[1], block=block, num_warps=8)
    return out


def product(x: Any, w: Any, bias: Any = None) -> Any:
    rows, columns = x.shape[0], w.shape[1]
    out = torch.empty((rows, columns), device=x.device, dtype=x.dtype)
    gelu = bias is not None

    def grid(tile: Any) -> tuple[int]:
        return (triton.cdiv(rows, tile["tile_m"]) * triton.cdiv(columns, tile["tile_n"]),)

    _product[grid](out, x, w, bias if gelu else x, rows, columns, x.shape[1], gelu=gelu)
    return out


def attention(q: Any, k: Any, v: Any, alibi: bool = False) -> Any:
    out = torch.empty_like(q)
    batch, heads, length, size = q.shape

    def grid(tile: Any) -> tuple[int, int]:
        return (triton.cdiv(length, tile["tile_q"]), batch * heads)

    _attention[grid](out, q, k, v, size**-0.5, heads, length, alibi=alibi, size=size)
    return out


PEERS: dict[str, Callable[..., Any]] = {
    "softmax": softmax,
    "RMS norm": rms_norm,
    "layer norm": layer_norm,
    "product": product,
    "product, bias, GELU": product,
    "attention, causal": attention,
    "attention, ALiBi": lambda q, k, v: attention(q, k, v, True),
}
