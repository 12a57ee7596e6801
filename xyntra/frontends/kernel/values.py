# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what stands for arrays, and for numbers of calls, while a kernel is read."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

__all__ = ["ArrayValue", "HostScalar", "NeedsConstant", "type_text"]


@dataclass(frozen=True, eq=False)
class ArrayValue:
    """An array of the program: its name there, its dtype (numpy's name) and its shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def __str__(self) -> str:
        return type_text(self.dtype, self.shape)


@dataclass(frozen=True)
class HostScalar:
    """A number that is known when the kernel is called, and computed by the caller.

    Attributes:
        text: an expression of Python over the arguments in `parameters`.
        kind: of the number.
        parameters: arguments of the kernel that it is computed from.
    """

    text: str
    kind: Literal["int", "float"]
    parameters: frozenset[str]

    def __str__(self) -> str:
        return f"{self.kind} of the call"


class NeedsConstant(Exception):
    """A number of the call is used where a constant is needed: read again with its value.

    Args:
        parameters: arguments of the kernel whose values are needed.
    """

    def __init__(self, parameters: frozenset[str]) -> None:
        super().__init__(*sorted(parameters))
        self.parameters = parameters


def type_text(dtype: str, shape: tuple[int, ...]) -> str:
    """Return the type of an array as messages have it, such as `float32 (3, 4)`."""
    return f"{dtype} {shape}"
