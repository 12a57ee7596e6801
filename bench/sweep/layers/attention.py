# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention and what surrounds it in transformers: masks, biases, positions, caches."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.sweep.modules import Function, RMSNorm
from bench.sweep.row import Argument, Draw, layer

_LIBRARY = "transformers"
_HEADS = (32, 40, 48, 64, 64, 72, 80, 96, 112, 128, 160)
Made = tuple[nn.Module, list[Argument]]


def _heads(draw: Draw, head: int) -> tuple[int, int, int]:
    heads = draw.of(2, 4, 6, 8, 12, 16)
    batch, tokens = draw.rows(heads * head)
    return batch, heads, tokens


def _attend(q: Tensor, k: Tensor, v: Tensor, **options: object) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, **options)


@layer(_LIBRARY, "attention", counts=(5, 2))
def attention(draw: Draw) -> Made:
    head = draw.of(*_HEADS)
    batch, heads, tokens = _heads(draw, head)
    causal = draw.of(False, True)
    shape = (batch, heads, tokens, head)
    return Function(lambda q, k, v: _attend(q, k, v, is_causal=causal)), [Argument(shape)] * 3


@layer(_LIBRARY, "cross attention", counts=(4, 2))
def cross_attention(draw: Draw) -> Made:
    head = draw.of(40, 64, 80, 128, 160)
    batch, heads, tokens = _heads(draw, head)
    keys = draw.of(5, 16, 77, 154, 226, 512)
    query, key = (batch, heads, tokens, head), (batch, heads, keys, head)
    return Function(_attend), [Argument(query), Argument(key), Argument(key)]


