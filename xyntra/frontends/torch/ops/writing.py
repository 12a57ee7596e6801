# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writing to positions that a tensor or a mask holds."""

from __future__ import annotations

from math import prod

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.dialects.tensors.reductions import identity_of
from xyntra.frontends.onnx.ops.elementwise.precision import cast
from xyntra.frontends.torch.node import AtenNode, Result, handles
from xyntra.frontends.torch.ops.elementwise import floor_division
from xyntra.frontends.torch.promotion import dtype_of_operand

_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}


@handles("index_put", "_unsafe_index_put")
def index_put(node: AtenNode) -> Result:
    """Where several elements go to one place, the last one counts, or all are added."""
    x, b = node.tensor("self"), node.b
    given: list[Operand | None] = list(node["indices"])
    if any(each is not None and dtype_of_operand(each) in ("bool", "uint8") for each in given):
        return _masked(node, x, given)
    places = [d for d, each in enumerate(given) if each is not None]
    tensors = [cast(b, b.tensor(each), "int64") for each in given if each is not None]
    common = broadcast_shapes(*(each.shape for each in tensors))
    rest = [d for d in range(x.rank) if d not in places]
    first = places[0] if places == list(range(places[0], places[-1] + 1)) else 0
    shape = [x.shape[d] for d in rest]
    shape[first:first] = common
    if 0 in shape:
        return node.operand("self")
    if 0 in x.shape:
        raise node.unsupported(f"{list(x.shape)} at {list(common)}")
    values = b.broadcast_to(cast(b, node.tensor("values"), x.dtype), shape)
    inner = [*range(first, first + len(common))]
    values = b.transpose(values, [*inner, *(d for d in range(len(shape)) if d not in inner)])
    columns = [b.reshape(b.broadcast_to(each, common), [*common, 1]) for each in tensors]
    where = columns[0] if len(columns) == 1 else node.by_onnx("Concat", *columns, axis=-1)[0]
    order = [*places, *rest]
    found = node.by_onnx(
        "ScatterND",
        b.transpose(x, order),
        where,
        values,
        reduction="add" if node["accumulate"] else "none",
    )[0]
    return b.transpose(found, [order.index(d) for d in range(x.rank)])


def _masked(node: AtenNode, x: Tensor, given: list[Operand | None]) -> Result:
    """One mask of the leading dimensions; rows of values are taken in order where it is set."""
    values, b = cast(node.b, node.tensor("values"), x.dtype), node.b
    mask = given[0]
    if len(given) != 1 or mask is None:
        raise node.unsupported("a mask beside other indices")
    spread = b.tensor(mask)
    rest = x.shape[spread.rank :]
    if 0 in x.shape or 0 in values.shape:
        return node.operand("self")
    if values.rank == len(rest) + 1 and values.shape[0] != 1:
        values = _in_order(node, values, spread)
    elif values.rank > len(rest):
        values = b.reshape(values, values.shape[values.rank - len(rest) :])
    spread = b.reshape(spread, [*spread.shape, *[1] * len(rest)])

    def body(v: Scalar, flag: Scalar, new: Scalar) -> Scalar:
        taken = new.cast(x.dtype)
        return flag.cast("bool").select(v + taken if node["accumulate"] else taken, v)

    return node.b.map(body, x, spread, values, dtype=x.dtype, shape=x.shape)


def _in_order(node: AtenNode, values: Tensor, mask: Tensor) -> Tensor:
    """Lay rows [count, ...] out over a mask: the n-th one where the mask is set for the n-th time.

    What lies elsewhere is any row.
    """
    b, total = node.b, prod(mask.shape)
    flags = b.map(lambda v: v.cast("bool").cast("int64"), b.reshape(mask, [total]), dtype="int64")
    (counts,) = node.by_onnx("CumSum", flags, np.array(0, np.int64))
    last = values.shape[0] - 1
    places = b.map(lambda n: (n - 1).maximum(0).minimum(last), counts, dtype="int64")
    rows = node.by_onnx("Gather", values, places, axis=0)[0]
    return b.reshape(rows, [*mask.shape, *values.shape[1:]])


