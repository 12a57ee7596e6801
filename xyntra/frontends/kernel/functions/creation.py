# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records arrays that are made of no other, conversions, and positions of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from xyntra.errors import KernelError
from xyntra.frontends.kernel.language import (
    array_of,
    constant,
    constant_axis,
    constant_int,
    language,
)
from xyntra.frontends.kernel.promotion import COMPUTED, cast, kind_of, lifted
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue, HostScalar
from xyntra.suggestions import did_you_mean

__all__ = ["dtype_name", "shape_argument"]


class DType:
    """A dtype of `xyntra.lang`, such as `xl.float32`.

    Args:
        name: numpy's.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"xl.{self.name}"

    def __eq__(self, other: object) -> bool:
        try:
            return self.name == dtype_name(other)
        except KernelError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)


DTYPES = {name: DType(name) for name in COMPUTED}


def dtype_name(given: Any) -> str:
    """Return numpy's name of a dtype given as one of `xyntra.lang`, numpy or torch, or as a name.

    Raises:
        KernelError: `kernel-dtype`, it is none that kernels compute in.
    """
    known = constant(given)
    if isinstance(known, DType):
        return known.name
    python = {bool: "bool", int: "int64", float: "float64"}
    try:
        if known in python:
            return python[known]
    except TypeError:
        pass
    name = known if isinstance(known, str) else getattr(known, "name", None)
    if name is None:
        name = getattr(known, "__name__", None) or str(known).removeprefix("torch.")
    if name in COMPUTED:
        return str(name)
    raise KernelError(
        "kernel-dtype",
        f"{given!r} is no dtype that kernels compute in",
        cause="these are " + ", ".join(COMPUTED),
        hint=did_you_mean(name, COMPUTED),
    )


def shape_argument(name: str, value: Any) -> tuple[int, ...]:
    """Return a shape, given as a number or a sequence of numbers.

    Raises:
        NeedsConstant, KernelError: it is none.
    """
    given = value if isinstance(value, (tuple, list)) else (value,)
    shape = tuple(constant_int(f"a size of {name}", each) for each in given)
    if any(size < 0 for size in shape):
        raise KernelError("kernel-shape", f"{name}: {shape} has a negative size")
    return shape


@language("astype")
def astype(r: KernelRecorder, x: Any, dtype: Any, /) -> ArrayValue:
    """Every element converted, as numpy does."""
    return cast(r, array_of("xl.astype", x), dtype_name(dtype))


@language("asarray")
def asarray(r: KernelRecorder, value: Any, /, dtype: Any = None) -> ArrayValue:
    """An array of a number, or of nested lists of numbers, or the array itself."""
    if isinstance(value, ArrayValue):
        return value if dtype is None else cast(r, value, dtype_name(dtype))
    if isinstance(value, HostScalar):
        kind = "float32" if value.kind == "float" else "int64"
        return r.scalar(value, kind if dtype is None else dtype_name(dtype))
    try:
        array = np.array(value)
    except ValueError as error:
        raise KernelError("kernel-type", f"xl.asarray: {error}") from None
    if array.dtype.kind not in "biuf":
        raise KernelError("kernel-type", f"xl.asarray takes numbers, not {value!r}")
    default = {"f": "float32", "b": "bool"}.get(array.dtype.kind, "int64")
    name = default if dtype is None else dtype_name(dtype)
    if not array.shape:
        return _full(r, (), array.item(), name)
    return r.captured(_in_dtype(array, name), "constant")


def _in_dtype(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    from xyntra.frontends.weight_types import dtype_of

    return np.ascontiguousarray(array.astype(dtype_of(name)))


def _full(r: KernelRecorder, shape: tuple[int, ...], value: Any, dtype: str) -> ArrayValue:
    number = lifted(r, value, dtype)
    if isinstance(number, ArrayValue):
        return r.call("aten.expand.default", dtype, shape, self=number)
    return r.call("aten.full.default", dtype, shape, fill_value=number)


@language("full")
def full(r: KernelRecorder, shape: Any, fill_value: Any, /, dtype: Any = None) -> ArrayValue:
    """An array whose elements are all one number; a float is float32 where no dtype is given."""
    kind = getattr(fill_value, "kind", type(fill_value).__name__)
    default = {"bool": "bool", "int": "int64"}.get(kind, "float32")
    if isinstance(fill_value, ArrayValue):
        default = fill_value.dtype
    name = default if dtype is None else dtype_name(dtype)
    if isinstance(fill_value, ArrayValue) and fill_value.shape:
        raise KernelError("kernel-shape", f"xl.full takes one number, not an array {fill_value}")
    return _full(r, shape_argument("xl.full", shape), fill_value, name)


@language("zeros")
def zeros(r: KernelRecorder, shape: Any, /, dtype: Any = "float32") -> ArrayValue:
    """An array of zeros."""
    return _full(r, shape_argument("xl.zeros", shape), 0, dtype_name(dtype))


@language("ones")
def ones(r: KernelRecorder, shape: Any, /, dtype: Any = "float32") -> ArrayValue:
    """An array of ones."""
    return _full(r, shape_argument("xl.ones", shape), 1, dtype_name(dtype))


@language("zeros_like")
def zeros_like(r: KernelRecorder, x: Any, /, dtype: Any = None) -> ArrayValue:
    """Zeros in the shape and, unless another is given, the dtype of `x`."""
    return _like(r, "xl.zeros_like", x, 0, dtype)


@language("ones_like")
def ones_like(r: KernelRecorder, x: Any, /, dtype: Any = None) -> ArrayValue:
    """Ones in the shape and, unless another is given, the dtype of `x`."""
    return _like(r, "xl.ones_like", x, 1, dtype)


@language("full_like")
def full_like(r: KernelRecorder, x: Any, fill_value: Any, /, dtype: Any = None) -> ArrayValue:
    """One number in the shape and, unless another is given, the dtype of `x`."""
    return _like(r, "xl.full_like", x, fill_value, dtype)


def _like(r: KernelRecorder, name: str, x: Any, value: Any, dtype: Any) -> ArrayValue:
    model = array_of(name, x)
    return _full(r, model.shape, value, model.dtype if dtype is None else dtype_name(dtype))


@language("arange")
def arange(
    r: KernelRecorder, start: Any, /, stop: Any = None, step: Any = 1, dtype: Any = None
) -> ArrayValue:
    """The numbers from `start` to below `stop`; from 0 where only one is given."""
    first, last = (0, start) if stop is None else (start, stop)
    numbers = [constant(each) for each in (first, last, step)]
    if not all(isinstance(each, (int, float)) for each in numbers) or not numbers[2]:
        raise KernelError(
            "kernel-type", f"xl.arange takes numbers, and a step that is not 0: {numbers}"
        )
    floats = any(isinstance(each, float) for each in numbers)
    name = ("float32" if floats else "int64") if dtype is None else dtype_name(dtype)
    size = max(0, int(np.ceil((numbers[1] - numbers[0]) / numbers[2])))
    positions = r.call("xyntra.index", "int64", (size,), axis=0)
    if floats:
        positions = cast(r, positions, "float64")
    wide = positions.dtype
    scaled = r.call("aten.mul.Tensor", wide, (size,), self=positions, other=numbers[2])
    return cast(r, r.call("aten.add.Tensor", wide, (size,), self=scaled, other=numbers[0]), name)


@language("index")
def index(r: KernelRecorder, x: Any, axis: Any, /, dtype: Any = "int64") -> ArrayValue:
    """The position of every element of `x` along `axis`, in a shape that broadcasts to that of `x`.

    `x` is an array or a shape. The result has the size 1 in all dimensions but `axis`.
    """
    shape = x.shape if isinstance(x, ArrayValue) else shape_argument("xl.index", x)
    at = constant_axis("xl.index", axis, len(shape))
    name = dtype_name(dtype)
    if kind_of(name) == 0:
        raise KernelError("kernel-dtype", "positions are no booleans", hint="xl.int64")
    sizes = [size if d == at else 1 for d, size in enumerate(shape)]
    return r.call("xyntra.index", name, sizes, axis=at)


@language("eye")
def eye(
    r: KernelRecorder, n_rows: Any, n_cols: Any = None, /, k: Any = 0, dtype: Any = "float32"
) -> ArrayValue:
    """Ones on the diagonal `k`, zeros elsewhere."""
    rows = constant_int("xl.eye", n_rows)
    columns = rows if n_cols is None else constant_int("xl.eye", n_cols)
    offset = constant_int("k", k)
    i = r.call("xyntra.index", "int64", (rows, 1), axis=0)
    j = r.call("xyntra.index", "int64", (1, columns), axis=1)
    moved = r.call("aten.add.Tensor", "int64", (rows, 1), self=i, other=offset)
    flags = r.call("aten.eq.Tensor", "bool", (rows, columns), self=j, other=moved)
    return cast(r, flags, dtype_name(dtype))


def _triangle(r: KernelRecorder, name: str, x: Any, k: Any, operator: str) -> ArrayValue:
    value = array_of(name, x)
    if value.ndim < 2:
        raise KernelError("kernel-shape", f"{name} takes matrices, not an array {value}")
    rows, columns = value.shape[-2:]
    i = r.call("xyntra.index", "int64", (rows, 1), axis=0)
    j = r.call("xyntra.index", "int64", (1, columns), axis=1)
    moved = r.call("aten.add.Tensor", "int64", (rows, 1), self=i, other=constant_int("k", k))
    flags = r.call(operator, "bool", (rows, columns), self=j, other=moved)
    zero: Any = False if value.dtype == "bool" else 0
    return r.call(
        "aten.where.self", value.dtype, value.shape, condition=flags, self=value, other=zero
    )


@language("tril")
def tril(r: KernelRecorder, x: Any, /, *, k: Any = 0) -> ArrayValue:
    """`x` with zeros above the diagonal `k` of each matrix."""
    return _triangle(r, "xl.tril", x, k, "aten.le.Tensor")


@language("triu")
def triu(r: KernelRecorder, x: Any, /, *, k: Any = 0) -> ArrayValue:
    """`x` with zeros below the diagonal `k` of each matrix."""
    return _triangle(r, "xl.triu", x, k, "aten.ge.Tensor")
