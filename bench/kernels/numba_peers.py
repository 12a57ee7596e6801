# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the kernels as loops for numba, by the name of the case, where one would do so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

__all__ = ["PEERS"]


@numba.njit(fastmath=True)
def gelu(x: Any, bias: Any) -> Any:
    out = np.empty_like(x)
    rows, last = x.reshape(-1, bias.size), out.reshape(-1, bias.size)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            y = rows[i, j] + bias[j]
            last[i, j] = np.float32(0.5) * y * (1 + math.erf(y * np.float32(0.70710678)))
    return out


@numba.njit(fastmath=True)
def softmax(x: Any) -> Any:
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        largest = x[i].max()
        total = np.float32(0)
        for j in range(x.shape[1]):
            out[i, j] = math.exp(x[i, j] - largest)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


@numba.njit(fastmath=True)
def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    out = np.empty_like(x)
    size = np.float32(x.shape[1])
    for i in range(x.shape[0]):
        mean, square = np.float32(0), np.float32(0)
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= size
        for j in range(x.shape[1]):
            square += (x[i, j] - mean) ** 2
        root = np.float32(1) / math.sqrt(square / size + np.float32(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * root * scale[j] + bias[j]
    return out


@numba.njit(fastmath=True)
def rms_norm(x: Any, scale: Any, eps: float) -> Any:
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        square = np.float32(0)
        for j in range(x.shape[1]):
            square += x[i, j] * x[i, j]
        root = np.float32(1 / math.sqrt(square / x.shape[1] + eps))
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * root * scale[j]
    return out


@numba.njit(fastmath=True)
def chain(x: Any, y: Any, z: Any) -> Any:
    out = np.empty_like(x)
    a, b, c, last = x.ravel(), y.ravel(), z.ravel(), out.ravel()
    for i in range(a.size):
        one = np.float32(1)
        s = one / (one + math.exp(-a[i] * b[i])) * math.tanh(b[i] - c[i])
        s += a[i] if c[i] > 0 else b[i] * np.float32(0.1)
        last[i] = math.sqrt(s * s + one) * math.exp(-abs(c[i])) + max(a[i], c[i])
    return out


@numba.njit(fastmath=True)
def moments(x: Any) -> Any:
    out = np.empty(x.shape[0], x.dtype)
    for i in range(x.shape[0]):
        mean, square = np.float32(0), np.float32(0)
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= np.float32(x.shape[1])
        for j in range(x.shape[1]):
            square += (x[i, j] - mean) ** 2
        out[i] = mean + square / np.float32(x.shape[1])
    return out


PEERS: dict[str, Callable[..., Any]] = {
    "call of 64 elements": gelu,
    "bias and GELU": gelu,
    "softmax": softmax,
    "layer norm": layer_norm,
    "RMS norm": rms_norm,
    "chain of 14": chain,
    "mean and variance": moments,
}
