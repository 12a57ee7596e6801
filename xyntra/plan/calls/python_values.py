# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays made of Python's and numpy's scalars and of lists, which have no dtype of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from xyntra.errors import InputError
from xyntra.plan.plan import Port, numpy_dtype

__all__ = ["array_of_values", "is_values"]

Array = np.ndarray[Any, Any]
_KINDS = {"b": "booleans", "i": "integers", "u": "integers", "f": "floats", "c": "complex numbers"}


def is_values(value: Any) -> bool:
    """Tell whether `value` is a scalar or a list or tuple, which may hold others."""
    return isinstance(value, (bool, int, float, complex, np.generic, list, tuple))


def array_of_values(value: Any, port: Port) -> Array:
    """Return `value` in the dtype of `port`, where that changes no number.

    Integers have to be exact in the new dtype, and floats are rounded to it as numpy rounds
    Python's; floats are not made integers, even where they are whole.

    Raises:
        InputError: `input-type`: it is no numbers; `input-dtype`: they are not exact.
    """
    found = _as_array(value, port)
    dtype = numpy_dtype(port.dtype)
    if found.dtype == dtype:
        return found
    if not found.size and found.dtype.kind != "O":
        return found.astype(dtype)
    kind = _KINDS.get(found.dtype.kind)
    if kind is None:
        kind = "floats" if "float" in found.dtype.name else None
    if kind is None or kind == "complex numbers" or (kind == "floats" and not _is_float(port)):
        raise _inexact(port, f"it holds {kind or 'values'} of the dtype {found.dtype}")
    with np.errstate(all="ignore"):
        made = found.astype(dtype)
        if kind == "floats":
            lost = np.isfinite(found) & ~np.isfinite(made)
        else:
            lost = _as_integers(made, found) != found.astype(object)
    if np.any(lost):
        worst = found[lost].ravel()[0] if found.ndim else found[()]
        raise _inexact(port, f"{port.dtype} cannot hold {worst}")
    return made


def _as_array(value: Any, port: Port) -> Array:
    try:
        found: Array = np.asarray(value)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise InputError(
            "input-type",
            f"input '{port.name}' is a {type(value).__name__} that is no array",
            cause=str(error),
            hint="lists of numbers, nested alike everywhere, are accepted",
        ) from None
    if found.dtype.kind in "OSUVMm" and "float" not in found.dtype.name:
        raise InputError(
            "input-type",
            f"input '{port.name}' is a {type(value).__name__} of something else than numbers",
            cause=f"numpy makes an array of the dtype {found.dtype} of it",
            hint=f"numpy.asarray(value, dtype='{port.dtype}')",
        )
    return found


def _is_float(port: Port) -> bool:
    return "float" in port.dtype


def _as_integers(made: Array, found: Array) -> Any:
    """`made` as Python's integers, which compare exactly with those of `found`."""
    if made.dtype.kind in "biu":
        return made.astype(object)
    wide = made.astype(np.float64)
    is_finite = np.isfinite(wide)
    whole = [int(x) if ok else None for x, ok in zip(wide.flat, is_finite.flat, strict=True)]
    return np.array(whole, object).reshape(found.shape)


def _inexact(port: Port, cause: str) -> InputError:
    return InputError(
        "input-dtype",
        f"input '{port.name}' takes {port.dtype}, and is given other numbers",
        cause=cause,
        hint=f"numpy.asarray(value, dtype='{port.dtype}') converts, and says that it is meant",
    )
