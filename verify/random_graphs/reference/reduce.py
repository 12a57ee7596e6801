# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions in numpy, on wide arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from verify.random_graphs.reference.call import Call, Kernel, kernel

__all__: list[str] = []


def reduced_axes(call: Call) -> tuple[int, ...]:
    """The axes of a reduction; all of them where none are given, unless an attribute says none."""
    rank = call.inputs[0].ndim
    axes = call.integers("axes", 1)
    if axes:
        return tuple(axis % rank for axis in axes)
    return () if call.get("noop_with_empty_axes", 0) else tuple(range(rank))


def _lowest(dtype: np.dtype, maximum: bool) -> Any:
    if dtype.kind == "f":
        return -np.inf if maximum else np.inf
    if dtype.kind == "b":
        return not maximum
    return np.iinfo(dtype).min if maximum else np.iinfo(dtype).max


def _log_sum_exp(call: Call, x: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0)
    total = np.sum(np.exp(x - shift), axis=axis, keepdims=True)
    # A sum of 1 and a little is rounded, which its logarithm shows in full.
    return np.log(total + call.rough(np.where(np.isfinite(total), total, 0))) + shift


def _root_of_squares(call: Call, x: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    squares = np.sum(x * x, axis, keepdims=True, dtype=x.dtype)
    if x.dtype.kind == "f":
        squares = call.underflow(squares, math.prod(x.shape[i] for i in axis))
    return np.sqrt(squares)


def _mean(x: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    """Means; those of integers truncate, and no float64 holds a sum of 64 bits."""
    total, count = (
        np.sum(x, axis, keepdims=True, dtype=x.dtype),
        math.prod(x.shape[i] for i in axis),
    )
    if x.dtype.kind == "f":
        return total / count
    whole = [abs(int(each)) // count * (1 if each > 0 else -1) for each in total.reshape(-1)]
    return np.array(whole, x.dtype).reshape(total.shape)


_REDUCTIONS: dict[str, Callable[[np.ndarray, tuple[int, ...]], np.ndarray]] = {
    "ReduceSum": lambda x, a: np.sum(x, a, keepdims=True, dtype=x.dtype),
    "ReduceMean": _mean,
    "ReduceProd": lambda x, a: np.prod(x, a, keepdims=True, dtype=x.dtype),
    "ReduceMax": lambda x, a: np.max(x, a, keepdims=True, initial=_lowest(x.dtype, True)),
    "ReduceMin": lambda x, a: np.min(x, a, keepdims=True, initial=_lowest(x.dtype, False)),
    "ReduceL1": lambda x, a: np.sum(np.abs(x), a, keepdims=True, dtype=x.dtype),
    "ReduceSumSquare": lambda x, a: np.sum(x * x, a, keepdims=True, dtype=x.dtype),
    "ReduceLogSum": lambda x, a: np.log(np.sum(x, a, keepdims=True, dtype=x.dtype)),
}
_ROUGH: dict[str, Callable[[Call, np.ndarray, tuple[int, ...]], np.ndarray]] = {
    "ReduceL2": _root_of_squares,
    "ReduceLogSumExp": _log_sum_exp,
}
"""Reductions that round inside what their inputs' disturbances do not reach."""


def _reduction(name: str) -> Kernel:
    def run(call: Call) -> np.ndarray:
        x = call.inputs[0]
        axes = reduced_axes(call)
        rough = _ROUGH.get(name)
        result = rough(call, x, axes) if rough else _REDUCTIONS[name](x, axes)
        if x.dtype.kind != "f":
            result = result.astype(x.dtype)
        return result if call.get("keepdims", 1) else np.squeeze(result, axes)

    return run


for _name in (*_REDUCTIONS, *_ROUGH):
    kernel(_name)(_reduction(_name))


def _arg_extreme(function: Callable[..., np.ndarray]) -> Kernel:
    def run(call: Call) -> np.ndarray:
        x, axis = call.inputs[0], call.get("axis", 0)
        if call.get("select_last_index", 0):
            result = x.shape[axis] - 1 - function(np.flip(x, axis), axis)
        else:
            result = function(x, axis)
        return (np.expand_dims(result, axis) if call.get("keepdims", 1) else result).astype(
            np.int64
        )

    return run


kernel("ArgMax")(_arg_extreme(np.argmax))
kernel("ArgMin")(_arg_extreme(np.argmin))