@layer(_LIBRARY, "attention with bias")
def biased_attention(draw: Draw) -> Made:
    head = draw.of(32, 48, 64)
    batch, heads, tokens = _heads(draw, head)
    tokens = min(tokens, 512)
    shape, bias = (batch, heads, tokens, head), (1, heads, tokens, tokens)

    def work(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        scores = q @ k.transpose(-1, -2) + bias
        return torch.softmax(scores.float(), -1).to(q.dtype) @ v

    return Function(work), [*[Argument(shape)] * 3, Argument(bias)]


@layer(_LIBRARY, "attention with padding mask")
def masked_attention(draw: Draw) -> Made:
    head = draw.of(32, 64, 96)
    batch, heads, tokens = _heads(draw, head)
    shape = (batch, tokens, heads * head)

    def split(x: Tensor) -> Tensor:
        return x.view(batch, tokens, heads, head).transpose(1, 2)

    def work(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        scores = split(q) @ split(k).transpose(-1, -2) / math.sqrt(head)
        least = torch.finfo(scores.dtype).min
        scores = scores.masked_fill(~mask[:, None, None], least)
        return (torch.softmax(scores, -1) @ split(v)).transpose(1, 2).reshape(shape)

    return Function(work), [*[Argument(shape)] * 3, Argument((batch, tokens), "mask")]


@layer(_LIBRARY, "grouped queries")
def grouped_queries(draw: Draw) -> Made:
    head, shared = draw.of(64, 80, 128), draw.of(2, 4, 8)
    batch, heads, tokens = _heads(draw, head * shared)
    query, key = (batch, heads * shared, tokens, head), (batch, heads, tokens, head)

    def work(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        wide = [
            x[:, :, None].expand(batch, heads, shared, tokens, head).reshape(query) for x in (k, v)
        ]
        return _attend(q, *wide, is_causal=True)

    return Function(work), [Argument(query), Argument(key), Argument(key)]


@layer(_LIBRARY, "one query and a cache")
def decoding(draw: Draw) -> Made:
    head, heads, shared = draw.of(64, 128), draw.of(4, 8), draw.of(1, 4)
    keys = draw.of(333, 1024, 2048, 8000) if draw.large else draw.of(128, 333, 1024)
    query, key = (draw.batch(), heads * shared, 1, head), (1, heads, keys, head)
    key = (query[0], *key[1:])

    def work(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return _attend(q, k, v, enable_gqa=shared > 1)

    return Function(work), [Argument(query), Argument(key), Argument(key)]


@layer(_LIBRARY, "rotation of halves", counts=(3, 1))
def rotated_halves(draw: Draw) -> Made:
    head = draw.of(32, 64, 80, 128)
    batch, heads, tokens = _heads(draw, head)

    def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin

    def work(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        return turned(q, cos, sin), turned(k, cos, sin)

    shape, angles = (batch, heads, tokens, head), (1, 1, tokens, head)
    return Function(work), [*[Argument(shape)] * 2, *[Argument(angles)] * 2]


@layer(_LIBRARY, "rotation of pairs")
def rotated_pairs(draw: Draw) -> Made:
    head = draw.of(32, 64, 80, 128)
    batch, heads, tokens = _heads(draw, head)

    def work(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        even, odd = x[..., ::2], x[..., 1::2]
        pairs = (even * cos - odd * sin, even * sin + odd * cos)
        return torch.stack(pairs, -1).flatten(-2)

    shape, angles = (batch, tokens, heads, head), (tokens, 1, head // 2)
    return Function(work), [Argument(shape), *[Argument(angles)] * 2]


@layer(_LIBRARY, "masked softmax")
def masked_softmax(draw: Draw) -> Made:
    batch, heads, tokens = _heads(draw, 256)
    tokens = min(tokens, 1024 if draw.large else 256)
    shape, mask = (batch, heads, tokens, tokens), (batch, 1, 1, tokens)
    return Function(lambda x, mask: torch.softmax(x * 0.125 + mask, -1)), [
        Argument(shape),
        Argument(mask),
    ]


@layer(_LIBRARY, "linear attention")
def linear_attention(draw: Draw) -> Made:
    head = draw.of(16, 32, 64)
    batch, heads, tokens = _heads(draw, head)

    def work(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k = functional.elu(q) + 1, functional.elu(k) + 1
        scale = 1 / (q * k.sum(2, keepdim=True)).sum(-1, keepdim=True)
        return q @ (k.transpose(-1, -2) @ v) * scale

    return Function(work), [Argument((batch, heads, tokens, head))] * 3


class _T5(nn.Module):
    """Self-attention of T5's encoder: biases of relative positions, norm in f32, residual."""

    def __init__(self, width: int, heads: int, tokens: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = RMSNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.table = nn.Embedding(32, heads)
        places = torch.arange(tokens)
        distance = (places[None] - places[:, None]).clamp(-15, 16) + 15
        self.register_buffer("buckets", distance)

    def forward(self, x: Tensor) -> Tensor:
        b, s, c = x.shape
        y = self.norm(x)
        q, k, v = (
            part(y).view(b, s, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v)
        )
        scores = q @ k.transpose(2, 3) + self.table(self.buckets).permute(2, 0, 1)[None]
        weights = torch.softmax(scores.float(), -1).type_as(scores)
        return x + self.o((weights @ v).transpose(1, 2).reshape(b, s, c))


@layer(_LIBRARY, "attention of T5")
def t5(draw: Draw) -> Made:
    width = draw.of(256, 512, 768)
    batch, tokens = draw.rows(4 * width)
    tokens = min(tokens, 512)
    return _T5(width, width // 64, tokens), [Argument((batch, tokens, width))]


class _Llama(nn.Module):
    """A layer of Llama: norms in f32, rotated halves, shared keys, gated arithmetic."""

    def __init__(self, width: int, head: int, shared: int, tokens: int) -> None:
        super().__init__()
        self.head, self.shared = head, shared
        inner = width // shared
        self.norms = nn.ModuleList(RMSNorm(width) for _ in range(2))
        self.q, self.o = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(width, inner, bias=False) for _ in range(2))
        hidden = width * 8 // 3 // 64 * 64
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        rates = 10000.0 ** (-torch.arange(0, head, 2) / head)
        angles = torch.arange(tokens)[:, None] * rates
        self.register_buffer("cos", angles.cos().repeat(1, 2))
        self.register_buffer("sin", angles.sin().repeat(1, 2))

    def _turned(self, x: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return x * self.cos + torch.cat((-second, first), -1) * self.sin

    def forward(self, x: Tensor) -> Tensor:
        b, s, c = x.shape
        y = self.norms[0](x)
        q, k, v = (
            part(y).view(b, s, -1, self.head).transpose(1, 2) for part in (self.q, self.k, self.v)
        )
        q, k = self._turned(q), self._turned(k)
        k, v = (each.repeat_interleave(self.shared, 1) for each in (k, v))
        found = _attend(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, c)
        x = x + self.o(found)
        y = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


@layer(_LIBRARY, "layer of Llama")
def llama(draw: Draw) -> Made:
    width = draw.of(512, 768, 1024, 2048)
    batch, tokens = draw.rows(8 * width)
    shared = draw.of(1, 2, 4)
    return _Llama(width, 64, shared, tokens), [Argument((batch, tokens, width))]
