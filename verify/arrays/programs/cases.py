# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps programs that run with numpy and with `xyntra.array` in its place, and compares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import xyntra.array as xa

__all__ = ["PROGRAMS", "check", "normal", "program"]

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
"""By name: what takes a namespace and arrays, and the arrays."""
_RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    """Return random numbers of float32."""
    return _RANDOM.normal(size=shape).astype(np.float32)


def program(*inputs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keep the decorated function as a program of these inputs."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = function, inputs
        return function

    return keep


def check(names: Sequence[str]) -> list[str]:
    """Run programs by name, those of them that compute arrays by one executable.

    Returns:
        What differs from numpy's.
    """
    found: list[tuple[str, list[Any], list[Any]]] = []
    for name in names:
        function, inputs = PROGRAMS[name]
        with np.errstate(all="ignore"):
            expected = _listed(function(np, *(each.copy() for each in inputs)))
        found.append((name, _listed(function(xa, *(xa.asarray(x) for x in inputs))), expected))
    xa.compute(*(x for _, results, _ in found for x in results if isinstance(x, xa.Array)))
    return [
        f"{name}, result {number}: {own} and not {other}"
        for name, results, expected in found
        for number, (own, other) in enumerate(zip(results, expected, strict=True))
        if not _agree(np.asarray(own), np.asarray(other))
    ]


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple | list) else [found]


def _agree(own: Any, other: Any) -> bool:
    """Tell whether two results are the same up to rounding; float64 may be float32 here."""
    kinds = own.dtype == other.dtype or (own.dtype == np.float32 and other.dtype == np.float64)
    wide = own.astype(np.float64), other.astype(np.float64)
    same = own.shape == other.shape
    return kinds and same and np.allclose(*wide, rtol=1e-4, atol=1e-5, equal_nan=True)
