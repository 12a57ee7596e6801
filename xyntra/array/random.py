# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws random numbers by Philox 4x32-10: the same from a seed on every target.

A generator holds a key, from its seed, and counts its draws; each draw has 2^64 numbers of its own.
"""

from __future__ import annotations

from math import pi
from typing import Any

from xyntra.array.arrays import Array, wrap
from xyntra.array.dtypes import (
    ElementType,
    as_dtype,
    default_float,
    float32,
    float64,
    int64,
    uint32,
    uint64,
)
from xyntra.array.functions.creation import arange, shape_of
from xyntra.array.functions.searching import argsort
from xyntra.array.recorded.graph import LazyNode, RecordState, leaf, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import ARITHMETIC, BITS, binary, cast, numbers, unary
from xyntra.array.views import reshape, slice_
from xyntra.errors import InputError

__all__ = ["Generator", "bernoulli", "integers", "normal", "permutation", "seed", "uniform"]


class Generator:
    """A source of random numbers.

    Args:
        seed: any integer; its lowest 64 bits count.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed & ((1 << 64) - 1)
        self.draws = 0

    def state(self) -> dict[str, int]:
        """Return what `restore` takes to go on from here."""
        return {"seed": self.seed, "draws": self.draws}

    def restore(self, state: dict[str, int]) -> None:
        """Go on from a state."""
        self.seed, self.draws = state["seed"], state["draws"]

    def _words(self) -> Any:
        """Return the key and the upper half of the counter of the next draw."""
        import numpy as np

        low = (1 << 32) - 1
        words = [self.seed & low, self.seed >> 32, self.draws & low, self.draws >> 32 & low]
        self.draws += 1
        return np.array(words, np.uint32)

    def _bits(self, count: int) -> LazyNode:
        """Return a vector of random words of 32 bits."""
        given = leaf(self._words(), meta_of((4,), uint32))
        if RecordState.tracing:  # a recorded function draws anew at each call
            RecordState.draws.append((given, self._words))
        return LazyNode("random_bits", (given,), (), meta_of((count,), uint32))

    def _fractions(self, count: int, dtype: ElementType) -> LazyNode:
        """Return numbers of [0, 1), multiples of 2^-24, or of 2^-53 for float64."""
        if dtype is not float64:
            bits = numbers("bitwise_right_shift", BITS, self._bits(count), 8)
            return numbers("multiply", ARITHMETIC, cast(bits, float32), 2.0**-24)
        words = cast(self._bits(2 * count), uint64)
        high = numbers("bitwise_right_shift", BITS, _half(words, 0), 5)
        low = numbers("bitwise_right_shift", BITS, _half(words, 1), 6)
        joined = binary("add", ARITHMETIC, numbers("multiply", ARITHMETIC, high, 1 << 26), low)
        return numbers("multiply", ARITHMETIC, cast(joined, float64), 2.0**-53)

    def uniform(
        self, shape: Any = (), *, low: float = 0.0, high: float = 1.0, dtype: Any = None
    ) -> Array:
        """Return numbers of [low, high), equally likely."""
        sizes, kind = shape_of(shape), _float(dtype)
        found = self._fractions(meta_of(sizes, kind).size, kind)
        if (low, high) != (0.0, 1.0):
            found = numbers("multiply", ARITHMETIC, found, float(high) - float(low))
            found = numbers("add", ARITHMETIC, found, float(low))
        return wrap(cast(reshape(found, sizes), kind))

    def normal(
        self, shape: Any = (), *, mean: float = 0.0, std: float = 1.0, dtype: Any = None
    ) -> Array:
        """Return numbers of a normal distribution, by the method of Box and Muller."""
        sizes, kind = shape_of(shape), _float(dtype)
        count = meta_of(sizes, kind).size
        wide = float64 if kind is float64 else float32
        drawn = self._fractions(2 * count, wide)
        first, second = _half(drawn, 0), _half(drawn, 1)
        inside = numbers(
            "subtract", ARITHMETIC, first, 1.0, True
        )  # of (0, 1], which has logarithms
        radius = unary("sqrt", numbers("multiply", ARITHMETIC, unary("log", inside), -2.0))
        angle = unary("cos", numbers("multiply", ARITHMETIC, second, 2.0 * pi))
        found = binary("multiply", ARITHMETIC, radius, angle)
        if (mean, std) != (0.0, 1.0):
            found = numbers("multiply", ARITHMETIC, found, float(std))
            found = numbers("add", ARITHMETIC, found, float(mean))
        return wrap(cast(reshape(found, sizes), kind))

    def integers(self, low: int, high: int, shape: Any = (), *, dtype: Any = None) -> Array:
        """Return integers from `low` to below `high`, which are at most 2^32 apart.

        Raises:
            InputError: there is no such integer, or there are too many.
        """
        span = high - low
        if not 0 < span <= 1 << 32:
            raise InputError(
                "array-argument", f"integers from {low} to below {high}", place=user_place()
            )
        sizes, kind = shape_of(shape), int64 if dtype is None else as_dtype(dtype)
        words = cast(self._bits(meta_of(sizes, kind).size), uint64)
        scaled = numbers("multiply", ARITHMETIC, words, span)
        found = cast(numbers("bitwise_right_shift", BITS, scaled, 32), int64)
        found = numbers("add", ARITHMETIC, found, low) if low else found
        return wrap(cast(reshape(found, sizes), kind))

    def bernoulli(self, probability: Any, shape: Any = ()) -> Array:
        """Return booleans that are true with a probability."""
        found: Array = self.uniform(shape) < probability
        return found

    def permutation(self, count: int) -> Array:
        """Return the integers below `count` in a random order."""
        if count < 2:
            return arange(count)
        return argsort(wrap(self._bits(count)))


def _half(words: LazyNode, which: int) -> LazyNode:
    """Return every second element of a vector."""
    return slice_(words, (which,), (words.meta.size // 2,), (2,))


def _float(dtype: Any) -> ElementType:
    kind = default_float if dtype is None else as_dtype(dtype)
    if kind.kind != "f":
        raise InputError("array-dtype", f"random numbers of {kind.name}", place=user_place())
    return kind


_DEFAULT = Generator()


def seed(value: int) -> None:
    """Let the functions of this module begin again, from a seed."""
    _DEFAULT.restore({"seed": value & ((1 << 64) - 1), "draws": 0})


def uniform(shape: Any = (), *, low: float = 0.0, high: float = 1.0, dtype: Any = None) -> Array:
    """Return numbers of [low, high), equally likely."""
    return _DEFAULT.uniform(shape, low=low, high=high, dtype=dtype)


def normal(shape: Any = (), *, mean: float = 0.0, std: float = 1.0, dtype: Any = None) -> Array:
    """Return numbers of a normal distribution."""
    return _DEFAULT.normal(shape, mean=mean, std=std, dtype=dtype)


def integers(low: int, high: int, shape: Any = (), *, dtype: Any = None) -> Array:
    """Return integers from `low` to below `high`."""
    return _DEFAULT.integers(low, high, shape, dtype=dtype)


def bernoulli(probability: Any, shape: Any = ()) -> Array:
    """Return booleans that are true with a probability."""
    return _DEFAULT.bernoulli(probability, shape)


def permutation(count: int) -> Array:
    """Return the integers below `count` in a random order."""
    return _DEFAULT.permutation(count)
