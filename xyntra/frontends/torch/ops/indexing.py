# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading and writing at positions that a tensor holds.

Positions out of range, for which PyTorch raises, read what the importer of ONNX reads there.
"""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.ops.elementwise.precision import cast
from xyntra.frontends.onnx.ops.tensors.gather import read_at, take
from xyntra.frontends.onnx.ops.tensors.indices import address
from xyntra.frontends.torch.node import AtenNode, Result, handles
from xyntra.frontends.torch.promotion import dtype_of_operand


@handles("embedding")
def embedding(node: AtenNode) -> Tensor:
    return take(node.b, node.tensor("weight"), node.tensor("indices"), 0)


@handles("index_select")
def index_select(node: AtenNode) -> Tensor:
    x, index = node.tensor("self"), node.tensor("index")
    x = x if x.rank else node.b.reshape(x, [1])
    found = take(node.b, x, index, node.axis(node["dim"], x.rank))
    return node.b.reshape(found, node.shape)


@handles("gather")
def gather(node: AtenNode) -> Result:
    x, index = _rows(node, "self", "index")
    if 0 in index.shape:
        return Tensor(node.b.fill(node.shape, x.dtype, 0), x.dtype)
    if 0 in x.shape:
        raise node.unsupported(f"{list(x.shape)} at {list(index.shape)}")
    axis = node.axis(node["dim"], x.rank)
    sizes = [n if d == axis else index.shape[d] for d, n in enumerate(x.shape)]
    part = node.b.slice(x, [0] * x.rank, sizes, [1] * x.rank)
    found = node.by_onnx("GatherElements", part, index, axis=axis)[0]
    return node.b.reshape(found, node.shape)


def _rows(node: AtenNode, *names: str) -> list[Tensor]:
    """Return arguments as tensors, those of rank 0 as rows of one element, as PyTorch does."""
    found = [node.tensor(name) for name in names]
    return [each if each.rank else node.b.reshape(each, [1]) for each in found]


@handles("scatter", "scatter_add")
def scatter(node: AtenNode) -> Result:
    """Where several elements go to one place, the last one counts; `scatter_add` adds them."""
    (x, index), b = _rows(node, "self", "index"), node.b
    if 0 in index.shape:
        return node.operand("self")
    if node.has("value"):
        number = np.asarray(node["value"]).item()
        given = float(number) if "float" in x.dtype else int(number)
        source = Tensor(b.fill(index.shape, x.dtype, given), x.dtype)
    else:
        (whole,) = _rows(node, "src")
        source = b.slice(whole, [0] * whole.rank, index.shape, [1] * whole.rank)
    kind = {"add": "add", "multiply": "mul"}[node["reduce"]] if node.has("reduce") else "none"
    if node.call.operator.startswith("aten.scatter_add"):
        kind = "add"
    found = node.by_onnx(
        "ScatterElements",
        x,
        index,
        source,
        axis=node.axis(node["dim"], x.rank),
        reduction=kind,
    )[0]
    return b.reshape(found, node.shape)


@handles("index")
def index(node: AtenNode) -> Tensor:
    """Numpy's advanced indexing by integers: indices broadcast against each other.

    Their dimensions stand where the first index stood, or come first where a dimension between
    them is not indexed.
    """
    x, b = node.tensor("self"), node.b
    given: list[Operand | None] = list(node["indices"])
    if any(each is not None and dtype_of_operand(each) in ("bool", "uint8") for each in given):
        raise node.unsupported("a mask, whose result has a size that depends on its values")
    places = [d for d, each in enumerate(given) if each is not None]
    tensors = [cast(b, b.tensor(each), "int64") for each in given if each is not None]
    common = broadcast_shapes(*(each.shape for each in tensors))
    together = places == list(range(places[0], places[-1] + 1))
    first = places[0] if together else 0
    rest = [d for d in range(x.rank) if d not in places]
    shape = [x.shape[d] for d in rest]
    shape[first:first] = common
    if 0 in shape:
        return Tensor(b.fill(shape, x.dtype, 0), x.dtype)
    if 0 in x.shape:
        raise node.unsupported(f"{list(x.shape)} at {list(common)}")
    loops = [d for d in range(len(shape)) if not first <= d < first + len(common)]

    def position(*scalars: Scalar) -> tuple[list[Scalar], Scalar | None]:
        at: dict[int, Scalar] = {d: b.index(loop) for d, loop in zip(rest, loops, strict=True)}
        inside: Scalar | None = None
        for d, scalar in zip(places, scalars, strict=True):
            at[d], held = address(scalar, x.shape[d])
            inside = held if inside is None or held is None else inside & held
        return [at[d] for d in range(x.rank)], inside

    with b.location:
        read = [_index_map(each.shape, common, first, len(shape)) for each in tensors]
    return read_at(b, x, shape, list(zip(tensors, read, strict=True)), position)


def _index_map(
    shape: tuple[int, ...], common: tuple[int, ...], first: int, rank: int
) -> ir.AffineMap:
    """Read an index of `shape`, broadcast to `common`, over loops of which it begins at `first`."""
    offset = len(common) - len(shape)
    results = [
        ir.AffineConstantExpr.get(0) if size != common[d] else ir.AffineDimExpr.get(first + d)
        for d, size in enumerate(shape, offset)
    ]
    return ir.AffineMap.get(rank, 0, results)
