# SPDX-License-Identifier: MIT OR Apache-2.0
"""Moves of elements, selections, arithmetic and plain products, as model code writes them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.sweep.modules import Function
from bench.sweep.row import Argument, Draw, layer

_LIBRARY = "torch"
Made = tuple[nn.Module, list[Argument]]


def _tokens(draw: Draw) -> Argument:
    width = draw.width()
    return Argument((*draw.rows(width), width))


@layer(_LIBRARY, "permutation", counts=(5, 3))
def permutation(draw: Draw) -> Made:
    order = draw.of((0, 2, 1), (1, 0, 2), (2, 1, 0), (2, 0, 1))
    # clone() and not contiguous(), which copies nothing where dimensions of one element move
    return Function(lambda x: x.permute(order).clone(memory_format=torch.contiguous_format)), [
        _tokens(draw)
    ]


@layer(_LIBRARY, "permutation of images", counts=(3, 2))
def image_permutation(draw: Draw) -> Made:
    order = draw.of((0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2), (2, 3, 0, 1))
    return Function(lambda x: torch.relu(x.permute(order)).contiguous()), [
        draw.picture(draw.channels())
    ]


@layer(_LIBRARY, "concatenation", counts=(4, 2))
def concatenation(draw: Draw) -> Made:
    tokens, dim = _tokens(draw), draw.of(1, 2)
    other = list(tokens.shape)
    other[dim] = draw.of(other[dim], max(other[dim] // 2, 1), 1)
    module = Function(lambda x, y: functional.gelu(torch.cat((x, y, x), dim)))
    return module, [tokens, Argument(tuple(other))]


@layer(_LIBRARY, "interleaving")
def interleaving(draw: Draw) -> Made:
    tokens, dim = _tokens(draw), draw.of(2, 3)

    def work(x: Tensor, y: Tensor) -> Tensor:
        return torch.stack((x * 2, y + 1), dim).flatten(dim - 1, dim)

    return Function(work), [tokens, tokens]


@layer(_LIBRARY, "padding", counts=(4, 2))
def padding(draw: Draw) -> Made:
    mode, sizes = draw.of("constant", "reflect", "replicate"), draw.of((1, 1, 1, 1), (3, 2, 0, 1))
    return Function(lambda x: functional.pad(x, sizes, mode)), [draw.picture(draw.channels())]


@layer(_LIBRARY, "flip and roll")
def flip_and_roll(draw: Draw) -> Made:
    dim, by = draw.of(2, 3), draw.of(1, 3)
    return Function(lambda x: x.flip(dim) + x.roll(by, dim)), [draw.picture(draw.channels())]


@layer(_LIBRARY, "strided slices")
def slices(draw: Draw) -> Made:
    def work(x: Tensor) -> Tensor:
        return x[:, :, ::2, ::2] + x[:, :, 1::2, 1::2]

    volume = draw.picture(draw.channels())
    n, c, h, w = volume.shape
    return Function(work), [Argument((n, c, h // 2 * 2 or 2, w // 2 * 2 or 2))]


@layer(_LIBRARY, "rows at places", counts=(3, 2))
def gathered(draw: Draw) -> Made:
    rows, width, count = (
        draw.of(100, 1000, 50000),
        draw.of(3, 16, 64, 300),
        draw.of(77, 4096, 20000),
    )
    return Function(lambda x, at: x[at] * 2), [
        Argument((rows, width)),
        Argument((count,), "index", rows),
    ]


@layer(_LIBRARY, "elements at places")
def taken(draw: Draw) -> Made:
    rows, width, count = draw.of(16, 256, 1000), draw.of(64, 1000), draw.of(1, 10, 64)
    return Function(lambda x, at: torch.gather(x, 1, at)), [
        Argument((rows, width)),
        Argument((rows, count), "index", width),
    ]


@layer(_LIBRARY, "choice by a mask")
def choice(draw: Draw) -> Made:
    tokens = _tokens(draw)

    def work(x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        return torch.where(mask, x, y.clamp(-1, 1)).masked_fill(~mask, 0.5)

    return Function(work), [tokens, tokens, Argument(tokens.shape, "mask")]


@layer(_LIBRARY, "arithmetic with broadcasts", counts=(4, 2))
def broadcasts(draw: Draw) -> Made:
    volume = draw.picture(draw.channels())
    n, c, h, w = volume.shape
    shape = draw.of((c, 1, 1), (n, c, 1, 1), (h, w), (n, 1, h, w), (1, c, 1, w))

    def work(x: Tensor, a: Tensor, y: Tensor) -> Tensor:
        return torch.tanh(x * a + 1) * y

    return Function(work), [volume, Argument(shape), volume]


@layer(_LIBRARY, "long chain of functions", counts=(3, 2))
def chain(draw: Draw) -> Made:
    def work(x: Tensor, y: Tensor) -> Tensor:
        z = torch.exp(-x.abs()) * torch.sin(y) + torch.log1p(x.square())
        return torch.sigmoid(z) * torch.erf(x - y) / (1 + y.square())

    tokens = _tokens(draw)
    return Function(work), [tokens, tokens]


@layer(_LIBRARY, "outer product and sum")
def outer(draw: Draw) -> Made:
    rows, columns = draw.of(64, 500, 2048), draw.of(64, 500, 2048)

    def work(x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(x[:, None] + y[None] * 0.5)

    return Function(work), [Argument((rows,)), Argument((columns,))]


@layer(_LIBRARY, "triangle")
def triangle(draw: Draw) -> Made:
    size, count = draw.of(64, 200, 512), draw.of(1, 8, 16)
    return Function(lambda x: x.tril(-1) * 2), [Argument((count, size, size))]


@layer(_LIBRARY, "product", counts=(6, 4))
def product(draw: Draw) -> Made:
    m = draw.of(1, 2, 7, 16, 33, 100, 128, 500, 1024, *((4096,) if draw.large else ()))
    n, k = draw.of(10, 64, 100, 384, 777, 1024, 2048), draw.of(32, 72, 100, 384, 1000, 2048)
    turned = draw.of((False, False), (False, True), (True, False))

    def work(a: Tensor, b: Tensor) -> Tensor:
        return (a.t() if turned[0] else a) @ (b.t() if turned[1] else b)

    a, b = ((k, m) if turned[0] else (m, k)), ((n, k) if turned[1] else (k, n))
    return Function(work), [Argument(a), Argument(b)]


@layer(_LIBRARY, "batched product", counts=(4, 3))
def batched_product(draw: Draw) -> Made:
    count, m = draw.of(3, 8, 32, 96), draw.of(1, 32, 49, 77, 128, 200)
    n, k = draw.of(32, 49, 64, 77, 128, 300), draw.of(16, 32, 49, 64, 80, 128)
    equation = draw.of("bmk,bkn->bmn", "bmk,bnk->bmn", "bkm,bkn->bmn", "bmk,kn->bmn")
    left, right = equation.split("->")[0].split(",")
    sizes = dict(zip("bmnk", (count, m, n, k), strict=True))
    shapes = [tuple(sizes[each] for each in part) for part in (left, right)]
    return Function(lambda a, b: torch.einsum(equation, a, b)), [Argument(each) for each in shapes]


@layer(_LIBRARY, "weights of eight bits")
def dequantized(draw: Draw) -> Made:
    width, hidden = draw.of(512, 1024, 2048), draw.of(512, 1024, 2048)

    def work(m: nn.Module, x: Tensor, weights: Tensor) -> Tensor:
        return x @ ((weights.to(x.dtype) - 128) * m.scale)

    module = Function(work, scale=torch.rand(hidden) / 1000)
    return module, [Argument((draw.of(1, 16, 256), width)), Argument((width, hidden), "byte")]


@layer(_LIBRARY, "repetition")
def repetition(draw: Draw) -> Made:
    tokens, times = _tokens(draw), draw.of(2, 4)
    limit = Argument((1, *tokens.shape[1:]))
    dim = draw.of(0, 1)
    return Function(lambda x: x.repeat_interleave(times, dim) + 1), [limit]
