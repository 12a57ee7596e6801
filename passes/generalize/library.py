# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites operations of linalg that have no body: softmax, packing and unpacking."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.builder import Tensor
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_number
from xyntra.passes.generalize.rewriter import Rewriter

__all__ = ["LIBRARY_RULES", "has_library_rule"]


def _softmax(rewriter: Rewriter, op: ir.Operation) -> None:
    attributes = {"axis": op.attributes["dimension"]}
    types = [op.results[0].type]
    new = rewriter.builder(op).emit("xyntra.softmax", [op.operands[0]], types, attributes)
    rewriter.replace(op, list(new.results))


def _pack(rewriter: Rewriter, op: ir.Operation) -> None:
    """Tiles of a matrix one after the other: a padding, a reshape and a transpose."""
    builder = rewriter.builder(op)
    source = Tensor.of(op.operands[0])
    tiles, order = _tiles(op), _outer_order(op, source.rank)
    high = [-size % tiles.get(d, 1) for d, size in enumerate(source.shape)]
    number = constant_number(op.operands[2]) if len(op.operands) > 2 else 0
    source = builder.pad(source, [0] * source.rank, high, 0 if number is None else number)
    outer, inner, shape = _split(source.shape, tiles)
    split = builder.reshape(source, shape)
    result = builder.transpose(split, [*(outer[d] for d in order), *(inner[d] for d in tiles)])
    rewriter.replace(op, [result.value])


def _unpack(rewriter: Rewriter, op: ir.Operation) -> None:
    """What was packed: a transpose, a reshape and a slice."""
    builder, source = rewriter.builder(op), Tensor.of(op.operands[0])
    result = ir.RankedTensorType(op.results[0].type)
    tiles, order = _tiles(op), _outer_order(op, result.rank)
    padded = [0] * result.rank
    for position, dimension in enumerate(order):
        padded[dimension] = source.shape[position] * tiles.get(dimension, 1)
    outer, inner, shape = _split(padded, tiles)
    packed = [*(outer[d] for d in order), *(inner[d] for d in tiles)]
    whole = builder.transpose(source, [packed.index(each) for each in range(len(shape))])
    whole = builder.reshape(whole, padded)
    zeros, ones = [0] * result.rank, [1] * result.rank
    rewriter.replace(op, [builder.slice(whole, zeros, list(result.shape), ones).value])


def _tiles(op: ir.Operation) -> dict[int, int]:
    """The size of a tile along each dimension that is tiled, in the order of the inner ones."""
    positions = ir.DenseI64ArrayAttr(op.attributes["inner_dims_pos"])
    sizes = ir.DenseI64ArrayAttr(op.attributes["static_inner_tiles"])
    return dict(zip(positions, sizes, strict=True))


def _outer_order(op: ir.Operation, rank: int) -> list[int]:
    given = op.attributes.get("outer_dims_perm")
    return list(ir.DenseI64ArrayAttr(given) if given is not None else ()) or list(range(rank))


def _split(
    shape: tuple[int, ...] | list[int], tiles: dict[int, int]
) -> tuple[list[int], dict[int, int], list[int]]:
    """`shape` with tiled dimensions in two, and the positions of outer and inner ones in it."""
    outer: list[int] = []
    inner: dict[int, int] = {}
    split: list[int] = []
    for dimension, size in enumerate(shape):
        outer.append(len(split))
        split.append(size // tiles.get(dimension, 1))
        if dimension in tiles:
            inner[dimension] = len(split)
            split.append(tiles[dimension])
    return outer, inner, split


def has_library_rule(op: ir.Operation) -> bool:
    """Whether `op` is such an operation, with tiles and padding that are known when compiling."""
    if op.name == "linalg.pack":
        sizes = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        return not sizes[3] and (not sizes[2] or constant_number(op.operands[2]) is not None)
    if op.name == "linalg.unpack":
        return len(op.operands) == 2
    return op.name in LIBRARY_RULES


LIBRARY_RULES: dict[str, Callable[[Rewriter, ir.Operation], None]] = {
    "linalg.softmax": _softmax,
    "linalg.pack": _pack,
    "linalg.unpack": _unpack,
}
