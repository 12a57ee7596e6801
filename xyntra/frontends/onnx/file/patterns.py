# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds weights whose elements are told by their places.

They hold one value, or two of which each fills a triangle, as causal masks do, or integers at even
distances, as the places that frames of a signal are read at. The first elements tell most weights
apart, so that little of a file is read.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from operator import mul
from typing import Literal

from xyntra.errors import ModelError
from xyntra.frontends.weight_types import DTYPE_BITS
from xyntra.frontends.weights import WeightRef, WeightSource

__all__ = [
    "EvenValues",
    "Pattern",
    "TriangularValues",
    "even_values",
    "find_pattern",
    "pattern_of",
]

_MOST_BYTES = 1 << 28
_MOST_EVEN_BYTES = 1 << 25
_MOST_DISTANCE = 1 << 31  # from 0
_CODES: dict[str, Literal["i", "q"]] = {"int32": "i", "int64": "q"}
"""Of integers in memory, as `struct` has them."""
_FIRST_BYTES, _STEP_BYTES = 64, 1 << 20


@dataclass(frozen=True)
class TriangularValues:
    """The elements of a matrix: one value up to a diagonal and another behind it.

    Attributes:
        lower: bytes of the elements whose column is at most their row plus `diagonal`.
        upper: of the others; the same where all elements are equal.
        diagonal: as of `numpy.tril`.
    """

    lower: bytes
    upper: bytes
    diagonal: int = 0

    @property
    def is_uniform(self) -> bool:
        """Whether all elements are equal."""
        return self.lower == self.upper

    @property
    def text(self) -> str:
        """What `from_text` reads."""
        return f"{self.lower.hex()} {self.upper.hex()} {self.diagonal}"

    @classmethod
    def from_text(cls, text: str) -> TriangularValues:
        """Return the pattern that `text` says."""
        lower, upper, diagonal = text.split()
        return cls(bytes.fromhex(lower), bytes.fromhex(upper), int(diagonal))


@dataclass(frozen=True)
class EvenValues:
    """The elements of a tensor of integers: a number, and so much more a step along a dimension.

    Attributes:
        first: the number.
        steps: what a step along each dimension adds.
    """

    first: int
    steps: tuple[int, ...]

    @property
    def text(self) -> str:
        """What `pattern_of` reads."""
        return " ".join(map(str, ("even", self.first, *self.steps)))


Pattern = TriangularValues | EvenValues


def pattern_of(text: str) -> Pattern:
    """Return the pattern that `text` says."""
    kind, *numbers = text.split()
    if kind != "even":
        return TriangularValues.from_text(text)
    first, *steps = map(int, numbers)
    return EvenValues(first, tuple(steps))


def find_pattern(source: WeightSource, ref: WeightRef) -> Pattern | None:
    """Return the pattern of a weight's elements; None where it has none."""
    if not ref.contiguous or not ref.count or ref.nbytes > _MOST_BYTES:
        return None
    try:
        stored = source.stored(ref)
    except ModelError:  # whoever loads the weight says so
        return None
    size = DTYPE_BITS[ref.dtype] // 8
    first = bytes(stored[:size])
    if _is_uniform(stored, first):
        return TriangularValues(first, first)
    if math.prod(ref.shape) == math.prod(ref.shape[-2:]) and len(ref.shape) > 1:
        rows, columns = ref.shape[-2:]
        found = _triangles(stored, size, rows, columns)
        if found is not None:
            return found
    return even_values(stored, ref.dtype, ref.shape) if ref.dtype in _CODES else None


def _is_uniform(stored: memoryview, element: bytes) -> bool:
    at = 0
    while at < len(stored):
        piece = bytes(stored[at : at + (_STEP_BYTES if at else _FIRST_BYTES)])
        if piece != element * (len(piece) // len(element)):
            return False
        at += len(piece)
    return True


def even_values(stored: memoryview, dtype: str, shape: Sequence[int]) -> EvenValues | None:
    """Return integers at even distances as what they are; None for others, and for none at all.

    Args:
        stored: their bytes.
        dtype: int32 or int64.
        shape: of the tensor.
    """
    if not shape or not all(shape) or len(stored) > _MOST_EVEN_BYTES:
        return None
    code = _CODES[dtype]
    numbers = stored.cast(code)
    apart = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    steps = [
        numbers[n] - numbers[0] if size > 1 else 0 for n, size in zip(apart, shape, strict=True)
    ]
    found = EvenValues(numbers[0], tuple(steps))
    reach = [step * (size - 1) for step, size in zip(steps, shape, strict=True)]
    least, largest = (found.first + sum(end(0, each) for each in reach) for end in (min, max))
    if max(-least, largest) >= _MOST_DISTANCE:
        return None
    return found if _are_even(numbers, code, found, shape, apart) else None


def _are_even(
    numbers: memoryview, code: str, even: EvenValues, shape: Sequence[int], apart: Sequence[int]
) -> bool:
    """Compare the elements along the longest dimension at once, for all places in the others."""
    longest = max(range(len(shape)), key=shape.__getitem__)
    size, step, distance = shape[longest], even.steps[longest], apart[longest]
    others = [range(1 if axis == longest else n) for axis, n in enumerate(shape)]
    for place in product(*others):
        start = even.first + sum(map(mul, place, even.steps))
        expected = array(code, range(start, start + step * size, step) if step else [start] * size)
        at = sum(map(mul, place, apart))
        if numbers[at : at + distance * size : distance] != memoryview(expected):
            return False
    return True


def _triangles(stored: memoryview, size: int, rows: int, columns: int) -> TriangularValues | None:
    """Two values; the first row tells the diagonal, or the second where it lies below the first."""
    start, upper = (bytes(stored[at : at + size]) for at in (0, (columns - 1) * size))
    if start != upper:
        found = next(c for c in range(columns) if stored[c * size : (c + 1) * size] != start)
        pattern = TriangularValues(start, upper, found - 1)
    elif rows > 1:
        at = columns * size
        pattern = TriangularValues(bytes(stored[at : at + size]), upper, -1)
    else:
        return None
    for row in range(rows):
        lower = min(max(row + pattern.diagonal + 1, 0), columns)
        expected = pattern.lower * lower + pattern.upper * (columns - lower)
        if stored[row * columns * size : (row + 1) * columns * size] != expected:
            return None
    return pattern
