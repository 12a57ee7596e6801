# SPDX-License-Identifier: MIT OR Apache-2.0
"""A complex tensor as two real ones, and how numbers and real tensors become such pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

__all__ = ["PARTS", "Pair", "Rule", "as_pair", "parts"]

Rule: TypeAlias = Callable[..., Any]
"""Takes an operator's arguments, with pairs for complex tensors, and returns its results so.

It raises `TooHardError` for a use of the operator that it does not cover.
"""
PARTS = {
    torch.complex32: torch.float16,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}
"""The dtype of real and imaginary parts."""


class Pair(NamedTuple):
    """A complex tensor.

    Attributes:
        re: real parts.
        im: imaginary parts, of the same shape and dtype.
    """

    re: Any
    im: Any


def parts(value: Any) -> tuple[Any, Any]:
    """Return the real and the imaginary part of an operand; None stands for no imaginary part."""
    if isinstance(value, Pair):
        return value.re, value.im
    if isinstance(value, complex):
        return value.real, value.imag
    return value, None


def as_pair(value: Any) -> Pair:
    """Return a tensor, complex or real, as a pair."""
    if isinstance(value, Pair):
        return value
    tensor: Tensor = value
    return Pair(tensor, torch.zeros_like(tensor))
