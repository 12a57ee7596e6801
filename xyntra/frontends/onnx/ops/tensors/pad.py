# SPDX-License-Identifier: MIT OR Apache-2.0
"""Padding; negative amounts crop, before anything is added."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.slices import insert_slice
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of
from xyntra.frontends.onnx.ops.tensors.gather import read_at

_MODES = ("constant", "reflect", "edge", "wrap")
"""All but the first are modes of `numpy.pad` with the same meaning."""

_MAX_TABLE = 1 << 22
"""Longest table of positions that a kernel holds."""

Pads = list[tuple[int, int]]


@handles("Pad")
def pad(node: Node) -> Tensor:
    x, mode = node.tensor(0), node.attribute("mode", "constant")
    if mode not in _MODES:
        raise node.invalid(f"attribute 'mode' is '{mode}'")
    pads = _pads(node, x.rank)
    if any(
        n + min(low, 0) + min(high, 0) < 0 for n, (low, high) in zip(x.shape, pads, strict=True)
    ):
        raise node.invalid(f"pads {pads} remove more than shape {x.shape} has")
    cropped = _crop(node.b, x, pads)
    added = [(max(low, 0), max(high, 0)) for low, high in pads]
    if not any(low or high for low, high in added):
        return cropped
    if mode == "constant":
        return _pad_constant(node, cropped, added)
    return _pad_from_inside(node, cropped, added, mode)


def _pads(node: Node, rank: int) -> Pads:
    """Elements to add before and behind every dimension."""
    values = node.integers("pads", 1)
    if values is None:
        raise node.invalid("the pads are missing")
    given = [int(axis) for axis in node.constant(3).reshape(-1)] if node.has(3) else range(rank)
    axes = [node.axis(axis, rank) for axis in given]
    if len(values) != 2 * len(axes) or len(set(axes)) != len(axes):
        raise node.invalid(f"{len(values)} pads do not fit {len(axes)} axes")
    pads = [(0, 0)] * rank
    for position, axis in enumerate(axes):
        pads[axis] = (values[position], values[len(axes) + position])
    return pads


def _crop(b: TensorBuilder, x: Tensor, pads: Pads) -> Tensor:
    starts = [max(-low, 0) for low, _ in pads]
    sizes = [n + min(low, 0) + min(high, 0) for n, (low, high) in zip(x.shape, pads, strict=True)]
    return b.slice(x, starts, sizes, [1] * x.rank)


def _pad_constant(node: Node, x: Tensor, pads: Pads) -> Tensor:
    shape = [low + n + high for n, (low, high) in zip(x.shape, pads, strict=True)]
    value = node.optional(2)
    if value is None:
        value = np.array(node.attribute("value", 0.0)).astype(x.dtype)
    if dtype_of(value) != x.dtype or value.shape not in ((), (1,)):
        raise node.invalid(f"the padding value must be one {x.dtype}")
    filled = node.b.map(lambda v: v, value, dtype=x.dtype, shape=shape)
    if 0 in x.shape:
        return filled
    return insert_slice(node.b, x, filled.value, [low for low, _ in pads])


def _pad_from_inside(node: Node, x: Tensor, pads: Pads, mode: str) -> Tensor:
    """Every padded dimension reads through a table of positions, made by numpy."""
    b = node.b
    padded = [axis for axis, amounts in enumerate(pads) if any(amounts)]
    if any(sum(pads[axis]) + x.shape[axis] > _MAX_TABLE for axis in padded):
        raise node.unsupported(f"mode '{mode}' to more than {_MAX_TABLE} elements a dimension")
    if any(x.shape[axis] == 0 for axis in padded):
        raise node.invalid(f"mode '{mode}' has nothing to pad shape {x.shape} with")
    tables = [
        np.pad(np.arange(x.shape[axis]), pads[axis], mode=mode)  # type: ignore[call-overload]
        for axis in padded
    ]
    shape = [low + n + high for n, (low, high) in zip(x.shape, pads, strict=True)]
    with b.location:
        maps = [ir.AffineMap.get(x.rank, 0, [ir.AffineDimExpr.get(axis)]) for axis in padded]

    def position(*entries: Scalar) -> tuple[list[Scalar], None]:
        found = dict(zip(padded, entries, strict=True))
        return [found[d].cast("index") if d in found else b.index(d) for d in range(x.rank)], None

    indices = [(b.constant(table), map_) for table, map_ in zip(tables, maps, strict=True)]
    return read_at(b, x, shape, indices, position)
