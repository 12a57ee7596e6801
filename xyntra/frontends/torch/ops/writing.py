# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writing to positions that a tensor or a mask holds."""

from __future__ import annotations

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.dialects.tensors.reductions import identity_of
from xyntra.frontends.onnx.ops.elementwise.precision import cast
from xyntra.frontends.torch.node import AtenNode, Result, handles
from xyntra.frontends.torch.promotion import dtype_of_operand

_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


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
    if 0 in shape or 0 in x.shape:
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
    """One mask of the leading dimensions, and a single value."""
    values = node.tensor("values")
    mask = given[0]
    if len(given) != 1 or mask is None or (values.rank and values.shape != (1,)):
        raise node.unsupported("a mask with several values")
    spread = node.b.tensor(mask)
    spread = node.b.reshape(spread, [*spread.shape, *[1] * (x.rank - spread.rank)])

    def body(v: Scalar, flag: Scalar, new: Scalar) -> Scalar:
        taken = new.cast(x.dtype)
        return flag.cast("bool").select(v + taken if node["accumulate"] else taken, v)

    return node.b.map(body, x, spread, values, dtype=x.dtype, shape=x.shape)


@handles("scatter_reduce")
def scatter_reduce(node: AtenNode) -> Result:
    x, index, b = node.tensor("self"), node.tensor("index"), node.b
    if not x.rank or not index.rank or 0 in index.shape:
        raise node.unsupported(f"{list(x.shape)} at {list(index.shape)}")
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
    return node.by_onnx("ScatterElements", x, index, source, axis=axis, reduction=kind)[0]


@handles("copy")
def copy(node: AtenNode) -> Tensor:
    return node.b.broadcast_to(cast(node.b, node.tensor("src"), node.dtype), node.shape)


@handles("bucketize", "searchsorted")
def bucketize(node: AtenNode) -> Tensor:
    """The number of boundaries, sorted in one dimension, that lie below; NaN lies above all."""
    search = node.call.operator.startswith("aten.searchsorted")
    bounds = node.tensor("sorted_sequence" if search else "boundaries")
    x, b = node.tensor("self"), node.b
    right = bool(node["right"]) or node["side"] == "right"
    if bounds.rank != 1 or node.has("sorter") or 0 in bounds.shape or 0 in x.shape:
        raise node.unsupported("boundaries of several rows, or an order of them")
    wide = "float64" if is_float(x.dtype) or is_float(bounds.dtype) else "int64"
    column = b.reshape(x, [*x.shape, 1])

    def below(v: Scalar, bound: Scalar) -> Scalar:
        v, bound = v.cast(wide), bound.cast(wide)
        return (~((bound > v) if right else (bound >= v))).cast("int64")

    flags = b.map(below, column, bounds, dtype="int64", shape=[*x.shape, *bounds.shape])
    found = b.reduce(flags, [x.rank], "sum", keepdims=False)
    return cast(b, found, node.dtype)
