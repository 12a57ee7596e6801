# SPDX-License-Identifier: MIT OR Apache-2.0
"""Views, joins and copies of parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Tensor
from xyntra.frontends.onnx.ops.elementwise.precision import cast
from xyntra.frontends.torch.node import AtenNode, handles


@handles("view", "reshape", "_unsafe_view", "_reshape_alias", "unsqueeze", "squeeze", "view_copy")
def view(node: AtenNode) -> Tensor:
    if node.has("dtype"):
        raise node.unsupported("the same bytes under another dtype")
    return node.b.reshape(node.tensor("self"), node.shape)


@handles("permute")
def permute(node: AtenNode) -> Tensor:
    x = node.tensor("self")
    return node.b.transpose(x, [node.axis(each, x.rank) for each in node["dims"]])


@handles("transpose")
def transpose(node: AtenNode) -> Tensor:
    x = node.tensor("self")
    order = list(range(x.rank))
    if x.rank:
        first, second = node.axis(node["dim0"], x.rank), node.axis(node["dim1"], x.rank)
        order[first], order[second] = second, first
    return node.b.transpose(x, order)


@handles("t")
def matrix_transpose(node: AtenNode) -> Tensor:
    x = node.tensor("self")
    return node.b.transpose(x, list(range(x.rank))[::-1])


@handles("expand")
def expand(node: AtenNode) -> Tensor:
    return node.b.broadcast_to(node.tensor("self"), node.shape)


@handles("repeat")
def repeat(node: AtenNode) -> Tensor:
    x, b = node.tensor("self"), node.b
    counts = [int(each) for each in node["repeats"]]
    shape = [1] * (len(counts) - x.rank) + list(x.shape)
    if 0 in node.shape:
        return Tensor(b.empty(node.shape, x.dtype), x.dtype)
    spread = [size for pair in zip([1] * len(shape), shape, strict=True) for size in pair]
    wide = [size for pair in zip(counts, shape, strict=True) for size in pair]
    return b.reshape(b.broadcast_to(b.reshape(x, spread), wide), node.shape)


@handles("slice", "slice_copy")
def slice_(node: AtenNode) -> Tensor:
    x = node.tensor("self")
    axis = node.axis(node["dim"], x.rank)
    start, stop, step = slice(node["start"], node["end"], node["step"]).indices(x.shape[axis])
    return _part(node, x, axis, start, max(0, -(-(stop - start) // step)), step)


def _part(node: AtenNode, x: Tensor, axis: int, start: int, size: int, step: int = 1) -> Tensor:
    starts = [start if d == axis else 0 for d in range(x.rank)]
    sizes = [size if d == axis else n for d, n in enumerate(x.shape)]
    return node.b.slice(x, starts, sizes, [step if d == axis else 1 for d in range(x.rank)])


@handles("select")
def select(node: AtenNode) -> Tensor:
    x = node.tensor("self")
    axis = node.axis(node["dim"], x.rank)
    return node.b.reshape(_part(node, x, axis, int(node["index"]) % x.shape[axis], 1), node.shape)


@handles("split_with_sizes", "split", "unbind", "chunk")
def split(node: AtenNode) -> Sequence[Tensor]:
    """The sizes of the parts are those that PyTorch says."""
    x = node.tensor("self")
    axis = node.axis(node["dim"] or 0, x.rank)
    parts, start = [], 0
    for number in range(len(node.call.results)):
        type_ = node.result(number)
        size = type_.shape[axis] if len(type_.shape) == x.rank else 1
        parts.append(node.b.reshape(_part(node, x, axis, start, size), type_.shape))
        start += size
    return parts


@handles("cat", "stack")
def cat(node: AtenNode) -> Tensor:
    """Parts of rank 1 without elements fit all others, which is a rule of old models."""
    b = node.b
    tensors = [cast(b, b.tensor(each), node.dtype) for each in node["tensors"]]
    axis = node.axis(node["dim"] or 0, len(node.shape))
    if node.call.operator.startswith("aten.stack"):
        single = [*node.shape[:axis], 1, *node.shape[axis + 1 :]]
        tensors = [b.reshape(each, single) for each in tensors]
    filled = [each for each in tensors if 0 not in each.shape]
    if not filled:
        return Tensor(b.empty(node.shape, node.dtype), node.dtype)
    if len(filled) == 1:
        return filled[0]
    result: Tensor = node.by_onnx("Concat", *filled, axis=axis)[0]
    return result


@handles("flip")
def flip(node: AtenNode) -> Tensor:
    x = node.tensor("self")
    axes = {node.axis(each, x.rank) for each in node["dims"]}
    return node.b.flip(x, [d in axes for d in range(x.rank)])


@handles("constant_pad_nd")
def constant_pad(node: AtenNode) -> Tensor:
    """Negative paddings cut; pads begin with the last dimension."""
    x, pads = node.tensor("self"), [int(each) for each in node["pad"]]
    low, high = [0] * x.rank, [0] * x.rank
    for place in range(len(pads) // 2):
        low[x.rank - 1 - place], high[x.rank - 1 - place] = pads[2 * place : 2 * place + 2]
    starts = [max(-each, 0) for each in low]
    sizes = [n + min(a, 0) + min(z, 0) for n, a, z in zip(x.shape, low, high, strict=True)]
    value = node["value"] if node.has("value") else 0
    value = float(value) if "float" in x.dtype else int(value)
    if 0 in sizes or 0 in node.shape:
        return Tensor(node.b.fill(node.shape, x.dtype, value), x.dtype)
    cut = node.b.slice(x, starts, sizes, [1] * x.rank)
    return node.b.pad(cut, [max(each, 0) for each in low], [max(each, 0) for each in high], value)


@handles("diagonal", "diagonal_copy")
def diagonal(node: AtenNode) -> Tensor:
    """The dimension of the diagonal comes last."""
    x, offset = node.tensor("self"), int(node["offset"])
    first, second = node.axis(node["dim1"], x.rank), node.axis(node["dim2"], x.rank)
    rest = [d for d in range(x.rank) if d not in (first, second)]
    if 0 in node.shape:
        return Tensor(node.b.empty(node.shape, x.dtype), x.dtype)

    starts = [0] * x.rank
    starts[first], starts[second] = max(-offset, 0), max(offset, 0)
    sizes = [node.shape[-1] if d in (first, second) else n for d, n in enumerate(x.shape)]
    square = node.b.slice(x, starts, sizes, [1] * x.rank)

    def read(*dims: ir.AffineExpr) -> list[ir.AffineExpr]:
        at = dict(zip(rest, dims[:-1], strict=True))
        at[first] = at[second] = dims[-1]
        return [at[d] for d in range(x.rank)]

    return node.b.view(square, node.shape, read)


@handles("unfold", "unfold_copy")
def unfold(node: AtenNode) -> Tensor:
    """Windows of `size` elements, `step` apart; their dimension comes last."""
    x, step = node.tensor("self"), int(node["step"])
    if not x.rank or 0 in node.shape:
        raise node.unsupported(f"windows of {list(x.shape)}")
    axis = node.axis(node["dimension"], x.rank)

    def read(*dims: ir.AffineExpr) -> list[ir.AffineExpr]:
        at = list(dims[:-1])
        at[axis] = at[axis] * step + dims[-1]
        return at

    return node.b.view(x, node.shape, read)


@handles("pixel_shuffle")
def pixel_shuffle(node: AtenNode) -> Tensor:
    x, r, b = node.tensor("self"), int(node["upscale_factor"]), node.b
    *batch, channels, height, width = x.shape
    n = int(np.prod(batch))
    cut = b.reshape(x, [n, channels // (r * r), r, r, height, width])
    return b.reshape(b.transpose(cut, [0, 1, 4, 2, 5, 3]), node.shape)


@handles("slice_scatter")
def slice_scatter(node: AtenNode) -> Tensor:
    """Only of contiguous elements; the parts around them are joined again."""
    x, source = node.tensor("self"), node.tensor("src")
    axis = node.axis(node["dim"], x.rank)
    start, stop, step = slice(node["start"], node["end"], node["step"]).indices(x.shape[axis])
    if step != 1:
        raise node.unsupported("steps of more than 1")
    stop = max(start, stop)
    parts = [
        _part(node, x, axis, 0, start),
        cast(node.b, source, x.dtype),
        _part(node, x, axis, stop, x.shape[axis] - stop),
    ]
    filled = [each for each in parts if 0 not in each.shape]
    if len(filled) < 2:
        return filled[0] if filled else x
    result: Tensor = node.by_onnx("Concat", *filled, axis=axis)[0]
    return result
