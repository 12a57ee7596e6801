# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records reductions, cumulative sums and products, softmax, sorting."""

from __future__ import annotations

from math import prod
from typing import Any

from xyntra.dialects.dtypes import is_float, is_unsigned
from xyntra.errors import KernelError
from xyntra.frontends.kernel.functions.creation import dtype_name
from xyntra.frontends.kernel.language import (
    array_of,
    constant,
    constant_axes,
    constant_axis,
    constant_int,
    language,
)
from xyntra.frontends.kernel.promotion import cast, check_kind, kind_of
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue

__all__: list[str] = []


def _reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> list[int]:
    if keepdims:
        return [1 if d in axes else size for d, size in enumerate(shape)]
    return [size for d, size in enumerate(shape) if d not in axes]


def _reduce(
    r: KernelRecorder, operator: str, x: ArrayValue, axis: Any, keepdims: Any, dtype: str
) -> ArrayValue:
    axes = constant_axes(f"axis={axis}", axis, x.ndim)
    kept = bool(constant(keepdims))
    if not axes and dtype == x.dtype:
        return x
    shape = _reduced_shape(x.shape, axes, kept)
    return r.call(operator, dtype, shape, self=x, dim=list(axes), keepdim=kept)


def _wide(dtype: str) -> str:
    """Return the dtype in which the standard sums up elements of `dtype`."""
    if is_float(dtype):
        return dtype
    return "uint64" if is_unsigned(dtype) and dtype != "bool" else "int64"


@language("sum")
def sum_(
    r: KernelRecorder, x: Any, /, axis: Any = None, dtype: Any = None, keepdims: Any = False
) -> ArrayValue:
    """The sum along one dimension, several, or all; integers are summed up in 64 bits."""
    return _total(r, "xl.sum", "aten.sum.dim_IntList", x, axis, dtype, keepdims)


@language("prod")
def prod_(
    r: KernelRecorder, x: Any, /, axis: Any = None, dtype: Any = None, keepdims: Any = False
) -> ArrayValue:
    """The product along one dimension, several, or all."""
    return _total(r, "xl.prod", "aten.prod.dim_int", x, axis, dtype, keepdims)


def _total(
    r: KernelRecorder, name: str, operator: str, x: Any, axis: Any, dtype: Any, keepdims: Any
) -> ArrayValue:
    value = array_of(name, x)
    check_kind(name, value, 1, 2)
    result = _wide(value.dtype) if dtype is None else dtype_name(dtype)
    return _reduce(r, operator, cast(r, value, result), axis, keepdims, result)


def _not_empty(name: str, x: ArrayValue, axis: Any) -> None:
    axes = constant_axes(f"axis={axis}", axis, x.ndim)
    if prod(x.shape[d] for d in axes) == 0:
        raise KernelError("kernel-shape", f"{name} of no elements has no value: {x}, axis={axis}")


@language("max")
def max_(r: KernelRecorder, x: Any, /, axis: Any = None, keepdims: Any = False) -> ArrayValue:
    """The largest element along one dimension, several, or all; NaN where there is one."""
    return _extreme(r, "xl.max", "aten.amax.default", x, axis, keepdims)


@language("min")
def min_(r: KernelRecorder, x: Any, /, axis: Any = None, keepdims: Any = False) -> ArrayValue:
    """The smallest element along one dimension, several, or all; NaN where there is one."""
    return _extreme(r, "xl.min", "aten.amin.default", x, axis, keepdims)


def _extreme(
    r: KernelRecorder, name: str, operator: str, x: Any, axis: Any, keepdims: Any
) -> ArrayValue:
    value = array_of(name, x)
    _not_empty(name, value, axis)
    return _reduce(r, operator, value, axis, keepdims, value.dtype)


@language("mean")
def mean(r: KernelRecorder, x: Any, /, axis: Any = None, keepdims: Any = False) -> ArrayValue:
    """The mean along one dimension, several, or all."""
    value = array_of("xl.mean", x)
    check_kind("xl.mean", value, 2)
    return _reduce(r, "aten.mean.dim", value, axis, keepdims, value.dtype)


