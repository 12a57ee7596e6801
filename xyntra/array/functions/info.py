# SPDX-License-Identifier: MIT OR Apache-2.0
"""Answers questions about types, devices and what the namespace can do."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from xyntra.array.arrays import Array
from xyntra.array.dtypes import (
    DTYPES,
    ElementType,
    as_dtype,
    default_float,
    int64,
    promote,
    promote_number,
)
from xyntra.array.functions.creation import asarray
from xyntra.array.late import late
from xyntra.errors import InputError, UnsupportedError
from xyntra.targets.current import CurrentDevice

__all__ = [
    "FloatInfo", "IntegerInfo", "NamespaceInfo", "astype", "can_cast", "finfo", "iinfo", "isdtype",
    "namespace", "namespace_info", "result_type",
]  # fmt: skip

VERSION = "2024.12"
"""The version of the standard."""
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "",
    "numeric": "iuf",
}


class FloatInfo(NamedTuple):
    """Limits of a type of floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: ElementType


class IntegerInfo(NamedTuple):
    """Limits of a type of integers."""

    bits: int
    max: int
    min: int
    dtype: ElementType


_DIGITS = {"float16": (11, 15), "bfloat16": (8, 127), "float32": (24, 127), "float64": (53, 1023)}
"""Bits of the significand, and the largest exponent."""


def _dtype(value: Any) -> ElementType:
    return value.dtype if isinstance(value, Array) else as_dtype(value)


def finfo(type: Any, /) -> FloatInfo:  # noqa: A002  (the standard's name)
    """Return the limits of a type of floats, or of an array's."""
    dtype = _dtype(type)
    if dtype.name not in _DIGITS:
        raise InputError("array-dtype", f"{dtype.name} is no type of floats")
    digits, exponent = _DIGITS[dtype.name]
    largest = (2.0 - 2.0 ** (1 - digits)) * 2.0**exponent
    return FloatInfo(
        dtype.bits, 2.0 ** (1 - digits), largest, -largest, 2.0 ** (1 - exponent), dtype
    )


def iinfo(type: Any, /) -> IntegerInfo:  # noqa: A002  (the standard's name)
    """Return the limits of a type of integers, or of an array's."""
    dtype = _dtype(type)
    if dtype.kind not in "iu":
        raise InputError("array-dtype", f"{dtype.name} is no type of integers")
    signed = dtype.kind == "i"
    high = (1 << (dtype.bits - signed)) - 1
    return IntegerInfo(dtype.bits, high, -high - 1 if signed else 0, dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Tell whether a type is of a kind, is another type, or is one of several of those."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise InputError(
                "array-dtype", f"{kind!r} is no kind of types", cause=", ".join(_KINDS)
            )
        return as_dtype(dtype).kind in tuple(_KINDS[kind])
    return as_dtype(dtype) is as_dtype(kind)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Tell whether the rules of promotion take one type to another."""
    one, two = _dtype(from_), as_dtype(to)
    try:
        return promote(one, two) is two
    except InputError:
        return False


def result_type(*arrays_and_dtypes: Any) -> ElementType:
    """Return the type that arrays, types and numbers of Python meet in."""
    numbers = [each for each in arrays_and_dtypes if isinstance(each, bool | int | float)]
    others = [
        _dtype(each) for each in arrays_and_dtypes if not isinstance(each, bool | int | float)
    ]
    if not others:
        raise InputError("array-argument", "result_type needs an array or a type")
    found = others[0]
    for dtype in others[1:]:
        found = promote(found, dtype)
    for value in numbers:
        found = promote_number(found, value)
    return found


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """Return an array with elements of another type."""
    found = asarray(x).astype(dtype, copy=copy)
    return found if device is None else found.to_device(device)


class NamespaceInfo:
    """What the standard lets one ask about the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return what works that not every library has."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """Return the device that arrays are computed on."""
        return CurrentDevice.target

    def devices(self) -> list[str]:
        """Return the devices that arrays can be computed on here."""
        from xyntra.targets.table import backends

        found = [name for backend in backends() for name in backend.devices()]
        return list(dict.fromkeys([CurrentDevice.target, *found]))

    def default_dtypes(self, *, device: Any = None) -> dict[str, ElementType]:
        """Return the types that numbers of Python become."""
        del device
        return {"real floating": default_float, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, ElementType]:
        """Return the types of the standard by name, all or those of a kind."""
        del device
        known = {name: each for name, each in DTYPES.items() if name not in ("float16", "bfloat16")}
        if kind is None:
            return known
        return {name: each for name, each in known.items() if isdtype(each, kind)}


def namespace_info() -> NamespaceInfo:
    """Return what the standard lets one ask about the namespace."""
    return NamespaceInfo()


@late
def namespace(version: str | None) -> Any:
    """Return the module of the standard's functions; see `Array.__array_namespace__`."""
    if version is not None and version not in ("2021.12", "2022.12", "2023.12", VERSION):
        raise UnsupportedError("array-version", f"version {version!r} of the standard is not known")
    return sys.modules["xyntra.array"]
