# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records reductions and scans by an associative function of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.language import array_of, constant, constant_axis, language
from xyntra.frontends.kernel.promotion import cast
from xyntra.frontends.kernel.recorder import KernelRecorder, nested_program
from xyntra.frontends.kernel.values import ArrayValue

__all__: list[str] = []

_NARROW = ("float16", "bfloat16")
_NAMES = {"sum", "add", "prod", "multiply", "max", "maximum", "min", "minimum"}


@language("reduce")
def reduce(
    r: KernelRecorder,
    op: Any,
    x: Any,
    /,
    axis: Any = -1,
    *,
    keepdims: Any = False,
    ordered: Any = False,
    commutative: Any = False,
) -> Any:
    """Combine the elements along `axis` by `op(a, b)`, which is associative.

    `x` may be a tuple of arrays of one shape: `op` then takes and returns tuples, as for a mean
    and a variance at once. Partial results may be combined in any grouping, but stay in order;
    with `ordered`, each element is combined with the result of all before it. `commutative` says
    that `op(b, a)` is the same, which allows vectors.
    """
    arrays, at = _arrays("xl.reduce", x, axis)
    if not arrays[0].shape[at]:
        raise KernelError("kernel-shape", f"xl.reduce of no elements has no value: {arrays[0]}")
    shape = [
        1 if d == at else size
        for d, size in enumerate(arrays[0].shape)
        if d != at or constant(keepdims)
    ]
    operands, program = _prepared(r, "xl.reduce", op, arrays)
    found = r.calls(
        "xyntra.reduce_by",
        [(each.dtype, shape) for each in operands],
        operands=operands if constant(ordered) else arrays,
        dim=at,
        ordered=bool(constant(ordered)),
        commutative=bool(constant(commutative)),
        **program,
    )
    return _rounded(r, x, arrays, found)


@language("scan")
def scan(r: KernelRecorder, op: Any, x: Any, /, axis: Any = -1, *, reverse: Any = False) -> Any:
    """Combine every element with all before it along `axis` by `op(a, b)`, which is associative.

    `x` may be a tuple of arrays, as for `xl.reduce`. `reverse` begins with the last element.
    """
    arrays, at = _arrays("xl.scan", x, axis)
    if not arrays[0].size:
        return x
    operands, program = _prepared(r, "xl.scan", op, arrays)
    found = r.calls(
        "xyntra.scan_by",
        [(each.dtype, each.shape) for each in operands],
        operands=operands,
        dim=at,
        reverse=bool(constant(reverse)),
        **program,
    )
    return _rounded(r, x, arrays, found)


def _arrays(name: str, x: Any, axis: Any) -> tuple[list[ArrayValue], int]:
    given = x if isinstance(x, tuple) else (x,)
    arrays = [array_of(name, each) for each in given]
    if not arrays or len({each.shape for each in arrays}) > 1:
        texts = ", ".join(str(each.shape) for each in arrays)
        raise KernelError(
            "kernel-shape", f"{name} takes arrays of one shape, not {texts or 'none'}"
        )
    return arrays, constant_axis("axis", axis, arrays[0].ndim)


def _prepared(
    r: KernelRecorder, name: str, op: Any, arrays: Sequence[ArrayValue]
) -> tuple[list[ArrayValue], dict[str, Any]]:
    """Return the operands, and the program that combines elements of them.

    What is combined of 16-bit floats is kept in float32 until the end, as in a sum: a count beyond
    2048 would not grow in float16. A function that names their dtype itself keeps it.
    """
    wide = [cast(r, x, "float32") if x.dtype in _NARROW else x for x in arrays]
    if wide != list(arrays):
        with suppress(KernelError):
            return wide, _combiner(r, name, op, wide)
    return list(arrays), _combiner(r, name, op, arrays)


def _rounded(r: KernelRecorder, x: Any, arrays: Sequence[ArrayValue], found: Sequence[Any]) -> Any:
    """Return results in the dtypes of the arrays: a tuple, where `x` is one."""
    results = tuple(cast(r, each, own.dtype) for each, own in zip(found, arrays, strict=True))
    return results if isinstance(x, tuple) else results[0]


def _combiner(
    r: KernelRecorder, name: str, op: Any, arrays: Sequence[ArrayValue]
) -> dict[str, Any]:
    """Return the program that combines two elements, or two tuples of them."""
    if not callable(op):
        hint = (
            "xl.sum, xl.prod, xl.max and xl.min have names of their own" if op in _NAMES else None
        )
        raise KernelError("kernel-type", f"{name} takes a function first, not {op!r}", hint=hint)
    inner = r.nested()
    left = [inner.argument(f"a{i}", each.dtype, ()) for i, each in enumerate(arrays)]
    right = [inner.argument(f"b{i}", each.dtype, ()) for i, each in enumerate(arrays)]
    many = len(arrays) > 1
    result = op(inner, tuple(left) if many else left[0], tuple(right) if many else right[0])
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    types = [(each.dtype, each.shape) if isinstance(each, ArrayValue) else each for each in results]
    if types != [(each.dtype, ()) for each in arrays]:
        wanted = ", ".join(each.dtype for each in arrays)
        texts = ", ".join(str(each) for each in results)
        raise KernelError(
            "kernel-type", f"the function of {name} returns {texts}, not elements of {wanted}"
        )
    return nested_program(inner, results)
