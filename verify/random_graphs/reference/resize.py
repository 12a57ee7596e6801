# SPDX-License-Identifier: MIT OR Apache-2.0
"""Resize in numpy, one dimension after another; without antialias and regions."""

from __future__ import annotations

import math

import numpy as np

from verify.random_graphs.reference.call import Call, kernel

__all__: list[str] = []

Array = np.ndarray


@kernel("Resize")
def resize(call: Call) -> Array:
    x = call.inputs[0]
    if call.has(3) and call.inputs[3].size:
        sizes = [int(n) for n in call.inputs[3]]
        scales = [out / size for out, size in zip(sizes, x.shape, strict=True)]
    else:
        scales = [float(np.float32(s)) for s in call.inputs[2]]
        sizes = [math.floor(n * s) for n, s in zip(x.shape, scales, strict=True)]
    for axis, (out, scale) in enumerate(zip(sizes, scales, strict=True)):
        if out != x.shape[axis] or scale != 1:
            moved = np.moveaxis(x, axis, -1)
            x = np.moveaxis(_along(call, moved, out, scale), -1, axis)
    return x


def _places(call: Call, size: int, out: int, scale: float) -> Array:
    """Where each result lies among the elements of a row."""
    at = np.arange(out, dtype=np.float64)
    mode = call.get("coordinate_transformation_mode", "half_pixel")
    if mode == "align_corners":
        found = at * (size - 1) / (out - 1) if out > 1 else np.zeros(out)
    elif mode == "asymmetric":
        found = at / scale
    elif mode == "pytorch_half_pixel" and out == 1:
        found = np.zeros(1)
    else:
        found = (at + 0.5) / scale - 0.5
    # Coordinates are float32 whatever is resized, as onnxruntime's are.
    return found + call.rough(1 + 4 * np.abs(found), least=2.0**-24)


def _along(call: Call, x: Array, out: int, scale: float) -> Array:
    size = x.shape[-1]
    at = _places(call, size, out, scale)
    mode = call.get("mode", "nearest")
    if mode == "nearest":
        rounding = {
            "round_prefer_floor": lambda p: np.ceil(p - 0.5),
            "round_prefer_ceil": lambda p: np.floor(p + 0.5),
            "floor": np.floor,
            "ceil": np.ceil,
        }[call.get("nearest_mode", "round_prefer_floor")]
        return x[..., np.clip(rounding(at), 0, size - 1).astype(int)]
    first = np.floor(at).astype(int)
    part = at - first
    if mode == "linear":
        taps, weights = [0, 1], [1 - part, part]
    else:
        taps, weights = [-1, 0, 1, 2], _cubic(part, call.get("cubic_coeff_a", -0.75))
        if call.get("exclude_outside", 0):
            inside = [(first + t >= 0) & (first + t < size) for t in taps]
            weights = [np.where(i, w, 0) for i, w in zip(inside, weights, strict=True)]
            total = sum(weights)
            weights = [w / total for w in weights]
    return sum(
        x[..., np.clip(first + t, 0, size - 1)] * w for t, w in zip(taps, weights, strict=True)
    )


def _cubic(part: Array, a: float) -> list[Array]:
    def near(d: Array) -> Array:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Array) -> Array:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]
