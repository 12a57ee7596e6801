# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records operators of kernels along dimensions: reductions, scans, products, networks' layers.

A reduction by a function of the user's combines halves, or neighbours where the order counts, until
one element is left; a scan combines each element with one 1, 2, 4 … places before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xyntra.array.arrays import Array, node_of, wrap
from xyntra.array.expansion.program import OperatorCall, Unexpandable, operator, run_on_arrays
from xyntra.array.expansion.shapes import along
from xyntra.array.functions import manipulation, reductions, searching
from xyntra.array.functions.einsum import einsum
from xyntra.array.recorded.graph import LazyNode, meta_of

_MOST_ORDERED = 64
"""Elements of a reduction in order whose steps are recorded one by one."""
_REDUCTIONS = {
    "aten.sum.dim_IntList": reductions.sum,
    "aten.prod.dim_int": reductions.prod,
    "aten.amax.default": reductions.max,
    "aten.amin.default": reductions.min,
    "aten.mean.dim": reductions.mean,
    "aten.any.dims": reductions.any,
    "aten.all.dims": reductions.all,
}


@operator(*_REDUCTIONS)
def reduced(op: OperatorCall) -> Array:
    function: Any = _REDUCTIONS[op.name]
    dims = op["dim"]
    axes = tuple(dims) if isinstance(dims, list) else dims
    found: Array = function(op["self"], axis=axes, keepdims=bool(op["keepdim"]))
    return found


@operator("aten.var.correction")
def variance(op: OperatorCall) -> Array:
    axes, kept = tuple(op["dim"]), bool(op["keepdim"])
    return reductions.var(op["self"], axis=axes, correction=op["correction"], keepdims=kept)


@operator("aten.argmax.default", "aten.argmin.default")
def place(op: OperatorCall) -> Array:
    function = reductions.argmax if "argmax" in op.name else reductions.argmin
    return function(op["self"], axis=op["dim"], keepdims=bool(op["keepdim"]))


@operator("aten._softmax.default")
def softmax(op: OperatorCall) -> Array:
    return reductions.softmax(op["self"], axis=op["dim"])


@operator("aten._log_softmax.default")
def log_softmax(op: OperatorCall) -> Array:
    return reductions.log_softmax(op["self"], axis=op["dim"])


@operator("aten.cumsum.default")
def cumulative_sum(op: OperatorCall) -> Array:
    return reductions.cumulative_sum(op["self"], axis=op["dim"], dtype=op.dtype)


@operator("aten.cumprod.default")
def cumulative_product(op: OperatorCall) -> Array:
    return reductions.cumulative_prod(op["self"], axis=op["dim"], dtype=op.dtype)


@operator("aten.sort.stable")
def ordered(op: OperatorCall) -> tuple[Array, Array]:
    options = {"axis": op["dim"], "descending": bool(op["descending"])}
    return searching.sort(op["self"], **options), searching.argsort(op["self"], **options)


@operator("aten.topk.default")
def largest(op: OperatorCall) -> tuple[Array, Array]:
    return searching.top_k(op["self"], op["k"], axis=op["dim"])


@operator("xyntra.einsum")
def contracted(op: OperatorCall) -> Array:
    """Contract in the type of the result."""
    return einsum(op["equation"], *(each.astype(op.dtype, copy=False) for each in op["operands"]))


@operator("aten.convolution.default")
def convolution(op: OperatorCall) -> Array:
    attrs = tuple(
        (name, tuple(op[name]) if isinstance(op[name], list) else op[name])
        for name in ("stride", "padding", "dilation", "transposed", "output_padding", "groups")
    )
    found = _node("conv", op, attrs, op["input"], op["weight"])
    bias = op["bias"]
    rank = len(op["stride"])
    return found if bias is None else found + manipulation.reshape(bias, (-1, *(1,) * rank))


@operator("aten.max_pool2d_with_indices.default")
def max_pool(op: OperatorCall) -> tuple[Array, None]:
    """The places of the largest elements are not used: the language has no name for them."""
    return _node(
        "max_pool", op, (*_windows(op), ("dilation", tuple(op["dilation"]))), op["self"]
    ), None


@operator("aten.avg_pool2d.default")
def average_pool(op: OperatorCall) -> Array:
    return _node("avg_pool", op, (*_windows(op), ("count_include_pad", True)), op["self"])


def _windows(op: OperatorCall) -> tuple[tuple[str, Any], ...]:
    return tuple((name, tuple(op[name])) for name in ("kernel_size", "stride", "padding"))


def _node(name: str, op: OperatorCall, attrs: tuple[Any, ...], *arrays: Array) -> Array:
    nodes = tuple(node_of(each) for each in arrays)
    return wrap(LazyNode(name, nodes, attrs, meta_of(op.shape, op.dtype)))


@operator("xyntra.reduce_by")
def reduced_by(op: OperatorCall) -> tuple[Array, ...]:
    arrays, axis = list(op["operands"]), op["dim"]
    program = op["program"]
    if op["ordered"]:
        arrays = _in_order(program, arrays, axis)
    while arrays[0].shape[axis] > 1:
        size = arrays[0].shape[axis]
        half = size // 2
        if op["commutative"]:
            parts = slice(0, half), slice(half, 2 * half)
        else:
            parts = slice(0, 2 * half, 2), slice(1, 2 * half, 2)
        found = _combined(program, arrays, axis, *parts)
        if size % 2:
            last = [along(each, axis, slice(size - 1, size)) for each in arrays]
            found = [manipulation.concat(pair, axis=axis) for pair in zip(found, last, strict=True)]
        arrays = found
    return tuple(manipulation.reshape(each, op.shape) for each in arrays)


def _in_order(program: str, arrays: list[Array], axis: int) -> list[Array]:
    size = arrays[0].shape[axis]
    if size > _MOST_ORDERED:
        raise Unexpandable(f"a reduction of {size} elements in order")
    found = [along(each, axis, slice(0, 1)) for each in arrays]
    for at in range(1, size):
        found = run_on_arrays(
            program, [*found, *[along(each, axis, slice(at, at + 1)) for each in arrays]]
        )
    return found


def _combined(
    program: str, arrays: Sequence[Array], axis: int, left: slice, right: slice
) -> list[Array]:
    parts = [along(each, axis, part) for part in (left, right) for each in arrays]
    shape = parts[0].shape
    found = run_on_arrays(program, parts)
    return [manipulation.broadcast_to(each, shape) for each in found]


@operator("xyntra.scan_by")
def scanned_by(op: OperatorCall) -> tuple[Array, ...]:
    axis, reverse = op["dim"], op["reverse"]
    arrays = [manipulation.flip(each, axis=axis) if reverse else each for each in op["operands"]]
    size, step = arrays[0].shape[axis], 1
    while step < size:
        found = _combined(op["program"], arrays, axis, slice(0, size - step), slice(step, size))
        first = [along(each, axis, slice(0, step)) for each in arrays]
        arrays = [manipulation.concat(pair, axis=axis) for pair in zip(first, found, strict=True)]
        step *= 2
    return tuple(manipulation.flip(each, axis=axis) if reverse else each for each in arrays)
