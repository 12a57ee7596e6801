# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that change or report the shape of a tensor and leave its elements as they are."""

from __future__ import annotations

from math import prod

import numpy as np

from xyntra.dialects.builder import Tensor
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.values import Absent, Result, TensorSequence


@handles("Identity")
def identity(node: Node) -> Result:
    given = node.operands[0]
    return given if isinstance(given, (TensorSequence, Absent)) else node.operand(0)


@handles("Shape")
def shape(node: Node) -> np.ndarray:
    """Bounds beyond the rank are clamped."""
    source = node.operand(0)
    if isinstance(source, Tensor) and node.states.is_joined(source):
        raise node.unsupported(
            "the shape of a cache that a Concat appends to: it has room for more than it holds",
            hint="export the model with position_ids as an input, or leave out aliases",
        )
    dims = source.shape
    return np.array(dims[node.attribute("start", 0) : node.attribute("end")], np.int64)


@handles("Size")
def size(node: Node) -> np.ndarray:
    return np.array(prod(node.operand(0).shape), np.int64)


def _reshape_sizes(node: Node, source: tuple[int, ...]) -> list[int]:
    """0 keeps a dimension (unless `allowzero`), one -1 takes what the others leave."""
    wanted = node.integers("shape", 1)
    if wanted is None:
        raise node.invalid("the shape is missing")
    if not node.attribute("allowzero", 0):
        if any(n == 0 and position >= len(source) for position, n in enumerate(wanted)):
            raise node.invalid(f"shape {wanted} keeps a dimension that {source} does not have")
        wanted = [source[position] if n == 0 else n for position, n in enumerate(wanted)]
    if wanted.count(-1) > 1 or min(wanted, default=0) < -1:
        raise node.invalid(f"shape {wanted} has more than one size to find")
    known, total = prod(n for n in wanted if n != -1), prod(source)
    if -1 in wanted and (known == 0 or total % known):
        raise node.invalid(f"shape {wanted} does not divide {source}")
    sizes = [total // known if n == -1 else n for n in wanted]
    if prod(sizes) != total:
        raise node.invalid(f"shape {source} cannot become {wanted}")
    return sizes


def _flatten_sizes(node: Node, source: tuple[int, ...]) -> list[int]:
    axis, rank = int(node.attribute("axis", 1)), len(source)
    if not -rank <= axis <= rank:
        raise node.invalid(f"axis {axis} is outside [{-rank}, {rank}]")
    axis += rank if axis < 0 else 0
    return [prod(source[:axis]), prod(source[axis:])]


def _squeeze_sizes(node: Node, source: tuple[int, ...]) -> list[int]:
    values = node.integers("axes", 1)
    if values is None:
        axes = [d for d, n in enumerate(source) if n == 1]
    else:
        axes = node.axes(values, len(source))
    if any(source[axis] != 1 for axis in axes):
        raise node.invalid(f"axes {axes} of shape {source} are not all of size 1")
    return [n for d, n in enumerate(source) if d not in axes]


def _unsqueeze_sizes(node: Node, source: tuple[int, ...]) -> list[int]:
    values = node.integers("axes", 1)
    if values is None:
        raise node.invalid("the axes are missing")
    rank = len(source) + len(values)
    axes, sizes = node.axes(values, rank), iter(source)
    return [1 if d in axes else next(sizes) for d in range(rank)]


_RESHAPES = {
    "Reshape": _reshape_sizes,
    "Flatten": _flatten_sizes,
    "Squeeze": _squeeze_sizes,
    "Unsqueeze": _unsqueeze_sizes,
}


def reshaped(node: Node, source: tuple[int, ...]) -> list[int]:
    """The shape that an operator of the Reshape family gives to a tensor of shape `source`."""
    return _RESHAPES[node.op_type](node, source)


@handles(*_RESHAPES)
def reshape(node: Node) -> Tensor:
    x = node.tensor(0)
    return node.b.reshape(x, reshaped(node, x.shape))


def transposed_axes(node: Node, rank: int) -> list[int]:
    """The permutation of a Transpose; by default the reverse order."""
    permutation = list(node.attribute("perm", list(range(rank))[::-1]))
    if sorted(permutation) != list(range(rank)):
        raise node.invalid(f"{permutation} is no permutation of {rank} dimensions")
    return permutation


@handles("Transpose")
def transpose(node: Node) -> Tensor:
    x = node.tensor(0)
    return node.b.transpose(x, transposed_axes(node, x.rank))


@handles("Expand")
def expand(node: Node) -> Result:
    x = node.operand(0)
    wanted = [int(n) for n in node.constant(1).reshape(-1)]
    sizes = broadcast_shapes(x.shape, wanted)
    if isinstance(x, np.ndarray) and x.size == 1:
        return Tensor(node.b.fill(sizes, x.dtype.name, x.item()), x.dtype.name)
    return node.b.broadcast_to(node.b.tensor(x), sizes)


def tile_repeats(node: Node, source: tuple[int, ...]) -> list[int]:
    """Return how often a Tile repeats every dimension of a tensor of shape `source`."""
    repeats = [int(n) for n in node.constant(1).reshape(-1)]
    if len(repeats) != len(source) or min(repeats, default=0) < 0:
        raise node.invalid(f"repeats {repeats} do not fit shape {source}")
    return repeats


@handles("Tile")
def tile(node: Node) -> Tensor:
    """Repeats are a broadcast along new dimensions that then merge with the old ones."""
    x = node.tensor(0)
    repeats = tile_repeats(node, x.shape)
    if all(n == 1 for n in repeats):
        return x
    pairs = [n for pair in zip(repeats, x.shape, strict=True) for n in pair]
    tiled = node.b.view(x, pairs, lambda *d: list(d[1::2]))
    return node.b.reshape(tiled, [n * m for n, m in zip(repeats, x.shape, strict=True)])


def _blocks(node: Node, rank: int) -> int:
    block = int(node.required("blocksize"))
    if rank != 4:
        raise node.invalid(f"the input has rank {rank}, not 4")
    if block < 1:
        raise node.invalid(f"blocksize {block} is not positive")
    return block


@handles("DepthToSpace")
def depth_to_space(node: Node) -> Tensor:
    x, b = node.tensor(0), node.b
    block = _blocks(node, x.rank)
    n, c, h, w = x.shape
    if c % block**2:
        raise node.invalid(f"{c} channels are no multiple of {block * block}")
    depth = c // block**2
    mode = node.attribute("mode", "DCR")
    if mode == "DCR":
        parts, order = [n, block, block, depth, h, w], [0, 3, 4, 1, 5, 2]
    elif mode == "CRD":
        parts, order = [n, depth, block, block, h, w], [0, 1, 4, 2, 5, 3]
    else:
        raise node.invalid(f"attribute 'mode' is '{mode}', not DCR or CRD")
    moved = b.transpose(b.reshape(x, parts), order)
    return b.reshape(moved, [n, depth, h * block, w * block])


@handles("SpaceToDepth")
def space_to_depth(node: Node) -> Tensor:
    x, b = node.tensor(0), node.b
    block = _blocks(node, x.rank)
    n, c, h, w = x.shape
    if h % block or w % block:
        raise node.invalid(f"height {h} and width {w} are no multiples of {block}")
    mode = node.attribute("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise node.invalid(f"attribute 'mode' is '{mode}', not DCR or CRD")
    order = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    parts = b.reshape(x, [n, c, h // block, block, w // block, block])
    return b.reshape(b.transpose(parts, order), [n, c * block**2, h // block, w // block])