@language("var")
def var(
    r: KernelRecorder, x: Any, /, axis: Any = None, correction: Any = 0, keepdims: Any = False
) -> ArrayValue:
    """The mean squared distance from the mean; `correction` is taken off the number of elements."""
    value = array_of("xl.var", x)
    check_kind("xl.var", value, 2)
    axes = constant_axes(f"axis={axis}", axis, value.ndim)
    shape = _reduced_shape(value.shape, axes, bool(constant(keepdims)))
    if not axes:
        return r.call("aten.full.default", value.dtype, shape, fill_value=0.0)
    return r.call(
        "aten.var.correction",
        value.dtype,
        shape,
        self=value,
        dim=list(axes),
        correction=float(constant(correction)),
        keepdim=bool(constant(keepdims)),
    )


@language("std")
def std(
    r: KernelRecorder, x: Any, /, axis: Any = None, correction: Any = 0, keepdims: Any = False
) -> ArrayValue:
    """The square root of the variance."""
    found = var(r, x, axis=axis, correction=correction, keepdims=keepdims)
    return r.call("aten.sqrt.default", found.dtype, found.shape, self=found)


@language("any")
def any_(r: KernelRecorder, x: Any, /, axis: Any = None, keepdims: Any = False) -> ArrayValue:
    """Whether any element along the dimensions is true."""
    value = array_of("xl.any", x)
    return _reduce(r, "aten.any.dims", value, axis, keepdims, "bool")


@language("all")
def all_(r: KernelRecorder, x: Any, /, axis: Any = None, keepdims: Any = False) -> ArrayValue:
    """Whether all elements along the dimensions are true."""
    value = array_of("xl.all", x)
    return _reduce(r, "aten.all.dims", value, axis, keepdims, "bool")


@language("count_nonzero")
def count_nonzero(
    r: KernelRecorder, x: Any, /, axis: Any = None, keepdims: Any = False
) -> ArrayValue:
    """How many elements are not zero."""
    value = array_of("xl.count_nonzero", x)
    flags = cast(r, cast(r, value, "bool"), "int64")
    return _reduce(r, "aten.sum.dim_IntList", flags, axis, keepdims, "int64")


@language("argmax")
def argmax(r: KernelRecorder, x: Any, /, axis: Any = None, keepdims: Any = False) -> ArrayValue:
    """The position (int64) of the first largest element, or of the first NaN."""
    return _place(r, "xl.argmax", "aten.argmax.default", x, axis, keepdims)


@language("argmin")
def argmin(r: KernelRecorder, x: Any, /, axis: Any = None, keepdims: Any = False) -> ArrayValue:
    """The position (int64) of the first smallest element, or of the first NaN."""
    return _place(r, "xl.argmin", "aten.argmin.default", x, axis, keepdims)


def _place(
    r: KernelRecorder, name: str, operator: str, x: Any, axis: Any, keepdims: Any
) -> ArrayValue:
    value = array_of(name, x)
    _not_empty(name, value, axis)
    kept = bool(constant(keepdims))
    at = None if axis is None else constant_axis(f"axis={axis}", axis, value.ndim)
    axes = tuple(range(value.ndim)) if at is None else (at,)
    shape = _reduced_shape(value.shape, axes, kept)
    return r.call(operator, "int64", shape, self=value, dim=at, keepdim=kept)


@language("logsumexp")
def logsumexp(r: KernelRecorder, x: Any, /, axis: Any = None, keepdims: Any = False) -> ArrayValue:
    """The logarithm of the sum of exponentials, computed from the largest element."""
    value = array_of("xl.logsumexp", x)
    check_kind("xl.logsumexp", value, 2)
    t = value.dtype
    largest = _extreme(r, "xl.logsumexp", "aten.amax.default", value, axis, True)
    infinite = r.call("aten.isinf.default", "bool", largest.shape, self=largest)
    offset = r.call(
        "aten.where.self", t, largest.shape, condition=infinite, self=0.0, other=largest
    )
    distance = r.call("aten.sub.Tensor", t, value.shape, self=value, other=offset)
    parts = r.call("aten.exp.default", t, value.shape, self=distance)
    total = _reduce(r, "aten.sum.dim_IntList", parts, axis, True, t)
    logs = r.call("aten.log.default", t, total.shape, self=total)
    found = r.call("aten.add.Tensor", t, total.shape, self=logs, other=offset)
    axes = constant_axes(f"axis={axis}", axis, value.ndim)
    shape = _reduced_shape(value.shape, axes, bool(constant(keepdims)))
    return r.call("aten.view.default", t, shape, self=found)


