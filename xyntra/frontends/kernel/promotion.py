# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says in which dtype operands meet, by the rules of the Array API standard.

Dtypes of one kind (booleans, integers, floats) have a common one; kinds do not mix. Numbers of
Python take the dtype of the arrays that they meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xyntra.dialects.dtypes import ELEMENT_TYPES, NARROW_TYPES, bit_width, is_float, is_unsigned
from xyntra.errors import KernelError
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue, HostScalar

__all__ = ["COMPUTED", "cast", "check_kind", "common_dtype", "is_number", "kind_of", "lifted"]

COMPUTED = tuple(n for n in ELEMENT_TYPES if n not in NARROW_TYPES and n != "index")
"""Dtypes that kernels compute in."""
_KINDS = ("boolean", "integer", "floating-point")


def is_number(value: Any) -> bool:
    """Tell whether `value` is a number of Python, or one that a call knows."""
    return isinstance(value, (bool, int, float, HostScalar))


def kind_of(dtype: str) -> int:
    """Return 0 for booleans, 1 for integers, 2 for floats."""
    return 0 if dtype == "bool" else 2 if is_float(dtype) else 1


def common_dtype(*operands: Any, what: str = "operands") -> str:
    """Return the dtype in which arrays and numbers meet.

    Raises:
        KernelError: `kernel-dtype`, they are of different kinds; `kernel-type`, none is an array.
    """
    arrays = [each for each in operands if isinstance(each, ArrayValue)]
    if not arrays:
        raise KernelError(
            "kernel-type",
            f"{what}: none of them is an array",
            hint="compute numbers with Python's operators and the module math,"
            " or give the number a dtype: xl.asarray(number, xl.float32)",
        )
    dtype = arrays[0].dtype
    for each in arrays[1:]:
        dtype = _joined(dtype, each.dtype, what)
    for each in operands:
        if not isinstance(each, ArrayValue):
            _check_number(each, dtype, what)
    return dtype


def _joined(a: str, b: str, what: str) -> str:
    if a == b:
        return a
    if kind_of(a) != kind_of(b):
        raise _mixed(a, b, what)
    if is_float(a):
        if bit_width(a) == bit_width(b):
            return "float32"
        return a if bit_width(a) > bit_width(b) else b
    if "uint64" in (a, b) and not (is_unsigned(a) and is_unsigned(b)):
        raise _mixed(a, b, what)
    return str(np.promote_types(a, b).name)


def _mixed(a: str, b: str, what: str) -> KernelError:
    wider = b if kind_of(b) > kind_of(a) else a
    return KernelError(
        "kernel-dtype",
        f"{what} have the dtypes {a} and {b}, which do not mix",
        cause="booleans, integers and floats are never converted to each other silently",
        hint=f"convert one of them: xl.astype(…, xl.{wider})",
    )


def _check_number(value: Any, dtype: str, what: str) -> None:
    kind = value.kind if isinstance(value, HostScalar) else type(value).__name__
    allowed = {"bool": (0,), "int": (1, 2), "float": (2,)}.get(kind)
    if allowed is None:
        raise KernelError(
            "kernel-type", f"{what}: a {kind} is no array and no number", hint="an array"
        )
    if kind_of(dtype) in allowed:
        return
    hints = {0: "xl.astype(…, xl.int32), or xl.where", 1: "xl.astype(…, xl.float32)"}
    raise KernelError(
        "kernel-dtype",
        f"{what}: a number of the type {kind} meets an array of {dtype}",
        cause="booleans, integers and floats are never converted to each other silently",
        hint="convert the array: "
        + hints.get(kind_of(dtype), "True and False are no numbers here"),
    )


def lifted(recorder: KernelRecorder, operand: Any, dtype: str) -> Any:
    """Return an operand in `dtype`: an array, or a number of Python that it can hold.

    Raises:
        KernelError: `kernel-dtype`, an integer is out of its range.
    """
    if isinstance(operand, ArrayValue):
        return cast(recorder, operand, dtype)
    if isinstance(operand, HostScalar):
        return recorder.scalar(operand, dtype)
    if kind_of(dtype) == 1:
        limits = np.iinfo(dtype)
        if not limits.min <= operand <= limits.max:
            raise KernelError(
                "kernel-dtype",
                f"the number {operand} is out of the range of {dtype}",
                cause=f"{dtype} holds {limits.min} to {limits.max}",
                hint="convert the array to a wider dtype: xl.astype",
            )
    return operand


def cast(recorder: KernelRecorder, value: ArrayValue, dtype: str) -> ArrayValue:
    """Return an array in another dtype; the same one where it has that already."""
    if value.dtype == dtype:
        return value
    return recorder.call("aten._to_copy.default", dtype, value.shape, self=value)


def check_kind(name: str, value: ArrayValue, *kinds: int) -> None:
    """Refuse an array of a kind that a function does not take.

    Raises:
        KernelError: `kernel-dtype`.
    """
    if kind_of(value.dtype) in kinds:
        return
    wanted = " or ".join(_KINDS[each] for each in kinds)
    to = "bool" if kinds == (0,) else "int32" if kinds[-1] == 1 else "float32"
    raise KernelError(
        "kernel-dtype",
        f"{name} takes arrays of {wanted} dtypes, not {value.dtype}",
        hint=f"convert it: xl.astype(…, xl.{to})",
    )
