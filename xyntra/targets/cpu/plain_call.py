# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the shortest way of calling a program: on arrays of numpy that fit, without conversions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xyntra.plan.plan import Port, numpy_dtype
from xyntra.targets.cpu.memory import address_of
from xyntra.targets.program import PlainCall

__all__ = ["plain_arguments", "plain_call"]

_PLAIN = 0x101
"""Flags of numpy's arrays: C-contiguous and aligned."""

_USABLE = _PLAIN | 0x400
"""Flags of arrays that results can be written to."""

_Arrays = list[np.ndarray[Any, Any]]


def plain_call(
    inputs: Sequence[Port], outputs: Sequence[Port], run: Callable[[Sequence[int]], None]
) -> PlainCall:
    """Return a function that runs a program, and returns new arrays or some that it is given.

    It returns None, having done nothing, unless all inputs are arrays of numpy of the input's dtype
    and shape, contiguous and aligned.

    Args:
        inputs: of the program.
        outputs: of the program.
        run: runs it on addresses of inputs and outputs.
    """
    arguments = plain_arguments(inputs, outputs)

    def call(arrays: Sequence[Any], into: Sequence[Any] = ()) -> _Arrays | None:
        found = arguments(arrays, into)
        if found is None:
            return None
        addresses, results = found
        run(addresses)
        return results

    return call


def plain_arguments(
    inputs: Sequence[Port], outputs: Sequence[Port]
) -> Callable[..., tuple[list[int], _Arrays] | None]:
    """Return a function that makes new arrays for the outputs of a call on arrays that fit.

    It takes what `PlainCall` does, and returns the addresses of inputs and outputs, and the latter;
    None where `plain_call` does.
    """
    expected = [(numpy_dtype(port.dtype), port.shape) for port in inputs]
    made = [(port.shape, numpy_dtype(port.dtype)) for port in outputs]
    count, array, empty = len(inputs), np.ndarray, np.empty

    def arguments(
        values: Sequence[Any], into: Sequence[Any] = ()
    ) -> tuple[list[int], _Arrays] | None:
        if len(values) != count:
            return None
        addresses = []
        for value, (dtype, shape) in zip(values, expected):  # noqa: B905  (of one length)
            if (
                type(value) is not array
                or value.dtype is not dtype
                or value.shape != shape
                or value.flags.num & _PLAIN != _PLAIN
            ):
                return None
            addresses.append(address_of(value))
        results = [empty(shape, dtype) for shape, dtype in made] if not into else _own(into)
        for result in results:
            addresses.append(address_of(result))
        return addresses, results

    def _own(into: Sequence[Any]) -> _Arrays:
        return [
            own if _fits(own, shape, dtype) else empty(shape, dtype)
            for own, (shape, dtype) in zip(into, made, strict=True)
        ]

    return arguments


def _fits(own: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Tell whether an array that is not needed any more can hold a result."""
    return (
        type(own) is np.ndarray
        and own.dtype is dtype
        and own.shape == shape
        and own.flags.num & _USABLE == _USABLE
    )
