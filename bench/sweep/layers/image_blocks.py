# SPDX-License-Identifier: MIT OR Apache-2.0
"""Blocks of timm's networks: several layers that belong together."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.sweep.modules import Function, act, normed
from bench.sweep.row import Argument, Draw, layer

_LIBRARY = "timm"
Made = tuple[nn.Module, list[Argument]]


class _Excite(nn.Module):
    """Squeeze and excitation: channels are scaled by what their means say."""

    def __init__(self, channels: int, hidden: int, activation: str, gate: str) -> None:
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(channels, hidden, 1), nn.Conv2d(hidden, channels, 1)
        self.act, self.gate = act(activation), {"hard": nn.Hardsigmoid, "soft": nn.Sigmoid}[gate]()

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean((2, 3), keepdim=True)
        return x * self.gate(self.expand(self.act(self.reduce(mean))))


@layer(_LIBRARY, "squeeze and excitation", image=True, counts=(4, 4))
def excite(draw: Draw) -> Made:
    channels = draw.channels()
    hidden = max(channels // draw.of(4, 16), 4)
    kind = draw.of(("silu", "soft"), ("relu", "hard"))
    return _Excite(channels, hidden, *kind), [draw.picture(channels)]


@layer(_LIBRARY, "inverted residual", image=True, counts=(4, 4))
def inverted_residual(draw: Draw) -> Made:
    channels, size = draw.of(16, 24, 40, 80, 112, 160), draw.of(3, 5)
    wide, name = channels * draw.of(3, 4, 6), draw.of("silu", "relu", "hardswish")
    depthwise = nn.Conv2d(wide, wide, size, padding=size // 2, groups=wide, bias=False)
    parts = [
        normed(nn.Conv2d(channels, wide, 1, bias=False), wide, name),
        normed(depthwise, wide, name),
        _Excite(wide, max(channels // 4, 4), name, "soft") if draw.of(True, False) else act("relu"),
        normed(nn.Conv2d(wide, channels, 1, bias=False), channels, None),
    ]
    module = Function(lambda m, x: x + m.inner(x), inner=nn.Sequential(*parts))
    return module, [draw.picture(channels, 8)]


@layer(_LIBRARY, "bottleneck", image=True, counts=(3, 3))
def bottleneck(draw: Draw) -> Made:
    channels, groups = draw.of(64, 128, 256, 512), draw.of(1, 1, 32)
    inside = max(channels // 2, groups)
    middle = nn.Conv2d(inside, inside, 3, padding=1, groups=groups, bias=False)
    parts = [
        normed(nn.Conv2d(channels, inside, 1, bias=False), inside, "relu"),
        normed(middle, inside, "relu"),
        normed(nn.Conv2d(inside, channels, 1, bias=False), channels, None),
    ]
    module = Function(lambda m, x: torch.relu(m.inner(x) + x), inner=nn.Sequential(*parts))
    return module, [draw.picture(channels, 4)]


class _GlobalResponse(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale, self.shift = (nn.Parameter(torch.rand(width)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        size = x.norm(p=2, dim=(1, 2), keepdim=True)
        relative = size / (size.mean(-1, keepdim=True) + 1e-6)
        return x + self.scale * (x * relative) + self.shift


@layer(_LIBRARY, "ConvNeXt block", image=True, counts=(4, 2))
def convnext(draw: Draw) -> Made:
    channels, side = draw.of(40, 64, 96, 128, 192, 384), draw.of(7, 14, 28, 56)
    batch = draw.batch() if channels * side * side < 1 << 18 else 1
    response = _GlobalResponse(4 * channels) if draw.of(True, False) else nn.Identity()

    def work(m: nn.Module, x: Tensor) -> Tensor:
        y = m.norm(m.depthwise(x).permute(0, 2, 3, 1))
        y = m.down(m.response(functional.gelu(m.up(y)))) * m.scale
        return x + y.permute(0, 3, 1, 2)

    module = Function(
        work,
        depthwise=nn.Conv2d(channels, channels, 7, padding=3, groups=channels),
        norm=nn.LayerNorm(channels),
        up=nn.Linear(channels, 4 * channels),
        response=response,
        down=nn.Linear(4 * channels, channels),
        scale=torch.rand(channels),
    )
    return module, [Argument((batch, channels, side, side))]


@layer(_LIBRARY, "efficient channel attention", image=True)
def channel_attention(draw: Draw) -> Made:
    channels = draw.channels()

    def work(m: nn.Module, x: Tensor) -> Tensor:
        weights = torch.sigmoid(m.conv(x.mean((2, 3))[:, None]))[:, 0]
        return x * weights[:, :, None, None]

    conv = nn.Conv1d(1, 1, 3, padding=1, bias=False)
    return Function(work, conv=conv), [draw.picture(channels)]


@layer(_LIBRARY, "spatial attention", image=True)
def spatial_attention(draw: Draw) -> Made:
    channels = draw.channels()

    def work(m: nn.Module, x: Tensor) -> Tensor:
        summary = torch.cat((x.mean(1, keepdim=True), x.amax(1, keepdim=True)), 1)
        return x * torch.sigmoid(m.conv(summary))

    conv = nn.Conv2d(2, 1, 7, padding=3, bias=False)
    return Function(work, conv=conv), [draw.picture(channels)]


@layer(_LIBRARY, "pooling as mixing", image=True)
def pool_former(draw: Draw) -> Made:
    channels = draw.of(64, 96, 128, 320)
    pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        y = m.norm(x)
        return x + (m.pool(y) - y) * m.scale[:, None, None]

    module = Function(work, norm=nn.GroupNorm(1, channels), pool=pool, scale=torch.rand(channels))
    return module, [draw.picture(channels)]


@layer(_LIBRARY, "feature pyramid", image=True)
def pyramid(draw: Draw) -> Made:
    channels, inner, side = draw.of(64, 128, 256), draw.of(64, 128), draw.of(10, 16, 20, 28)
    batch = draw.of(1, 2)

    def work(m: nn.Module, low: Tensor, high: Tensor) -> Tensor:
        top = functional.interpolate(m.high(high), scale_factor=2.0, mode="nearest")
        return m.out(m.low(low) + top)

    module = Function(
        work,
        low=nn.Conv2d(channels, inner, 1),
        high=nn.Conv2d(2 * channels, inner, 1),
        out=nn.Conv2d(inner, inner, 3, padding=1),
    )
    low = Argument((batch, channels, 2 * side, 2 * side))
    return module, [low, Argument((batch, 2 * channels, side, side))]


@layer(_LIBRARY, "segmentation head", image=True, counts=(2, 3))
def segmentation_head(draw: Draw) -> Made:
    channels, classes, side = draw.of(64, 128, 256), draw.of(19, 21, 150), draw.of(16, 32, 33)
    scale = draw.of(4, 8) if draw.large else 4

    def work(m: nn.Module, x: Tensor) -> Tensor:
        y = m.classes(m.conv(x))
        size = (scale * side, scale * side)
        return functional.interpolate(y, size, mode="bilinear", align_corners=False)

    conv = normed(nn.Conv2d(channels, channels, 3, padding=1, bias=False), channels, "relu")
    module = Function(work, conv=conv, classes=nn.Conv2d(channels, classes, 1))
    return module, [Argument((1, channels, side, side))]


@layer(_LIBRARY, "pyramid pooling", image=True)
def pyramid_pooling(draw: Draw) -> Made:
    channels, side = draw.of(64, 128, 256), draw.of(12, 24, 36)

    def work(x: Tensor) -> Tensor:
        found = [x]
        for bins in (1, 2, 3, 6):
            pooled = functional.adaptive_avg_pool2d(x, bins)
            found.append(functional.interpolate(pooled, (side, side), mode="bilinear"))
        return torch.cat(found, 1)

    return Function(work), [Argument((draw.of(1, 2), channels, side, side))]


@layer(_LIBRARY, "split and shuffle unit", image=True, counts=(2, 2))
def shuffle_unit(draw: Draw) -> Made:
    half = draw.of(24, 58, 88, 116)
    depthwise = nn.Conv2d(half, half, 3, padding=1, groups=half, bias=False)
    parts = [
        normed(nn.Conv2d(half, half, 1, bias=False), half, "relu"),
        normed(depthwise, half, None),
        normed(nn.Conv2d(half, half, 1, bias=False), half, "relu"),
    ]

    def work(m: nn.Module, x: Tensor) -> Tensor:
        kept, used = x.chunk(2, 1)
        return functional.channel_shuffle(torch.cat((kept, m.inner(used)), 1), 2)

    return Function(work, inner=nn.Sequential(*parts)), [draw.picture(2 * half, 4)]


@layer(_LIBRARY, "dense block", image=True)
def dense_block(draw: Draw) -> Made:
    channels, growth = draw.of(64, 128, 256), draw.of(12, 32)
    layers = nn.ModuleList(
        nn.Sequential(
            nn.BatchNorm2d(channels + i * growth),
            nn.ReLU(),
            nn.Conv2d(channels + i * growth, growth, 3, padding=1, bias=False),
        )
        for i in range(3)
    )

    def work(m: nn.Module, x: Tensor) -> Tensor:
        for each in m.layers:
            x = torch.cat((x, each(x)), 1)
        return x

    return Function(work, layers=layers), [draw.picture(channels, 4)]


@layer(_LIBRARY, "window attention")
def window_attention(draw: Draw) -> Made:
    heads, window = draw.of(3, 4, 6, 12), draw.of(7, 8, 12)
    width, tokens = 32 * heads, window * window
    count = draw.of(4, 16, 64)
    table = torch.randn((2 * window - 1) ** 2, heads)
    place = torch.stack(torch.meshgrid(*[torch.arange(window)] * 2, indexing="ij")).flatten(1)
    distance = place[:, :, None] - place[:, None] + window - 1
    index = (distance[0] * (2 * window - 1) + distance[1]).flatten()

    def work(m: nn.Module, x: Tensor) -> Tensor:
        parts = m.qkv(x).reshape(count, tokens, 3, heads, 32).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        bias = m.table[m.index].view(tokens, tokens, heads).permute(2, 0, 1)
        scores = (q * 32**-0.5) @ k.transpose(-2, -1) + bias[None]
        return m.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(x.shape))

    module = Function(
        work, qkv=nn.Linear(width, 3 * width), table=table, out=nn.Linear(width, width)
    )
    module.register_buffer("index", index)
    return module, [Argument((count, tokens, width))]