@handles("scatter_reduce")
def scatter_reduce(node: AtenNode) -> Result:
    x, index, b = node.tensor("self"), node.tensor("index"), node.b
    if not x.rank or not index.rank:
        raise node.unsupported(f"{list(x.shape)} at {list(index.shape)}")
    if 0 in index.shape:
        return x
    kind = _REDUCTIONS.get(node["reduce"])
    if kind is None or x.dtype == "bool":
        raise node.unsupported(f"reduce={node['reduce']!r} of {x.dtype}")
    whole = node.tensor("src")
    source = b.slice(whole, [0] * whole.rank, index.shape, [1] * whole.rank)
    axis = node.axis(node["dim"], x.rank)
    if node["include_self"] is False:
        reduction = {"add": "sum", "mul": "prod"}.get(kind, kind)
        start = identity_of(reduction, x.dtype)  # type: ignore[arg-type]
        first = Tensor(b.fill(index.shape, x.dtype, start), x.dtype)
        x = node.by_onnx("ScatterElements", x, index, first, axis=axis)[0]
    (found,) = node.by_onnx("ScatterElements", x, index, source, axis=axis, reduction=kind)
    return _over_counts(node, found, index, axis) if node["reduce"] == "mean" else found


def _over_counts(node: AtenNode, total: Tensor, index: Tensor, axis: int) -> Tensor:
    """Divide sums by how many elements each place holds, its own first one where that counts."""
    b = node.b
    counts, one = (Tensor(b.fill(s, "int32", 1), "int32") for s in (total.shape, index.shape))
    if node["include_self"] is False:
        none = Tensor(b.fill(index.shape, "int32", 0), "int32")
        counts = node.by_onnx("ScatterElements", counts, index, none, axis=axis)[0]
    (counts,) = node.by_onnx("ScatterElements", counts, index, one, axis=axis, reduction="add")
    floats = is_float(total.dtype)

    def mean(v: Scalar, n: Scalar) -> Scalar:
        n = n.cast(total.dtype)
        return v / n if floats else floor_division(v, n)

    return b.map(mean, total, counts, dtype=total.dtype)


@handles("copy")
def copy(node: AtenNode) -> Tensor:
    return node.b.broadcast_to(cast(node.b, node.tensor("src"), node.dtype), node.shape)


@handles("bucketize", "searchsorted")
def bucketize(node: AtenNode) -> Tensor:
    """The number of boundaries, sorted in the last dimension, that lie below; NaN is above all."""
    search = node.call.operator.startswith("aten.searchsorted")
    bounds = node.tensor("sorted_sequence" if search else "boundaries")
    x, b = node.tensor("self"), node.b
    right = bool(node["right"]) or node["side"] == "right"
    if 0 in bounds.shape or 0 in x.shape:
        return Tensor(b.fill(x.shape, node.dtype, 0), node.dtype)
    if node.has("sorter"):
        order = node.tensor("sorter")
        bounds = node.by_onnx("GatherElements", bounds, order, axis=bounds.rank - 1)[0]
    if bounds.rank > 1:  # a row for each row of what is looked up
        bounds = b.reshape(bounds, [*bounds.shape[:-1], 1, bounds.shape[-1]])
    wide = "float64" if is_float(x.dtype) or is_float(bounds.dtype) else "int64"
    column = b.reshape(x, [*x.shape, 1])

    def below(v: Scalar, bound: Scalar) -> Scalar:
        v, bound = v.cast(wide), bound.cast(wide)
        return (~((bound > v) if right else (bound >= v))).cast("int64")

    flags = b.map(below, column, bounds, dtype="int64", shape=[*x.shape, bounds.shape[-1]])
    found = b.reduce(flags, [x.rank], "sum", keepdims=False)
    return cast(b, found, node.dtype)
