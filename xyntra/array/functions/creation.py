# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes arrays: of values that are there, or of a rule that is recorded."""

from __future__ import annotations

from math import ceil as ceil_of
from typing import Any

from xyntra.array.arrays import Array, as_node, node_of, wrap
from xyntra.array.dtypes import ElementType, as_dtype, default_float, int64
from xyntra.array.interchange import adopted, is_foreign, of_python
from xyntra.array.late import LATE, late
from xyntra.array.recorded.evaluate import compute as compute_nodes
from xyntra.array.recorded.graph import LazyNode, exact, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import cast
from xyntra.array.views import broadcast, reshape
from xyntra.errors import InputError

__all__ = [
    "arange", "array", "asarray", "compute", "empty", "empty_like", "eye", "from_dlpack", "full",
    "full_like", "linspace", "meshgrid", "ones", "ones_like", "shape_of", "tril", "triu", "zeros",
    "zeros_like",
]  # fmt: skip


def compute(*arrays: Any) -> None:
    """Compute arrays now, all of them by one executable."""
    compute_nodes([node_of(each) for each in arrays])


@late
def asarray(
    obj: Any, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None
) -> Array:
    """Return an array of what is given: an array, numbers of Python, or nested lists of them.

    Memory of another library is copied, unless `copy=False`.

    Raises:
        InputError: the values do not make an array, or `copy=False` where they have to be copied.
    """
    return _on(device, _taken(obj, dtype, copy))


def _on(device: Any, array: Array) -> Array:
    """Return an array that was made for a device; None is where arrays are computed."""
    return array if device is None else LATE["moved"](array, device)


def _taken(obj: Any, dtype: Any, copy: bool | None) -> Array:
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(obj, Array):
        converted = wanted is not None and wanted is not obj.dtype
        if copy is False and converted:
            raise InputError("array-copy", "another dtype needs a copy", place=user_place())
        if not converted and not copy:
            return obj
        node = node_of(obj)
        return wrap(
            cast(node, wanted)
            if converted and wanted
            else LazyNode("identity", (node,), (), node.meta)
        )
    if is_foreign(obj):
        found = adopted(obj, copy=copy)
        return wrap(found if wanted is None else cast(found, wanted))
    if copy is False:
        raise InputError(
            "array-copy", f"a {type(obj).__name__} needs to be copied", place=user_place()
        )
    return wrap(of_python(obj, wanted))


def array(obj: Any, dtype: Any = None) -> Array:
    """Return a new array of what is given, as numpy's function of the name."""
    return asarray(obj, dtype=dtype, copy=True)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return an array of another library's; its memory is shared with `copy=False` only."""
    if isinstance(x, Array):
        return asarray(x, copy=copy, device=device)
    return _on(device, wrap(adopted(x, copy=copy)))


def shape_of(shape: Any) -> tuple[int, ...]:
    """Return a shape given as a size or as a sequence of sizes.

    Raises:
        InputError: a size is negative or no integer.
    """
    given = shape if isinstance(shape, tuple | list) else (shape,)
    try:
        sizes = tuple([each if type(each) is int else each.__index__() for each in given])
    except AttributeError:
        sizes = (-1,)
    if any(each < 0 for each in sizes):
        raise InputError(
            "array-shape",
            f"{shape!r} is no shape",
            place=user_place(),
            cause="sizes are integers that are not negative",
        )
    return sizes


def _full(shape: Any, value: Any, dtype: ElementType) -> Array:
    return wrap(LazyNode("full", (), (("value", exact(value)),), meta_of(shape_of(shape), dtype)))


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array whose elements all are `fill_value`, in the default type of its kind."""
    if isinstance(fill_value, bool | int | float):
        kind = as_dtype(type(fill_value)) if dtype is None else as_dtype(dtype)
        return _on(device, _full(shape, fill_value, kind))
    node = as_node(fill_value)
    node = node if dtype is None else cast(node, as_dtype(dtype))
    return _on(device, wrap(broadcast(node, shape_of(shape))))


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array of zeros."""
    return _on(device, _full(shape, 0, default_float if dtype is None else as_dtype(dtype)))


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array of ones."""
    return _on(device, _full(shape, 1, default_float if dtype is None else as_dtype(dtype)))


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array to be written to; its elements are zeros, so that no one reads garbage."""
    return zeros(shape, dtype=dtype, device=device)


