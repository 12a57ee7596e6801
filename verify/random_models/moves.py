# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes operators of random models that move elements, with error bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verify.fusion.scalars import cast, wide
from verify.fusion.values import Known, accumulated
from verify.random_models.case import Step
from xyntra.dialects.dtypes import is_float

__all__ = ["MOVES", "SEVERAL"]

Array = np.ndarray[Any, Any]
Operands = Sequence[Known]


def _view(move: Callable[[Step, Array], Array]) -> Callable[[Step, Operands], Known]:
    return lambda step, x: x[0].move(lambda v: move(step, v))


def _slice(step: Step, v: Array) -> Array:
    starts, ends, axes, steps = (step.constants[key] for key in ("1", "2", "3", "4"))
    index: list[slice] = [slice(None)] * v.ndim
    for start, end, axis, stride in zip(starts, ends, axes, steps, strict=True):
        # The end before the first element cannot be written as a negative number.
        index[axis] = slice(start, None if end < -v.shape[axis] else end, stride)
    return v[tuple(index)]


def _pad(step: Step, x: Operands) -> Known:
    pads = step.constants["1"]
    rank = len(pads) // 2
    widths = [(pads[i], pads[i + rank]) for i in range(rank)]
    mode = step.attributes["mode"]
    return x[0].move(lambda v: np.pad(v, widths, mode=mode))


def _gather_elements(step: Step, x: Operands) -> Known:
    axis = step.attributes["axis"]
    size = x[0].shape[axis]
    at = x[1].value % size
    return x[0].move(lambda v: _along(v, at, axis))


def _along(v: Array, at: Array, axis: int) -> Array:
    """`take_along_axis` of an index that may be smaller than `v` along other axes."""
    places = list(np.indices(at.shape))
    places[axis] = at
    return v[tuple(places)]


def _scatter_elements(step: Step, x: Operands) -> Known:
    axis, how = step.attributes["axis"], step.attributes["reduction"]
    at = x[1].value % x[0].shape[axis]
    places = list(np.indices(at.shape))
    places[axis] = at
    return _written(x[0], tuple(places), x[2], how)


def _scatter_nd(step: Step, x: Operands) -> Known:
    depth = x[1].shape[-1]
    places = [x[1].value[..., i] % x[0].shape[i] for i in range(depth)]
    return _written(x[0], tuple(places), x[2], step.attributes["reduction"])


def _written(data: Known, places: tuple[Array, ...], updates: Known, how: str) -> Known:
    value, error = data.value.copy(), data.error.copy()
    if how == "none":
        # numpy writes repeated places in order, as ONNX asks.
        value[places], error[places] = updates.value, updates.error
        return Known(data.dtype, value, error)
    with np.errstate(all="ignore"):
        if how == "max":
            np.maximum.at(value, places, updates.value)
            return Known(data.dtype, value, error)
        np.add.at(value, places, updates.value)
        if not is_float(data.dtype):
            return Known(data.dtype, value, error)
        size, count = np.abs(np.where(np.isfinite(data.value), data.value, 0)), np.ones(value.shape)
        np.add.at(size, places, np.abs(np.where(np.isfinite(updates.value), updates.value, 0)))
        np.add.at(count, places, 1.0)
        np.add.at(error, places, updates.error)
        return accumulated(data.dtype, value, size, error, int(count.max(initial=1)))


def _cumulated(step: Step, x: Operands) -> Known:
    axis = step.constants["1"][0]
    exclusive, reverse = step.attributes["exclusive"], step.attributes["reverse"]
    source = cast(x[0], wide(x[0].dtype))

    def sums(v: Array) -> Array:
        v = np.flip(v, axis) if reverse else v
        with np.errstate(all="ignore"):
            total = np.cumsum(v, axis, dtype=v.dtype)
        if exclusive:
            first = np.zeros_like(np.take(total, [0], axis)) if v.shape[axis] else total
            shorter = np.delete(total, -1, axis) if v.shape[axis] else total
            total = np.concatenate([first, shorter], axis) if v.shape[axis] else total
        return np.flip(total, axis) if reverse else total

    value = sums(source.value)
    if not is_float(source.dtype):
        return Known(source.dtype, value, np.zeros(value.shape))
    size = sums(np.where(np.isfinite(source.value), np.abs(source.value), 0.0))
    terms = max(source.shape[axis], 1)
    result = accumulated(source.dtype, value, size, sums(source.error), terms)
    return cast(result, x[0].dtype)


def _top_k(step: Step, x: Operands) -> Sequence[Known]:
    """Of an input; among equals the lower position comes first, and NaN comes last."""
    axis, count = step.attributes["axis"], step.constants["1"][0]
    v = x[0].value
    keys = -v.astype(np.float64) if step.attributes["largest"] else v.astype(np.float64)
    if not is_float(x[0].dtype):
        keys = -v.astype(object) if step.attributes["largest"] else v.astype(object)
    order = np.argsort(keys, axis=axis, kind="stable")  # NaN is sorted to the end
    best = np.take(order, range(count), axis)
    values = x[0].move(lambda each: np.take_along_axis(each, best, axis))
    return [values, Known("int64", best.astype(np.int64), np.zeros(best.shape))]


def _split(step: Step, x: Operands) -> Sequence[Known]:
    axis = step.attributes["axis"]
    edges = np.cumsum(step.constants["1"])[:-1]
    values = np.split(x[0].value, edges, axis)
    errors = np.split(x[0].error, edges, axis)
    return [Known(x[0].dtype, v, e) for v, e in zip(values, errors, strict=True)]


MOVES: dict[str, Callable[[Step, Operands], Known]] = {
    "Transpose": _view(lambda step, v: v.transpose(step.attributes["perm"])),
    "Reshape": _view(lambda step, v: v.reshape(step.constants["1"])),
    "Expand": _view(lambda step, v: np.broadcast_to(v, step.constants["1"])),
    "Tile": _view(lambda step, v: np.tile(v, step.constants["1"])),
    "Slice": _view(_slice),
    "Pad": _pad,
    "Gather": lambda step, x: x[0].move(
        lambda v: np.take(v, x[1].value, step.attributes["axis"], mode="wrap")
    ),
    "GatherElements": _gather_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "CumSum": _cumulated,
}
SEVERAL: dict[str, Callable[[Step, Operands], Sequence[Known]]] = {
    "TopK": _top_k,
    "Split": _split,
}
"""Operators with several results."""
