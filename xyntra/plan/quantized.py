# SPDX-License-Identifier: MIT OR Apache-2.0
"""Quantizes weights of products to 4 or 8 bits, by blocks along the sum, when a model is loaded."""

from __future__ import annotations

from typing import Any

import numpy as np

from xyntra.errors import ModelError
from xyntra.passes.precision.weight_part import BLOCK, PARTS

__all__ = ["quantized_weight"]

Array = np.ndarray[Any, Any]

_CHUNK = 1 << 20  # elements that are quantized at once
_LARGEST = 65504.0  # in f16


def quantized_weight(name: str, weight: Array, bits: int, *, turned: bool) -> dict[str, Array]:
    """Return the parts of a weight [N, K], or `turned` [K, N].

    Scales are of f16. Each block of 4 bits is symmetric or has a zero point, whichever has the
    smaller error; blocks of 8 bits are symmetric.

    Raises:
        ModelError: `weight-overflow`, a value is not finite or f16 cannot hold its scale.
    """
    rows = weight.T if turned else weight
    columns, steps = rows.shape
    blocks = -(-steps // BLOCK)
    parts = {
        "integers": np.empty((columns, blocks, BLOCK * bits // 8), np.uint8),
        "scales": np.empty((columns, blocks), np.float16),
        "zeros": np.empty((columns, blocks), np.uint8),
    }
    count = max(1, _CHUNK // max(1, steps))
    for first in range(0, columns, count):
        part = np.zeros((min(count, columns - first), blocks * BLOCK), np.float32)
        part[:, :steps] = rows[first : first + count]
        values = part.reshape(-1, blocks, BLOCK)
        _check(name, values, bits)
        found = _of_4_bits(values) if bits == 4 else _of_8_bits(values)
        for each, array in zip(PARTS, found, strict=True):
            parts[each][first : first + count] = array
    if bits == 8:
        del parts["zeros"]
    for array in parts.values():
        array.flags.writeable = False
    return parts


def _check(name: str, values: Array, bits: int) -> None:
    largest = float(np.abs(values).max(initial=0.0))
    if not largest <= _LARGEST * (7 if bits == 4 else 127):
        raise ModelError(
            "weight-overflow",
            f"the weight '{name}' has values that {bits} bits with scales of f16 cannot hold",
            cause=f"the largest magnitude is {largest:g}",
            hint="leave out precision",
        )


def _of_8_bits(values: Array) -> tuple[Array, Array, Array]:
    scales = (np.abs(values).max(-1) / 127).astype(np.float16)
    integers = np.clip(_divided(values, scales) + 128, 1, 255).astype(np.uint8)
    return integers, scales, np.full(scales.shape, 128, np.uint8)


def _of_4_bits(values: Array) -> tuple[Array, Array, Array]:
    # The value of the largest magnitude becomes -8, of either sign: the range has one more there.
    place = np.abs(values).argmax(-1)[..., None]
    symmetric = (np.take_along_axis(values, place, -1)[..., 0] / -8).astype(np.float16)
    eight = np.full(symmetric.shape, 8, np.float32)
    low, high = np.minimum(values.min(-1), 0), np.maximum(values.max(-1), 0)
    scales = ((high - low) / 15).astype(np.float16)
    zeros = np.clip(_divided(-low[..., None], scales)[..., 0], 0, 15)
    first, first_error = _rounded(values, symmetric, eight)
    second, second_error = _rounded(values, scales, zeros)
    is_second = second_error < first_error
    integers = np.where(is_second[..., None], second, first).astype(np.uint8)
    packed = integers[..., ::2] | integers[..., 1::2] << 4
    scales = np.where(is_second, scales, symmetric)
    return packed, scales, np.where(is_second, zeros, eight).astype(np.uint8)


def _rounded(values: Array, scales: Array, zeros: Array) -> tuple[Array, Array]:
    """Return integers from 0 to 15, and the sum of squared errors of every block."""
    integers = np.clip(_divided(values, scales) + zeros[..., None], 0, 15)
    found = (integers - zeros[..., None]) * scales.astype(np.float32)[..., None]
    return integers, np.square(found - values).sum(-1)


def _divided(values: Array, scales: Array) -> Array:
    """Return the integers nearest to `values` in units of the scales; 0 where a scale is 0."""
    wide = scales.astype(np.float32)[..., None]
    return np.rint(np.divide(values, wide, out=np.zeros_like(values), where=wide != 0))