def _like(x: Any, value: Any, dtype: Any) -> Array:
    meta = as_node(x).meta
    return _full(meta.shape, value, meta.dtype if dtype is None else as_dtype(dtype))


def zeros_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Return zeros of the shape and the type of an array."""
    return _on(device, _like(x, 0, dtype))


def ones_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Return ones of the shape and the type of an array."""
    return _on(device, _like(x, 1, dtype))


def empty_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array to be written to, of the shape and the type of another."""
    return zeros_like(x, dtype=dtype, device=device)


def full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array of the shape and the type of another, with one value for all elements."""
    meta = as_node(x).meta
    return full(meta.shape, fill_value, dtype=meta.dtype if dtype is None else dtype, device=device)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None
) -> Array:
    """Return the numbers from `start` (0 where it is alone) to below `stop`, `step` apart.

    Raises:
        InputError: the step is 0.
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = (
        each.item() if isinstance(each, Array) else each for each in (start, stop, step)
    )
    if step == 0:
        raise InputError("array-argument", "the step of arange is 0", place=user_place())
    if dtype is None:
        dtype = (
            default_float if any(isinstance(each, float) for each in (start, stop, step)) else int64
        )
    if all(isinstance(each, int) for each in (start, stop, step)):
        count = max(0, -((start - stop) // step))
    else:
        count = max(0, ceil_of((stop - start) / step))
    meta = meta_of((count,), as_dtype(dtype))
    return _on(device, wrap(LazyNode("arange", (), (("start", start), ("step", step)), meta)))


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    """Return `num` numbers at equal distances from `start` to `stop`, which `endpoint` includes."""
    attrs = (("start", float(start)), ("stop", float(stop)), ("endpoint", endpoint))
    meta = meta_of(shape_of(num), default_float if dtype is None else as_dtype(dtype))
    return _on(device, wrap(LazyNode("linspace", (), attrs, meta)))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    """Return a matrix with ones on the diagonal `k` columns to the right of the main one."""
    shape = shape_of((n_rows, n_rows if n_cols is None else n_cols))
    meta = meta_of(shape, default_float if dtype is None else as_dtype(dtype))
    return _on(device, wrap(LazyNode("eye", (), (("k", k),), meta)))


def _triangle(x: Any, k: int, upper: bool) -> Array:
    a = as_node(x)
    if len(a.meta.shape) < 2:
        raise InputError(
            "array-rank", f"triangles of an array of rank {len(a.meta.shape)}", place=user_place()
        )
    return wrap(LazyNode("triangle", (a,), (("k", k), ("upper", upper)), a.meta))


def tril(x: Any, /, k: int = 0) -> Array:
    """Return each matrix with zeros above the diagonal `k`."""
    return _triangle(x, k, False)


def triu(x: Any, /, k: int = 0) -> Array:
    """Return each matrix with zeros below the diagonal `k`."""
    return _triangle(x, k, True)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Array]:
    """Return the coordinates of a grid, an array for each vector of coordinates."""
    if indexing not in ("xy", "ij"):
        raise InputError("array-argument", f"indexing={indexing!r} is not 'xy' or 'ij'")
    nodes = [as_node(each) for each in arrays]
    order = list(range(len(nodes)))
    if indexing == "xy" and len(nodes) > 1:
        order[:2] = [1, 0]
    sizes = [each.meta.size for each in nodes]
    shape = tuple(sizes[place] for place in order)
    found = []
    for number, node in enumerate(nodes):
        own = tuple(sizes[number] if place == number else 1 for place in order)
        found.append(wrap(broadcast(reshape(node, own), shape)))
    return found
