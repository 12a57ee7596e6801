# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers of transformers' language models, without attention by itself."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.sweep.modules import Function, RMSNorm, Split, act
from bench.sweep.row import Argument, Draw, layer

_LIBRARY = "transformers"
Made = tuple[nn.Module, list[Argument]]


def _tokens(draw: Draw, width: int) -> Argument:
    return Argument((*draw.rows(width), width))


@layer(_LIBRARY, "linear")
def linear(draw: Draw) -> Made:
    width = draw.width()
    hidden = draw.of(width, 2 * width, 3 * width, width + 24, 1000)
    return nn.Linear(width, hidden), [_tokens(draw, width)]


@layer(_LIBRARY, "mlp", counts=(3, 2))
def mlp(draw: Draw) -> Made:
    width = draw.width()
    name = draw.of("gelu", "gelu_tanh", "quick_gelu", "relu", "relu_squared", "silu")
    parts = [nn.Linear(width, 4 * width), act(name), nn.Linear(4 * width, width)]
    return nn.Sequential(*parts), [_tokens(draw, 4 * width).last(width)]


@layer(_LIBRARY, "gated mlp", counts=(3, 1))
def gated_mlp(draw: Draw) -> Made:
    width = draw.width()
    hidden = draw.of(2 * width, 4 * width, width * 8 // 3 // 8 * 8)
    name = draw.of("silu", "gelu", "gelu_tanh")
    parts = {key: nn.Linear(width, hidden, bias=False) for key in ("gate", "up")}

    def work(m: nn.Module, x: Tensor) -> Tensor:
        return m.down(m.act(m.gate(x)) * m.up(x))

    down = nn.Linear(hidden, width, bias=False)
    inputs = [_tokens(draw, hidden).last(width)]
    return Function(work, **parts, down=down, act=act(name)), inputs


@layer(_LIBRARY, "layer norm", counts=(3, 1))
def layer_norm(draw: Draw) -> Made:
    width = draw.width()
    return nn.LayerNorm(width), [_tokens(draw, width)]


@layer(_LIBRARY, "add layer norm")
def add_layer_norm(draw: Draw) -> Made:
    width = draw.width()
    tokens = _tokens(draw, width)
    return Function(lambda m, x, y: m.norm(x + y), norm=nn.LayerNorm(width)), [tokens, tokens]


@layer(_LIBRARY, "rms norm with casts")
def rms_norm(draw: Draw) -> Made:
    width = draw.width()
    return RMSNorm(width), [_tokens(draw, width)]


@layer(_LIBRARY, "add rms norm linear")
def add_rms_norm_linear(draw: Draw) -> Made:
    width = draw.width()
    tokens = _tokens(draw, width)

    def work(m: nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        total = x + y
        return m.linear(m.norm(total)), total

    linear = nn.Linear(width, width, bias=False)
    return Function(work, norm=RMSNorm(width), linear=linear), [tokens, tokens]


@layer(_LIBRARY, "embeddings with norm")
def embeddings(draw: Draw) -> Made:
    width, words = draw.width(), draw.of(1000, 8000, 30522)
    batch, tokens = draw.rows(width)

    def work(m: nn.Module, ids: Tensor) -> Tensor:
        return m.norm(m.words(ids) + m.positions(torch.arange(tokens, device=ids.device)))

    parts = {"words": nn.Embedding(words, width), "positions": nn.Embedding(tokens, width)}
    inputs = [Argument((batch, tokens), "index", words)]
    return Function(work, **parts, norm=nn.LayerNorm(width)), inputs


@layer(_LIBRARY, "masked mean and unit length")
def masked_mean(draw: Draw) -> Made:
    width = draw.width()
    batch, tokens = draw.rows(width)

    def work(x: Tensor, mask: Tensor) -> Tensor:
        kept = mask.unsqueeze(-1).to(x.dtype)
        mean = (x * kept).sum(1) / kept.sum(1).clamp(min=1e-4)
        return functional.normalize(mean, dim=-1)

    return Function(work), [Argument((batch, tokens, width)), Argument((batch, tokens), "mask")]


@layer(_LIBRARY, "language model head")
def head(draw: Draw) -> Made:
    width, words = draw.width(), draw.of(8000, 30522, 50257) if draw.large else 8000
    rows = draw.of(1, 4, 16, 128)

    def work(m: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
        found = m.linear(x)
        return found, found.argmax(-1)

    return Function(work, linear=nn.Linear(width, words, bias=False)), [Argument((rows, width))]


@layer(_LIBRARY, "log softmax of words")
def log_softmax(draw: Draw) -> Made:
    words = draw.of(8000, 30522, 50257, 128256)
    rows = draw.of(1, 8, 64, 512) if draw.large else draw.of(1, 4, 16)

    def work(x: Tensor, label: Tensor) -> Tensor:
        return -functional.log_softmax(x.float(), -1).gather(1, label)

    return Function(work), [Argument((rows, words)), Argument((rows, 1), "index", words)]


@layer(_LIBRARY, "router of experts")
def router(draw: Draw) -> Made:
    width, experts = draw.width(), draw.of(8, 16, 64, 128)

    def work(m: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
        weights, places = torch.softmax(m.linear(x).float(), -1).topk(draw_k, -1)
        return (weights / weights.sum(-1, keepdim=True)).to(x.dtype), places

    draw_k = draw.of(1, 2, 8)
    batch, tokens = draw.rows(width)
    linear = nn.Linear(width, experts, bias=False)
    return Function(work, linear=linear), [Argument((batch * tokens, width))]


@layer(_LIBRARY, "causal convolution of Mamba")
def mamba_convolution(draw: Draw) -> Made:
    width = draw.of(256, 768, 1536, 2048)
    batch, tokens = draw.rows(width)
    convolution = nn.Conv1d(width, width, 4, groups=width, padding=3)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        found = m.convolution(x.transpose(1, 2))[..., :tokens]
        return functional.silu(found).transpose(1, 2)

    return Function(work, convolution=convolution), [Argument((batch, tokens, width))]


@layer(_LIBRARY, "low-rank linear")
def low_rank(draw: Draw) -> Made:
    width, rank = draw.width(), draw.of(4, 8, 16, 64)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        return m.linear(x) + m.up(m.down(x)) * 2.0

    parts = {
        "linear": nn.Linear(width, width),
        "down": nn.Linear(width, rank, bias=False),
        "up": nn.Linear(rank, width, bias=False),
    }
    return Function(work, **parts), [_tokens(draw, width)]


@layer(_LIBRARY, "token shift of RWKV")
def token_shift(draw: Draw) -> Made:
    width = draw.width()

    def work(m: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
        before = functional.pad(x, (0, 0, 1, -1))
        return x * m.key + before * (1 - m.key), x * m.value + before * (1 - m.value)

    parts = {"key": torch.rand(width), "value": torch.rand(width)}
    return Function(work, **parts), [_tokens(draw, width)]


@layer(_LIBRARY, "positions of a mask")
def positions(draw: Draw) -> Made:
    batch, tokens = draw.batch(), draw.tokens()

    def work(m: nn.Module, mask: Tensor) -> Tensor:
        return m.table(mask.long().cumsum(1) * mask)

    table = nn.Embedding(tokens + 1, 128)
    return Function(work, table=table), [Argument((batch, tokens), "mask")]


@layer(_LIBRARY, "transposed mixing")
def mixing(draw: Draw) -> Made:
    width = draw.of(256, 384, 512, 768)
    batch, tokens = draw.batch(), draw.of(49, 64, 196)
    hidden = draw.of(128, 256, 384)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        y = m.norm(x).transpose(1, 2)
        return x + m.second(functional.gelu(m.first(y))).transpose(1, 2)

    first, second = nn.Linear(tokens, hidden), nn.Linear(hidden, tokens)
    module = Function(work, norm=nn.LayerNorm(width), first=first, second=second)
    return module, [Argument((batch, tokens, width))]


class _Block(nn.Module):
    """A transformer layer; norms before or after its halves."""

    def __init__(
        self, width: int, heads: int, activation: str, *, first: bool, causal: bool
    ) -> None:
        super().__init__()
        self.first = first
        self.attention = Split(width, heads, fused=first, causal=causal)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.act = act(activation)

    def forward(self, x: Tensor) -> Tensor:
        for norm, half in zip(self.norms, (self.attention, self._mlp), strict=True):
            x = x + half(norm(x)) if self.first else norm(x + half(x))
        return x

    def _mlp(self, x: Tensor) -> Tensor:
        return self.down(self.act(self.up(x)))


@layer(_LIBRARY, "encoder layer, norm last")
def post_norm(draw: Draw) -> Made:
    width = draw.of(128, 256, 384, 768, 1024)
    block = _Block(width, width // draw.of(32, 64), "gelu", first=False, causal=False)
    return block, [_tokens(draw, 4 * width).last(width)]


@layer(_LIBRARY, "encoder layer, norm first", counts=(3, 1))
def pre_norm(draw: Draw) -> Made:
    width = draw.of(192, 320, 384, 512, 768)
    name = draw.of("gelu", "quick_gelu", "gelu_tanh")
    causal = draw.of(True, False)
    block = _Block(width, width // 64, name, first=True, causal=causal)
    return block, [_tokens(draw, 4 * width).last(width)]