@language("softmax")
def softmax(r: KernelRecorder, x: Any, /, axis: Any = -1) -> ArrayValue:
    """Exponentials over their sum along `axis`."""
    return _softmax(r, "xl.softmax", "aten._softmax.default", x, axis)


@language("log_softmax")
def log_softmax(r: KernelRecorder, x: Any, /, axis: Any = -1) -> ArrayValue:
    """The logarithm of `softmax`."""
    return _softmax(r, "xl.log_softmax", "aten._log_softmax.default", x, axis)


def _softmax(r: KernelRecorder, name: str, operator: str, x: Any, axis: Any) -> ArrayValue:
    value = array_of(name, x)
    check_kind(name, value, 2)
    at = constant_axis(name, axis, value.ndim)
    return r.call(operator, value.dtype, value.shape, self=value, dim=at, half_to_float=False)


@language("cumulative_sum")
def cumulative_sum(
    r: KernelRecorder, x: Any, /, *, axis: Any = None, dtype: Any = None
) -> ArrayValue:
    """Every element plus all before it along `axis`."""
    return _cumulative(r, "xl.cumulative_sum", "aten.cumsum.default", x, axis, dtype)


@language("cumulative_prod")
def cumulative_prod(
    r: KernelRecorder, x: Any, /, *, axis: Any = None, dtype: Any = None
) -> ArrayValue:
    """Every element times all before it along `axis`."""
    return _cumulative(r, "xl.cumulative_prod", "aten.cumprod.default", x, axis, dtype)


def _cumulative(
    r: KernelRecorder, name: str, operator: str, x: Any, axis: Any, dtype: Any
) -> ArrayValue:
    value = array_of(name, x)
    check_kind(name, value, 1, 2)
    if axis is None and value.ndim != 1:
        raise KernelError("kernel-shape", f"{name}: an array {value} needs an axis", hint="axis=-1")
    at = constant_axis(name, 0 if axis is None else axis, value.ndim)
    result = _wide(value.dtype) if dtype is None else dtype_name(dtype)
    return r.call(operator, result, value.shape, self=cast(r, value, result), dim=at)


@language("sort")
def sort(r: KernelRecorder, x: Any, /, *, axis: Any = -1, descending: Any = False) -> ArrayValue:
    """The elements in order along `axis`; NaN come last."""
    return _sorted(r, "xl.sort", x, axis, descending)[0]


@language("argsort")
def argsort(r: KernelRecorder, x: Any, /, *, axis: Any = -1, descending: Any = False) -> ArrayValue:
    """The positions that put the elements in order along `axis`; equal ones keep theirs."""
    return _sorted(r, "xl.argsort", x, axis, descending)[1]


def _sorted(
    r: KernelRecorder, name: str, x: Any, axis: Any, descending: Any
) -> tuple[ArrayValue, ...]:
    value = array_of(name, x)
    if kind_of(value.dtype) == 0 or not value.ndim or not value.size:
        raise KernelError("kernel-type", f"{name} does not take an array {value}")
    at = constant_axis(name, axis, value.ndim)
    types = [(value.dtype, value.shape), ("int64", value.shape)]
    return r.calls(
        "aten.sort.stable", types, self=value, dim=at, descending=bool(constant(descending))
    )


@language("top_k")
def top_k(r: KernelRecorder, x: Any, k: Any, /, *, axis: Any = -1) -> tuple[ArrayValue, ...]:
    """The `k` largest elements along `axis` in order, and their positions (int64)."""
    value = array_of("xl.top_k", x)
    at = constant_axis("xl.top_k", axis, value.ndim)
    count = constant_int("k", k)
    if kind_of(value.dtype) == 0 or not value.size:
        raise KernelError("kernel-type", f"xl.top_k does not take an array {value}")
    if not 1 <= count <= value.shape[at]:
        raise KernelError("kernel-shape", f"xl.top_k: k={count} of {value.shape[at]} elements")
    shape = [count if d == at else size for d, size in enumerate(value.shape)]
    types = [(value.dtype, shape), ("int64", shape)]
    return r.calls("aten.topk.default", types, self=value, k=count, dim=at, largest=True)
