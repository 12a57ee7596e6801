# SPDX-License-Identifier: MIT OR Apache-2.0
"""Discrete Fourier transforms, as products with tables, and the windows that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from xyntra.dialects.builder import Tensor
from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast

MAX_TABLE = 2**26
"""Most elements of a table; a transform of 4096 points, complex in and out, takes as many."""

_FLOAT = 1
_WINDOWS: dict[str, tuple[float, ...]] = {
    "HannWindow": (0.5, 0.5),
    "HammingWindow": (25 / 46, 21 / 46),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}
"""Factors of cosines of 0, 1, 2 … periods, with alternating signs."""


def _number(node: Node, position: int) -> int:
    """The integer scalar at an input, which must be known."""
    value = node.constant(position)
    if value.size != 1:
        raise node.invalid(f"input {position} must be one number")
    return int(value.item())


@handles(*_WINDOWS)
def window(node: Node) -> np.ndarray:
    """A symmetric window of one element is 1, as in numpy."""
    size = _number(node, 0)
    if size < 0:
        raise node.invalid(f"a window of {size} elements")
    periods = size if node.attribute("periodic", 1) else size - 1
    if not periods:
        return np.ones(size, _output_dtype(node))
    angle = 2 * np.pi * np.arange(size) / periods
    factors = _WINDOWS[node.op_type]
    values = sum((-1) ** i * factor * np.cos(i * angle) for i, factor in enumerate(factors))
    return np.asarray(values, _output_dtype(node))


def _output_dtype(node: Node) -> np.dtype:
    return np.dtype(dtype_name(node.attribute("output_datatype", _FLOAT), f"node '{node.label}'"))


@handles("MelWeightMatrix")
def mel_weight_matrix(node: Node) -> np.ndarray:
    """Triangles over the bins of a spectrum, [dft_length // 2 + 1, num_mel_bins]."""
    bins, length, rate = (_number(node, position) for position in range(3))
    if bins < 1 or length < 1 or rate < 1:
        raise node.invalid(f"{bins} bins of a transform of {length} points at {rate} hertz")
    ends = [float(node.constant(position).item()) for position in (3, 4)]
    low, high = (2595 * np.log10(1 + hertz / 700) for hertz in ends)
    mel = np.arange(bins + 2) * ((high - low) / (bins + 2)) + low
    corners = ((length + 1) * (700 * (10 ** (mel / 2595) - 1)) // rate).astype(np.int64)
    if corners.min() < 0 or corners.max() > length // 2:
        raise node.invalid(f"the edges {ends} are not frequencies of a spectrum at {rate} hertz")
    result = np.zeros((length // 2 + 1, bins))
    for i, (left, peak, right) in enumerate(zip(corners, corners[1:], corners[2:], strict=False)):
        result[left : peak + 1, i] = np.arange(peak - left + 1) / max(peak - left, 1)
        result[peak:right, i] = np.arange(right - peak, 0, -1) / max(right - peak, 1)
        if left == peak:
            result[peak, i] = 1
    return result.astype(_output_dtype(node))


def _angles(rows: int, columns: int, length: int) -> np.ndarray:
    """2 pi k n / length, of which the periods are taken off before rounding."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % length
    return np.asarray(2 * np.pi * turns / length)


def _table(inputs: int, parts: int, outputs: int, length: int, inverse: bool) -> np.ndarray:
    """[inputs, parts, outputs, 2]: a transform of real (1 part) or complex numbers."""
    angle = _angles(inputs, outputs, length) * (1 if inverse else -1)
    cosine, sine = np.cos(angle), np.sin(angle)
    rows = [np.stack([cosine, sine], -1), np.stack([-sine, cosine], -1)]
    return np.stack(rows[:parts], 1) / (length if inverse else 1)


def _table_to_real(inputs: int, parts: int, length: int) -> np.ndarray:
    """[inputs, parts, length, 1]: from the first half of a spectrum to the real signal."""
    angle = _angles(inputs, length, length)
    twice = np.full((inputs, 1), 2.0)
    twice[0] = 1
    if length % 2 == 0 and inputs > length // 2:
        twice[length // 2] = 1
    rows = [np.cos(angle), -np.sin(angle)]
    # What is not real there does not count: the signal is.
    rows[1][[0, *([length // 2] if length % 2 == 0 and inputs > length // 2 else [])]] = 0
    return np.stack([row * twice / length for row in rows[:parts]], 1)[..., None]


def _transform(node: Node, x: Tensor, table: np.ndarray) -> Tensor:
    """`x` [..., inputs, parts] times `table` [inputs, parts, outputs, parts] of float64."""
    b, wide, batch = node.b, accumulator_of(x.dtype), x.shape[:-2]
    rows = b.reshape(x, [prod(batch), prod(x.shape[-2:])])
    matrix = b.constant(table.reshape(rows.shape[1], -1).astype(wide))
    product = cast(b, b.einsum("mk,kn->mn", rows, matrix, wide), x.dtype)
    return b.reshape(product, [*batch, *table.shape[2:]])


def _check_table(node: Node, *sizes: int) -> None:
    if prod(sizes) > MAX_TABLE:
        raise node.unsupported(
            f"a table of {prod(sizes):,} elements for a transform of {max(sizes)} points",
            hint="transform shorter frames",
        )


@handles("DFT")
def dft(node: Node) -> Tensor:
    x, b = node.tensor(0), node.b
    if x.rank < 2 or x.shape[-1] not in (1, 2):
        raise node.invalid(f"an input of shape {x.shape} holds no real or complex numbers")
    if node.opset >= 20:
        axis = _number(node, 2) if node.has(2) else -2
    else:
        axis = int(node.attribute("axis", 1))
    axis = node.axis(axis, x.rank)
    if axis == x.rank - 1:
        raise node.invalid("the last dimension holds real and imaginary parts")
    inverse, half = (bool(node.attribute(name, 0)) for name in ("inverse", "onesided"))
    length = x.shape[axis] if not (inverse and half) else 2 * (x.shape[axis] - 1)
    if node.has(1):
        length = _number(node, 1)
    if length < 1:
        raise node.invalid(f"a transform of {length} points")
    if half and not inverse and x.shape[-1] == 2:
        raise node.invalid("half a spectrum is that of a real signal, and the input is complex")
    used = min(x.shape[axis], length // 2 + 1 if inverse and half else length)
    outputs = length if inverse or not half else length // 2 + 1
    _check_table(node, used, x.shape[-1], outputs, 1 if inverse and half else 2)
    if inverse and half:
        table = _table_to_real(used, x.shape[-1], length)
    else:
        table = _table(used, x.shape[-1], outputs, length, inverse)
    order = [*(d for d in range(x.rank - 1) if d != axis), axis, x.rank - 1]
    sizes = [used if d == axis else n for d, n in enumerate(x.shape)]
    part = b.transpose(b.slice(x, [0] * x.rank, sizes, [1] * x.rank), order)
    result = _transform(node, part, table)
    return b.transpose(result, [order.index(d) for d in range(x.rank)])


@handles("STFT")
def stft(node: Node) -> Tensor:
    """Signal [batch, length, parts] -> [batch, frames, bins, 2]."""
    x, b, step = node.tensor(0), node.b, _number(node, 1)
    if x.rank != 3 or x.shape[-1] not in (1, 2):
        raise node.invalid(f"a signal of shape {x.shape}, expected [batch, length, 1 or 2]")
    weights = node.optional(2)
    length = weights.shape[0] if weights is not None and weights.shape else x.shape[1]
    length = _number(node, 3) if node.has(3) else length
    if weights is not None and weights.shape != (length,):
        raise node.invalid(f"a window of shape {weights.shape} for frames of {length} elements")
    if step < 1 or not 1 <= length <= x.shape[1]:
        raise node.invalid(f"frames of {length} elements every {step} in {x.shape[1]}")
    half = bool(node.attribute("onesided", 1))
    if half and x.shape[-1] == 2:
        raise node.invalid("half a spectrum is that of a real signal, and the signal is complex")
    bins = length // 2 + 1 if half else length
    _check_table(node, length, x.shape[-1], bins, 2)
    table = _table(length, x.shape[-1], bins, length, False)
    shape = [x.shape[0], (x.shape[1] - length) // step + 1, length, x.shape[2]]
    frames = b.view(x, shape, lambda n, frame, tap, part: [n, frame * step + tap, part])
    if isinstance(weights, np.ndarray):
        table = table * weights.astype(np.float64).reshape(length, 1, 1, 1)
    elif weights is not None:
        frames = _weighted(node, frames, weights)
    return _transform(node, frames, table)


def _weighted(node: Node, frames: Tensor, weights: Tensor) -> Tensor:
    wide: Sequence[int] = [weights.shape[0], 1]
    return node.b.map(lambda v, w: v * w, frames, node.b.reshape(weights, wide), dtype=frames.dtype)
