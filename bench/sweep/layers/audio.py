# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers of torchaudio's models and features: convolutions over time, spectra, recurrence."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.sweep.modules import Function, act
from bench.sweep.row import Argument, Draw, layer

_LIBRARY = "torchaudio"
Made = tuple[nn.Module, list[Argument]]


def _signal(draw: Draw, channels: int, heavy: int = 1) -> Argument:
    limit = (1 << 24 if draw.large else 1 << 19) // (channels * heavy)
    length = draw.of(100, 249, 500, 1000, 2000, 3000, 8000, 16000)
    batch = draw.of(1, 1, 4, 8) if draw.large else 1
    return Argument((batch, channels, min(length, max(limit // batch, 50))))


@layer(_LIBRARY, "convolution over time", counts=(4, 2))
def convolution(draw: Draw) -> Made:
    channels = draw.of(64, 80, 128, 256, 512)
    size, stride = draw.of((3, 1), (3, 2), (5, 1), (7, 1), (1, 1))
    conv = nn.Conv1d(channels, draw.of(channels, 2 * channels), size, stride, size // 2)
    return nn.Sequential(conv, act("gelu")), [_signal(draw, channels, 4)]


@layer(_LIBRARY, "first convolution of a wave")
def wave(draw: Draw) -> Made:
    channels, (size, stride) = draw.of(128, 256, 512), draw.of((10, 5), (16, 8), (20, 10))
    length = draw.of(8000, 16000, 32000)
    conv = nn.Conv1d(1, channels, size, stride, bias=False)
    parts = [conv, nn.GroupNorm(channels, channels), act("gelu")]
    return nn.Sequential(*parts), [Argument((draw.of(1, 4), 1, length))]


@layer(_LIBRARY, "dilated depthwise block", counts=(4, 2))
def separation(draw: Draw) -> Made:
    channels, wide, rate = draw.of(64, 128), draw.of(128, 256, 512), draw.of(1, 2, 8, 32, 128)
    parts = [
        nn.Conv1d(channels, wide, 1),
        nn.PReLU(),
        nn.GroupNorm(1, wide, 1e-8),
        nn.Conv1d(wide, wide, 3, padding=rate, dilation=rate, groups=wide),
        nn.PReLU(),
        nn.GroupNorm(1, wide, 1e-8),
        nn.Conv1d(wide, channels, 1),
    ]
    module = Function(lambda m, x: x + m.inner(x), inner=nn.Sequential(*parts))
    return module, [_signal(draw, channels, 4)]


@layer(_LIBRARY, "depthwise convolution over time", counts=(4, 2))
def depthwise(draw: Draw) -> Made:
    channels, size, rate = draw.of(64, 144, 256, 512), draw.of(3, 7, 15, 31), draw.of(1, 1, 4)
    padding = (size // 2) * rate
    conv = nn.Conv1d(channels, channels, size, padding=padding, dilation=rate, groups=channels)
    return nn.Sequential(conv, act("silu")), [_signal(draw, channels)]


@layer(_LIBRARY, "transposed convolution over time", counts=(4, 2))
def transposed(draw: Draw) -> Made:
    channels = draw.of(32, 64, 128, 256, 512)
    size, stride = draw.of((16, 8), (4, 2), (8, 4), (10, 5), (3, 2))
    conv = nn.ConvTranspose1d(channels, max(channels // 2, 1), size, stride, (size - stride) // 2)
    return nn.Sequential(act("leaky_relu"), conv), [_signal(draw, channels, 4 * stride)]


@layer(_LIBRARY, "residual block of a vocoder")
def vocoder(draw: Draw) -> Made:
    channels, size = draw.of(32, 64, 128, 256), draw.of(3, 7, 11)
    rates = draw.of((1, 3, 5), (1, 2))
    convolutions = nn.ModuleList(
        nn.Conv1d(channels, channels, size, padding=size // 2 * rate, dilation=rate)
        for rate in rates
    )

    def work(m: nn.Module, x: Tensor) -> Tensor:
        for each in m.convolutions:
            x = x + each(functional.leaky_relu(x, 0.1))
        return x

    return Function(work, convolutions=convolutions), [_signal(draw, channels, 4)]


@layer(_LIBRARY, "convolution module of Conformer")
def conformer(draw: Draw) -> Made:
    width, size, tokens = draw.of(144, 256, 512), draw.of(15, 31), draw.of(50, 100, 249, 500)
    parts = [
        nn.Conv1d(width, 2 * width, 1),
        nn.GLU(1),
        nn.Conv1d(width, width, size, padding=size // 2, groups=width),
        nn.BatchNorm1d(width),
        nn.SiLU(),
        nn.Conv1d(width, width, 1),
    ]

    def work(m: nn.Module, x: Tensor) -> Tensor:
        return x + m.inner(m.norm(x).transpose(1, 2)).transpose(1, 2)

    module = Function(work, inner=nn.Sequential(*parts), norm=nn.LayerNorm(width))
    return module, [Argument((draw.of(1, 4), tokens, width))]


@layer(_LIBRARY, "positions by grouped convolution")
def positions(draw: Draw) -> Made:
    width, tokens = draw.of(256, 512, 768), draw.of(49, 149, 249)
    conv = nn.Conv1d(width, width, 64, padding=32, groups=16)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        found = m.conv(x.transpose(1, 2))[..., :-1]
        return x + functional.gelu(found).transpose(1, 2)

    return Function(work, conv=conv), [Argument((draw.of(1, 4), tokens, width))]


@layer(_LIBRARY, "snake activation")
def snake(draw: Draw) -> Made:
    channels = draw.of(32, 64, 128, 256)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        rate = m.rate[:, None]
        return x + torch.sin(x * rate).square() / (rate + 1e-3)

    return Function(work, rate=0.5 + torch.rand(channels)), [_signal(draw, channels)]


@layer(_LIBRARY, "mel spectrum")
def mel(draw: Draw) -> Made:
    bins, bands = draw.of(201, 257, 513), draw.of(40, 80, 128)
    frames = draw.of(100, 500, 1000, 3000)

    def work(m: nn.Module, real: Tensor, imaginary: Tensor) -> Tensor:
        power = real.square() + imaginary.square()
        return torch.log(m.bank.t() @ power + 1e-3)

    spectrum = Argument((draw.of(1, 4), bins, frames))
    return Function(work, bank=torch.rand(bins, bands)), [spectrum, spectrum]


@layer(_LIBRARY, "normalisation over time")
def normalisation(draw: Draw) -> Made:
    bands, frames = draw.of(40, 80, 128), draw.of(100, 500, 1000, 3000)

    def work(x: Tensor) -> Tensor:
        mean, deviation = x.mean(1, keepdim=True), x.std(1, keepdim=True)
        return (x - mean) / (deviation + 1e-3)

    return Function(work), [Argument((draw.of(1, 4, 16), frames, bands))]


@layer(_LIBRARY, "decibels below the loudest")
def decibels(draw: Draw) -> Made:
    bands, frames = draw.of(80, 128), draw.of(500, 1000, 3000)

    def work(x: Tensor) -> Tensor:
        found = torch.log10(x.abs().clamp(min=1e-4)) * 10
        return torch.maximum(found, found.amax((1, 2), keepdim=True) - 80)

    return Function(work), [Argument((draw.of(1, 4, 16), bands, frames))]


@layer(_LIBRARY, "statistics over time")
def statistics(draw: Draw) -> Made:
    channels = draw.of(256, 512, 1500)

    def work(x: Tensor) -> Tensor:
        return torch.cat((x.mean(2), x.std(2)), 1)

    return Function(work), [_signal(draw, channels)]


@layer(_LIBRARY, "frames of a wave")
def frames(draw: Draw) -> Made:
    size, step, length = draw.of((400, 160, 16000), (512, 128, 16384), (1024, 256, 32768))
    window = torch.hann_window(size)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        x = torch.cat((x[:, :1], x[:, 1:] - 0.97 * x[:, :-1]), 1)
        return x.unfold(1, size, step) * m.window

    return Function(work, window=window), [Argument((draw.of(1, 8), length))]


@layer(_LIBRARY, "recurrence", counts=(1, 2))
def recurrence(draw: Draw) -> Made:
    kind, width = draw.of(nn.LSTM, nn.GRU), draw.of(64, 128, 256)
    inner = kind(width, width, batch_first=True, bidirectional=draw.of(False, True))
    module = Function(lambda m, x: m.inner(x)[0], inner=inner)
    return module, [Argument((draw.of(1, 4), draw.of(20, 50, 100), width))]
