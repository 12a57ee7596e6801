# SPDX-License-Identifier: MIT OR Apache-2.0
"""Single layers of timm's networks: convolutions, poolings, norms and moves of images."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.sweep.modules import Function, act, normed
from bench.sweep.row import Argument, Draw, layer

_LIBRARY = "timm"
Made = tuple[nn.Module, list[Argument]]


def _activation(draw: Draw) -> str:
    return str(draw.of("relu", "silu", "hardswish", "gelu", "leaky_relu"))


@layer(_LIBRARY, "3x3 convolution", image=True, counts=(6, 4))
def convolution(draw: Draw) -> Made:
    channels = draw.channels()
    outputs, stride = draw.of(channels, 2 * channels, channels + 8), draw.of(1, 1, 2)
    conv = nn.Conv2d(channels, outputs, 3, stride, 1, bias=False)
    return normed(conv, outputs, _activation(draw)), [draw.picture(channels, 4)]


@layer(_LIBRARY, "pointwise convolution", image=True, counts=(4, 4))
def pointwise(draw: Draw) -> Made:
    channels = draw.channels()
    outputs = draw.of(channels, 4 * channels, max(channels // 4, 8), 6 * channels)
    conv = nn.Conv2d(channels, outputs, 1, bias=False)
    return normed(conv, outputs, draw.of(None, _activation(draw))), [draw.picture(channels, 4)]


@layer(_LIBRARY, "stem", image=True, counts=(4, 4))
def stem(draw: Draw) -> Made:
    channels, inputs = draw.of(16, 24, 32, 40, 64, 96), draw.of(1, 3, 3)
    size, stride = draw.of((7, 2), (3, 2), (3, 1), (5, 2))
    conv = nn.Conv2d(inputs, channels, size, stride, size // 2, bias=False)
    image = draw.picture(channels, 1).channel(inputs)
    return normed(conv, channels, _activation(draw)), [image]


@layer(_LIBRARY, "patch embedding", image=True)
def patches(draw: Draw) -> Made:
    size, width = draw.of(4, 8, 14, 16, 32), draw.of(96, 192, 384, 768)
    count = draw.of(7, 14, 16)
    image = Argument((draw.batch(), 3, size * count, size * count))
    return nn.Conv2d(3, width, size, size), [image]


@layer(_LIBRARY, "depthwise convolution", image=True, counts=(8, 6))
def depthwise(draw: Draw) -> Made:
    channels, size, stride = draw.channels(), draw.of(3, 5, 7, 9), draw.of(1, 1, 2)
    conv = nn.Conv2d(channels, channels, size, stride, size // 2, groups=channels, bias=False)
    return normed(conv, channels, draw.of(None, _activation(draw))), [draw.picture(channels)]


@layer(_LIBRARY, "large depthwise convolution", image=True)
def large_depthwise(draw: Draw) -> Made:
    channels, size, side = draw.of(32, 64, 128, 192), draw.of(13, 21, 31), draw.of(14, 28, 56)
    conv = nn.Conv2d(channels, channels, size, padding=size // 2, groups=channels)
    batch = draw.of(1, 4, 8) if draw.large else 1
    return conv, [Argument((batch, channels, side, side))]


@layer(_LIBRARY, "grouped convolution", image=True, counts=(6, 4))
def grouped(draw: Draw) -> Made:
    inside, groups = draw.of(4, 8, 16, 24, 40, 64), draw.of(2, 4, 8, 32)
    channels, stride = inside * groups, draw.of(1, 1, 2)
    conv = nn.Conv2d(channels, channels, 3, stride, 1, groups=groups, bias=False)
    return normed(conv, channels, "relu"), [draw.picture(channels, 4)]


@layer(_LIBRARY, "dilated convolution", image=True, counts=(4, 4))
def dilated(draw: Draw) -> Made:
    channels, rate = draw.of(64, 128, 256, 512), draw.of(2, 4, 6, 12, 18)
    outputs = draw.of(64, 128, 256)
    conv = nn.Conv2d(channels, outputs, 3, padding=rate, dilation=rate, bias=False)
    batch, side = draw.of(1, 2, 8) if draw.large else 1, draw.of(14, 16, 28, 32, 33)
    return normed(conv, outputs, "relu"), [Argument((batch, channels, side, side))]


@layer(_LIBRARY, "factorized convolution", image=True)
def factorized(draw: Draw) -> Made:
    channels, size = draw.of(64, 96, 128, 192), draw.of(3, 7)
    across = nn.Conv2d(channels, channels, (1, size), padding=(0, size // 2), bias=False)
    down = nn.Conv2d(channels, channels, (size, 1), padding=(size // 2, 0), bias=False)
    parts = [normed(across, channels, "relu"), normed(down, channels, "relu")]
    return nn.Sequential(*parts), [draw.picture(channels, 4)]


@layer(_LIBRARY, "norm over channels", image=True, counts=(4, 2))
def layer_norm(draw: Draw) -> Made:
    channels = draw.channels()

    def work(m: nn.Module, x: Tensor) -> Tensor:
        return m.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    return Function(work, norm=nn.LayerNorm(channels)), [draw.picture(channels)]


@layer(_LIBRARY, "instance norm", image=True)
def instance_norm(draw: Draw) -> Made:
    channels = draw.channels()
    norm = nn.InstanceNorm2d(channels, affine=True)
    return nn.Sequential(norm, act("relu")), [draw.picture(channels)]


@layer(_LIBRARY, "norm over a whole image", image=True)
def one_group(draw: Draw) -> Made:
    channels = draw.channels()
    return nn.GroupNorm(1, channels), [draw.picture(channels)]


@layer(_LIBRARY, "max pooling", image=True, counts=(2, 2))
def max_pooling(draw: Draw) -> Made:
    channels = draw.channels()
    size, stride = draw.of((3, 2), (2, 2), (5, 1), (3, 1))
    return nn.MaxPool2d(size, stride, size // 2), [draw.picture(channels)]


@layer(_LIBRARY, "average pooling", image=True, counts=(2, 2))
def average_pooling(draw: Draw) -> Made:
    channels = draw.channels()
    size, stride = draw.of((3, 1), (2, 2), (3, 2))
    counted = draw.of(True, False)
    pool = nn.AvgPool2d(size, stride, size // 2, count_include_pad=counted)
    return pool, [draw.picture(channels)]


@layer(_LIBRARY, "blur pooling", image=True)
def blur_pooling(draw: Draw) -> Made:
    channels = draw.channels()
    taps = torch.tensor([1.0, 2.0, 1.0])
    kernel = (taps[:, None] * taps / 16).expand(channels, 1, 3, 3).clone()

    def work(m: nn.Module, x: Tensor) -> Tensor:
        padded = functional.pad(x, (1, 1, 1, 1), mode="reflect")
        return functional.conv2d(padded, m.kernel, stride=2, groups=channels)

    return Function(work, kernel=kernel), [draw.picture(channels)]


@layer(_LIBRARY, "global pooling and classifier", image=True)
def classifier(draw: Draw) -> Made:
    channels, side = draw.of(512, 960, 1280, 2048), draw.of(4, 7, 8, 12)
    linear = nn.Linear(channels, 1000)
    module = Function(lambda m, x: m.linear(x.mean((2, 3))), linear=linear)
    return module, [Argument((draw.batch(), channels, side, side))]


@layer(_LIBRARY, "channel shuffle", image=True)
def channel_shuffle(draw: Draw) -> Made:
    channels, groups = draw.of(48, 96, 116, 232), draw.of(2, 4)
    return nn.ChannelShuffle(groups), [draw.picture(channels)]


@layer(_LIBRARY, "activation", image=True, counts=(4, 2))
def activation(draw: Draw) -> Made:
    channels = draw.channels()
    name = draw.of("hardswish", "mish", "gelu", "silu")
    return act(name), [draw.picture(channels)]


@layer(_LIBRARY, "prelu and scale", image=True)
def prelu(draw: Draw) -> Made:
    channels = draw.channels()

    def work(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return m.prelu(x) * m.scale[:, None, None] + y

    image = draw.picture(channels)
    module = Function(work, prelu=nn.PReLU(channels), scale=torch.rand(channels))
    return module, [image, image]


@layer(_LIBRARY, "windows with shift")
def windows(draw: Draw) -> Made:
    channels, window = draw.of(96, 128, 192, 384), draw.of(7, 8)
    side, batch = window * draw.of(1, 2, 4, 8), draw.of(1, 2, 8)
    shift = draw.of(0, window // 2)
    count = side // window

    def work(m: nn.Module, x: Tensor) -> Tensor:
        y = m.norm(x).roll((-shift, -shift), (1, 2))
        y = y.view(batch, count, window, count, window, channels).transpose(2, 3)
        return m.linear(y.reshape(-1, window * window, channels))

    linear = nn.Linear(channels, 3 * channels)
    module = Function(work, norm=nn.LayerNorm(channels), linear=linear)
    return module, [Argument((batch, side, side, channels))]


@layer(_LIBRARY, "patch merging")
def merging(draw: Draw) -> Made:
    channels, side, batch = draw.of(96, 128, 192, 384), draw.of(14, 28, 56), draw.of(1, 2, 8)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        quarters = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        return m.linear(m.norm(torch.cat(quarters, -1)))

    linear = nn.Linear(4 * channels, 2 * channels, bias=False)
    module = Function(work, norm=nn.LayerNorm(4 * channels), linear=linear)
    return module, [Argument((batch, side, side, channels))]


@layer(_LIBRARY, "picture to tensor", image=True)
def picture(draw: Draw) -> Made:
    side = draw.of(224, 256, 384, 512)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        return (x.to(m.mean.dtype) / 255 - m.mean[:, None, None]) / m.deviation[:, None, None]

    module = Function(work, mean=torch.rand(3), deviation=0.5 + torch.rand(3))
    return module, [Argument((draw.of(1, 8), 3, side, side), "byte")]


@layer(_LIBRARY, "sampling at places")
def grid_sample(draw: Draw) -> Made:
    channels, side = draw.of(16, 32, 64), draw.of(20, 32, 56)
    batch = draw.of(1, 2, 4)

    def work(x: Tensor, grid: Tensor) -> Tensor:
        return functional.grid_sample(x, grid.tanh(), align_corners=False)

    return Function(work), [
        Argument((batch, channels, side, side)),
        Argument((batch, side, side, 2)),
    ]
