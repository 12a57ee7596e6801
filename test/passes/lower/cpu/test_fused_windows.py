# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions and pooling with their padding in front and what follows them."""

from __future__ import annotations

import numpy as np
import pytest

from xyntra.dialects.mlir import ir

from .fused_kernels import fused_kernel

RNG = np.random.default_rng(37)
F = "float32"
WINDOWS = [(1, 1, 0), (3, 1, 1), (3, 2, 1), (2, 2, 0), (5, 3, 2)]  # size, stride, padding


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def close(result: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(result, expected, rtol=5e-5, atol=5e-5)


def window(b, x, stride, size, channel):
    """The map that reads a window of `x`; loops are n, f, h, w, then c (or not), i, j."""
    rank = 7 if channel else 6
    with b.location:
        d = [ir.AffineDimExpr.get(i) for i in range(rank)]
        i, j = d[rank - 2 :]
        return ir.AffineMap.get(
            rank, 0, [d[0], d[4] if channel else d[1], d[2] * stride + i, d[3] * stride + j]
        )


def outputs(x, size, stride):
    return [(extent - size) // stride + 1 for extent in x.shape[2:]]


def convolution(b, x, w, stride, padding):
    x = b.pad(x, [0, 0, padding, padding], [0, 0, padding, padding], 0.0)
    size = w.shape[2]
    with b.location:
        d = [ir.AffineDimExpr.get(i) for i in range(7)]
        weights = ir.AffineMap.get(7, 0, [d[1], *d[4:]])
        write = ir.AffineMap.get(7, 0, d[:4])
    start = b.fill((x.shape[0], w.shape[0], *outputs(x, size, stride)), F, 0.0)
    return b.generic(
        [(x, window(b, x, stride, size, True)), (w, weights)],
        [(start, F, write)],
        ["parallel"] * 4 + ["reduction"] * 3,
        lambda p, q, total: total + p * q,
    )[0]


def pooling(b, x, w, stride, padding, combine, start):
    """Combines each window, weighted per channel where `w` holds (c, i, j)."""
    x = b.pad(x, [0, 0, padding, padding], [0, 0, padding, padding], start)
    size = w.shape[1]
    with b.location:
        d = [ir.AffineDimExpr.get(i) for i in range(6)]
        weights = ir.AffineMap.get(6, 0, [d[1], *d[4:]])
        write = ir.AffineMap.get(6, 0, d[:4])
    initial = b.fill((*x.shape[:2], *outputs(x, size, stride)), F, start)
    return b.generic(
        [(x, window(b, x, stride, size, False)), (w, weights)],
        [(initial, F, write)],
        ["parallel"] * 4 + ["reduction"] * 2,
        combine,
    )[0]


def finish(b, x, v, r=None):
    """Bias over channels, residual, relu."""
    operands = [x, v] if r is None else [x, v, r]
    return b.map(lambda *p: sum(p[1:], start=p[0]).maximum(0.0), *operands, dtype=F)


def windows(x: np.ndarray, size: int, stride: int, padding: int, fill: float) -> np.ndarray:
    edges = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    x = np.pad(x.astype(np.float64), edges, constant_values=fill)
    found = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
    return found[:, :, ::stride, ::stride]


@pytest.mark.parametrize(("size", "stride", "padding"), WINDOWS)
@pytest.mark.parametrize("shape", [(1, 3, 9, 9), (2, 8, 14, 14), (1, 4, 7, 33)])
@pytest.mark.parametrize("inplace", [False, True])
def test_convolution_with_bias_residual_and_relu(compiled, shape, size, stride, padding, inplace):
    x, w, v = normal(*shape), normal(13, shape[1], size, size), normal(13, 1, 1)
    exact = np.einsum("nchwij,fcij->nfhw", windows(x, size, stride, padding, 0.0), w) + v
    arrays = [x, w, v, normal(*exact.shape)]

    def build(b, x, w, v, r):
        return finish(b, convolution(b, x, w, stride, padding), v, r)

    text = fused_kernel(
        [(each.shape, F) for each in arrays], build, inplace=[(0, 3)] if inplace else []
    )
    close(compiled(text)(*arrays)[0], np.maximum(exact + arrays[3], 0))


@pytest.mark.parametrize(("size", "stride", "padding"), WINDOWS)
@pytest.mark.parametrize("shape", [(1, 3, 9, 9), (2, 8, 14, 14), (1, 4, 7, 33)])
def test_a_filter_of_its_own_for_each_channel(compiled, shape, size, stride, padding):
    x, w, v = normal(*shape), normal(shape[1], size, size), normal(shape[1], 1, 1)
    exact = np.einsum("nchwij,cij->nchw", windows(x, size, stride, padding, 0.0), w) + v
    arrays = [x, w, v]

    def build(b, x, w, v):
        total = pooling(b, x, w, stride, padding, lambda p, q, total: total + p * q, 0.0)
        return finish(b, total, v)

    text = fused_kernel([(each.shape, F) for each in arrays], build)
    close(compiled(text)(*arrays)[0], np.maximum(exact, 0))


@pytest.mark.parametrize(("size", "stride", "padding"), WINDOWS[1:])
@pytest.mark.parametrize("shape", [(1, 3, 9, 9), (2, 8, 14, 14), (1, 4, 7, 33)])
def test_largest_of_each_window(compiled, shape, size, stride, padding):
    x, shape_only = normal(*shape), np.zeros((shape[1], size, size), np.float32)
    x[0, 0, 3, 4], x[0, 1, 2] = np.nan, -np.inf
    low = float("-inf")

    def build(b, x, w):
        doubled = b.map(lambda p: p * 2.0, x, dtype=F)
        return pooling(b, doubled, w, stride, padding, lambda p, _, top: top.maximum(p), low)

    text = fused_kernel([(each.shape, F) for each in [x, shape_only]], build)
    (result,) = compiled(text)(x, shape_only)
    close(result, 2 * windows(x, size, stride, padding, low).max((4, 5)))


def test_one_padded_channel_is_all_that_is_kept(compiled):
    x, shape_only = normal(1, 32, 40, 40), np.zeros((32, 3, 3), np.float32)

    def build(b, x, w):
        return pooling(b, x, w, 2, 1, lambda p, _, top: top.maximum(p), float("-inf"))

    kernel = compiled(fused_kernel([(each.shape, F) for each in [x, shape_only]], build))
    close(kernel(x, shape_only)[0], windows(x, 3, 2, 1, -np.inf).max((4, 5)))
    assert kernel.lowered.scratch_bytes <= 2 * 42 * 42 * 4
