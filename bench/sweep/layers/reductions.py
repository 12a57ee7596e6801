# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions, statistics, scans and sorting along any dimension, as model code writes them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.sweep.modules import Function
from bench.sweep.row import Argument, Draw, layer

_LIBRARY = "torch"
Made = tuple[nn.Module, list[Argument]]


def _matrix(draw: Draw) -> Argument:
    narrow, limit = (
        draw.of(1, 3, 17, 64, 128, 500, 512, 1000, 2048),
        1 << (25 if draw.large else 19),
    )
    long = draw.of(100, 1000, 4096, 16384, 65536, 300000)
    return Argument((min(long, limit // narrow), narrow))


@layer(_LIBRARY, "mean and deviation of columns", counts=(4, 2))
def column_statistics(draw: Draw) -> Made:
    return Function(lambda x: (x.mean(0), x.std(0))), [_matrix(draw)]


@layer(_LIBRARY, "reduction of columns", counts=(4, 2))
def columns(draw: Draw) -> Made:
    name = draw.of("sum", "amax", "mean", "amin")
    return Function(lambda x: getattr(x, name)(0)), [_matrix(draw)]


@layer(_LIBRARY, "reduction of rows", counts=(3, 2))
def rows(draw: Draw) -> Made:
    name, matrix = draw.of("sum", "amax", "mean", "var"), _matrix(draw)
    keys = (-1,) if matrix.shape[1] > 1 else (0,)
    return Function(lambda x: getattr(x, name)(keys)), [matrix]


@layer(_LIBRARY, "statistics of channels", counts=(4, 2))
def batch_statistics(draw: Draw) -> Made:
    dims = draw.of((0, 2, 3), (2, 3), (1,), (1, 2, 3), (0, 1, 2))

    def work(x: Tensor) -> Tensor:
        variance, mean = torch.var_mean(x, dims, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + 1e-3)

    return Function(work), [draw.picture(draw.channels())]


@layer(_LIBRARY, "whole reduction")
def whole(draw: Draw) -> Made:
    def work(x: Tensor, y: Tensor) -> Tensor:
        return (x - y).square().mean()

    volume = draw.picture(draw.channels())
    return Function(work), [volume, volume]


@layer(_LIBRARY, "position of the largest", counts=(3, 2))
def argmax(draw: Draw) -> Made:
    dim = draw.of(0, 1)
    return Function(lambda x: x.argmax(dim)), [_matrix(draw)]


@layer(_LIBRARY, "running sum", counts=(3, 2))
def cumsum(draw: Draw) -> Made:
    dim = draw.of(0, 1)
    # The exporter writes results of f32 whatever the input is: PyTorch should, too.
    return Function(lambda x: x.cumsum(dim, dtype=torch.float32)), [_matrix(draw)]


@layer(_LIBRARY, "largest elements", counts=(4, 4))
def topk(draw: Draw) -> Made:
    rows, length = draw.of(1, 4, 64, 1000), draw.of(100, 1000, 8400, 20000, 80000)
    rows = min(rows, (1 << 24 if draw.large else 1 << 18) // length + 1)
    count = draw.of(1, 5, 50, 100, 300)
    module = Function(lambda x: x.topk(min(count, length), -1))
    return module, [Argument((rows, length))]


@layer(_LIBRARY, "sorting", counts=(2, 2))
def sorting(draw: Draw) -> Made:
    rows, length = draw.of(1, 16, 256), draw.of(64, 1000, 4096)
    down = draw.of(True, False)
    return Function(lambda x: x.sort(-1, descending=down)), [Argument((rows, length))]


@layer(_LIBRARY, "softmax over channels", counts=(3, 2))
def channel_softmax(draw: Draw) -> Made:
    return Function(lambda x: torch.softmax(x, 1)), [draw.picture(draw.channels())]


@layer(_LIBRARY, "softmax of rows", counts=(3, 1))
def softmax(draw: Draw) -> Made:
    return Function(lambda x: torch.softmax(x, -1)), [_matrix(draw)]


@layer(_LIBRARY, "sum of exponentials")
def logsumexp(draw: Draw) -> Made:
    dim = draw.of(0, 1)
    return Function(lambda x: torch.logsumexp(x, dim)), [_matrix(draw)]


@layer(_LIBRARY, "rows of unit length")
def unit_rows(draw: Draw) -> Made:
    return Function(lambda x: functional.normalize(x, dim=-1)), [_matrix(draw)]


@layer(_LIBRARY, "range of each image")
def value_range(draw: Draw) -> Made:
    def work(x: Tensor) -> Tensor:
        least, most = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
        return (x - least) / (most - least + 1e-3)

    return Function(work), [draw.picture(draw.channels())]


@layer(_LIBRARY, "distances of points")
def distances(draw: Draw) -> Made:
    rows, width = draw.of(100, 512, 2000), draw.of(2, 3, 64)

    def work(x: Tensor, y: Tensor) -> Tensor:
        squares = x.square().sum(-1, keepdim=True) + y.square().sum(-1)[..., None, :]
        return (squares - 2 * x @ y.transpose(-1, -2)).clamp(min=0).sqrt()

    return Function(work), [Argument((rows, width)), Argument((draw.of(64, 500), width))]
