# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the element types of arrays, and the type in which operands of two types meet.

numpy is not loaded: arrays are recorded without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xyntra.errors import InputError

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "DTYPES",
    "ElementType",
    "as_dtype",
    "bfloat16",
    "bool_",
    "default_float",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "promote",
    "promote_number",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


class ElementType:
    """An element type; there is one object of each.

    Attributes:
        name: numpy's name of it.
        kind: "b" for booleans, "i" and "u" for integers, "f" for floats.
        bits: of an element in memory, 8 for a boolean.
    """

    __slots__ = ("_numpy", "bits", "kind", "name")

    def __init__(self, name: str, kind: str, bits: int) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self._numpy: np.dtype[Any] | None = None

    def __repr__(self) -> str:
        return f"xyntra.array.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)

    @property
    def itemsize(self) -> int:
        """Bytes of an element in memory."""
        return self.bits // 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """Return numpy's dtype for this type; the one of ml_dtypes for bfloat16."""
        if self._numpy is None:
            import numpy as np

            if self.name == "bfloat16":
                import ml_dtypes

                self._numpy = np.dtype(ml_dtypes.bfloat16)
            else:
                self._numpy = np.dtype(self.name)
        return self._numpy


bool_ = ElementType("bool", "b", 8)
int8, int16, int32, int64 = (ElementType(f"int{bits}", "i", bits) for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (ElementType(f"uint{bits}", "u", bits) for bits in (8, 16, 32, 64))
float16, float32, float64 = (ElementType(f"float{bits}", "f", bits) for bits in (16, 32, 64))
bfloat16 = ElementType("bfloat16", "f", 16)
default_float = float32

DTYPES: dict[str, ElementType] = {
    each.name: each
    for each in (
        bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
        float16, bfloat16, float32, float64,
    )
}  # fmt: skip
"""Every element type by its name."""
_BY_BITS = {(each.kind, each.bits): each for each in DTYPES.values() if each is not bfloat16}
_ORDER = "buif"
_PROMOTED: dict[tuple[ElementType, ElementType], ElementType | None] = {}
_PYTHON = {bool: bool_, int: int64, float: default_float}


def as_dtype(value: Any) -> ElementType:
    """Return an element type given as itself, by its name, or as numpy, Python or torch have it.

    Raises:
        InputError: `array-dtype`: there is no such type.
    """
    if isinstance(value, ElementType):
        return value
    if isinstance(value, type) and value in _PYTHON:
        return _PYTHON[value]
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if name is None:
        name = getattr(value, "__name__", str(value).removeprefix("torch."))
    if name not in DTYPES:
        raise InputError(
            "array-dtype",
            f"arrays have no elements of {value!r}",
            cause=f"the types are {', '.join(DTYPES)}",
        )
    return DTYPES[name]


def promote(a: ElementType, b: ElementType) -> ElementType:
    """Return the type in which elements of two types meet.

    Within a kind, the wider one; signed and unsigned integers in a signed type that holds both; an
    integer or a boolean gives way to a float.

    Raises:
        InputError: `array-dtypes`: no type holds both.
    """
    if a is b:
        return a
    key = (a, b)
    if key not in _PROMOTED:
        _PROMOTED[key] = _promoted(a, b)
    found = _PROMOTED[key]
    if found is None:
        raise InputError(
            "array-dtypes",
            f"arrays of {a.name} and {b.name} do not meet in one type",
            cause="no integer type holds the values of both",
            hint="convert one: x.astype(xa.int64)",
        )
    return found


def _promoted(a: ElementType, b: ElementType) -> ElementType | None:
    if a.kind != b.kind:
        low, high = sorted((a, b), key=lambda each: _ORDER.index(each.kind))
        if low.kind == "b" or high.kind == "f":
            return high
        signed, unsigned = (a, b) if a.kind == "i" else (b, a)
        return _BY_BITS.get(("i", max(signed.bits, 2 * unsigned.bits)))
    if a.bits == b.bits:  # float16 and bfloat16
        return float32
    return a if a.bits > b.bits else b


def promote_number(dtype: ElementType, number: Any) -> ElementType:
    """Return the type in which an array meets a number of Python, which adapts to the array.

    Raises:
        InputError: `array-number`: the type of integers does not hold it, or it is complex.
    """
    if isinstance(number, bool):
        return dtype
    if isinstance(number, int):
        if dtype.kind == "b":
            return int64
        if dtype.kind == "f":
            return dtype
        low = -(1 << (dtype.bits - 1)) if dtype.kind == "i" else 0
        high = (1 << (dtype.bits - (dtype.kind == "i"))) - 1
        if low <= number <= high:
            return dtype
        raise InputError(
            "array-number",
            f"{number} does not fit elements of {dtype.name}",
            hint="convert the array: x.astype(xa.int64)",
        )
    if isinstance(number, float):
        return dtype if dtype.kind == "f" else default_float
    raise InputError("array-number", f"arrays do not meet a {type(number).__name__}")
