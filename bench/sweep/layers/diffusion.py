# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers of diffusers: U-Nets, autoencoders and diffusion transformers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.sweep.modules import Function, RMSNorm
from bench.sweep.row import Argument, Draw, layer

_LIBRARY = "diffusers"
Made = tuple[nn.Module, list[Argument]]


def _channels(draw: Draw) -> int:
    return int(draw.of(64, 128, 320, 640, 1280) if draw.large else draw.of(32, 64, 128, 320))


def _image(draw: Draw, channels: int, heavy: int = 1) -> Argument:
    batch, height, width = draw.image(channels * heavy)
    return Argument((batch, channels, max(height, 8) // 8 * 8, max(width, 8) // 8 * 8))


@layer(_LIBRARY, "group norm and silu", image=True, counts=(6, 2))
def group_norm_silu(draw: Draw) -> Made:
    channels = draw.of(64, 128, 256, 320, 512, 640)
    norm = nn.GroupNorm(draw.of(8, 16, 32), channels)
    return Function(lambda m, x: functional.silu(m.norm(x)), norm=norm), [_image(draw, channels)]


@layer(_LIBRARY, "residual block", image=True, counts=(4, 2))
def residual_block(draw: Draw) -> Made:
    channels = _channels(draw)
    wider = draw.of(channels, 2 * channels)
    image = _image(draw, channels, 8)

    def work(m: nn.Module, x: Tensor, time: Tensor) -> Tensor:
        y = m.first(functional.silu(m.norm(x)))
        y = y + m.time(functional.silu(time))[:, :, None, None]
        return m.second(functional.silu(m.other(y))) + m.shortcut(x)

    same = wider == channels
    module = Function(
        work,
        norm=nn.GroupNorm(32, channels),
        first=nn.Conv2d(channels, wider, 3, padding=1),
        time=nn.Linear(256, wider),
        other=nn.GroupNorm(32, wider),
        second=nn.Conv2d(wider, wider, 3, padding=1),
        shortcut=nn.Identity() if same else nn.Conv2d(channels, wider, 1),
    )
    return module, [image, Argument((image.shape[0], 256))]


@layer(_LIBRARY, "nearest upsampling and convolution", image=True)
def upsample(draw: Draw) -> Made:
    channels = _channels(draw)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        return m.conv(functional.interpolate(x, scale_factor=2.0, mode="nearest"))

    conv = nn.Conv2d(channels, channels, 3, padding=1)
    return Function(work, conv=conv), [_image(draw, channels, 16)]


@layer(_LIBRARY, "downsampling", image=True)
def downsample(draw: Draw) -> Made:
    channels = _channels(draw)
    conv = nn.Conv2d(channels, channels, 3, stride=2)
    module = Function(lambda m, x: m.conv(functional.pad(x, (0, 1, 0, 1))), conv=conv)
    return module, [_image(draw, channels, 8)]


@layer(_LIBRARY, "first and last convolution", image=True)
def ends(draw: Draw) -> Made:
    channels = draw.of(64, 128, 320)
    few = draw.of(3, 4, 8, 16)
    ends = draw.of((few, channels), (channels, few))
    return nn.Conv2d(*ends, 3, padding=1), [_image(draw, max(ends), 2).channel(ends[0])]


@layer(_LIBRARY, "skip connection", image=True)
def skip(draw: Draw) -> Made:
    channels = _channels(draw)
    image = _image(draw, channels, 4)
    module = Function(
        lambda m, x, y: m.conv(functional.silu(torch.cat((x, y), 1))),
        conv=nn.Conv2d(2 * channels, channels, draw.of(1, 3), padding="same"),
    )
    return module, [image, image]


@layer(_LIBRARY, "transposed convolution", image=True, counts=(4, 2))
def transposed(draw: Draw) -> Made:
    channels = draw.of(16, 32, 64, 128, 256)
    size, stride, padding, extra = draw.of((4, 2, 1, 0), (2, 2, 0, 0), (3, 2, 1, 1), (8, 4, 2, 0))
    options = {"stride": stride, "padding": padding, "output_padding": extra}
    conv = nn.ConvTranspose2d(channels, max(channels // 2, 8), size, **options)
    return conv, [_image(draw, channels, 2 * stride * stride)]


@layer(_LIBRARY, "gated feed-forward")
def geglu(draw: Draw) -> Made:
    width = draw.of(320, 640, 1280) if draw.large else draw.of(64, 128, 320)

    def work(m: nn.Module, x: Tensor) -> Tensor:
        value, gate = m.up(x).chunk(2, -1)
        return m.down(value * functional.gelu(gate))

    module = Function(work, up=nn.Linear(width, 8 * width), down=nn.Linear(4 * width, width))
    return module, [Argument((*draw.rows(8 * width), width))]


@layer(_LIBRARY, "time embedding")
def time_embedding(draw: Draw) -> Made:
    width, hidden = draw.of(128, 256, 320), draw.of(512, 1280)
    batch = draw.of(1, 2, 8)

    def work(m: nn.Module, time: Tensor) -> Tensor:
        rates = torch.exp(-math.log(10000.0) * torch.arange(width // 2, device=time.device) / width)
        angles = time[:, None].float() * rates[None]
        waves = torch.cat((angles.cos(), angles.sin()), -1).to(m.first.weight.dtype)
        return m.second(functional.silu(m.first(waves)))

    module = Function(work, first=nn.Linear(width, hidden), second=nn.Linear(hidden, hidden))
    return module, [Argument((batch,), "index", 1000)]


@layer(_LIBRARY, "modulated norm", counts=(3, 1))
def modulated(draw: Draw) -> Made:
    width = draw.width()
    batch, tokens = draw.rows(width)

    def work(m: nn.Module, x: Tensor, time: Tensor) -> Tensor:
        shift, scale, gate = m.linear(functional.silu(time))[:, None].chunk(3, -1)
        return x + gate * (m.norm(x) * (1 + scale) + shift)

    norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
    module = Function(work, linear=nn.Linear(width, 3 * width), norm=norm)
    return module, [Argument((batch, tokens, width)), Argument((batch, width))]


@layer(_LIBRARY, "attention over pixels", image=True)
def pixel_attention(draw: Draw) -> Made:
    channels = draw.of(64, 128, 256, 512) if draw.large else draw.of(32, 64)
    side = draw.of(8, 16, 32)
    batch = draw.of(1, 2, 4)
    parts = {name: nn.Linear(channels, channels) for name in ("q", "k", "v", "out")}

    def work(m: nn.Module, x: Tensor) -> Tensor:
        y = m.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (part(y)[:, None] for part in (m.q, m.k, m.v))
        found = functional.scaled_dot_product_attention(q, k, v)[:, 0]
        return x + m.out(found).transpose(1, 2).reshape(x.shape)

    module = Function(work, norm=nn.GroupNorm(16, channels), **parts)
    return module, [Argument((batch, channels, side, side))]


@layer(_LIBRARY, "normed and rotated queries")
def normed_queries(draw: Draw) -> Made:
    head, heads = draw.of(64, 80, 128), draw.of(4, 8, 16)
    batch, tokens = draw.rows(head * heads)

    def work(m: nn.Module, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = m.norm(x.view(batch, tokens, heads, head)).transpose(1, 2)
        real, imaginary = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
        other = torch.stack((-imaginary, real), -1).flatten(3)
        return (x.float() * cos + other.float() * sin).to(x.dtype)

    angles = Argument((tokens, head))
    return Function(work, norm=RMSNorm(head)), [
        Argument((batch, tokens, heads * head)),
        angles,
        angles,
    ]


@layer(_LIBRARY, "convolution of videos")
def video(draw: Draw) -> Made:
    channels = draw.of(16, 32, 64, 128) if draw.large else draw.of(8, 16, 32)
    size, padding = draw.of((3, 1), ((3, 1, 1), (1, 0, 0)), ((1, 3, 3), (0, 1, 1)))
    frames, side = draw.of(5, 8, 16), draw.of(16, 28, 32)
    conv = nn.Conv3d(channels, channels, size, padding=padding)
    return Function(lambda m, x: functional.silu(m.conv(x)), conv=conv), [
        Argument((1, channels, frames, side, side))
    ]


@layer(_LIBRARY, "pixels to channels and back", image=True, counts=(4, 2))
def pixels(draw: Draw) -> Made:
    channels, factor = draw.of(16, 32, 64, 128), 2
    image = _image(draw, channels, 2)
    if draw.of(True, False):
        return nn.PixelShuffle(factor), [image]
    return nn.PixelUnshuffle(factor), [image]


@layer(_LIBRARY, "enlargement", image=True, counts=(6, 4))
def enlargement(draw: Draw) -> Made:
    channels = draw.of(1, 3, 16, 32, 64, 128)
    mode = draw.of("bilinear", "bilinear", "nearest", "bicubic")
    scale, corners = draw.of(2.0, 4.0, 1.5, 8.0, 0.5), draw.of(True, False)
    options = {} if mode == "nearest" else {"align_corners": corners}

    def work(x: Tensor) -> Tensor:
        return functional.interpolate(x, scale_factor=scale, mode=mode, **options)

    return Function(work), [_image(draw, channels, max(int(scale * scale), 1))]
