# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what a value of a graph may be beside a tensor or an array.

Sequences and optionals are there while a model is imported, and vanish: what is left of them are
the tensors that they hold. A tensor whose size the data decides is one of the largest size with
the sizes beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xyntra.dialects.builder import Operand, Tensor

__all__ = ["Absent", "Result", "Sized", "TensorSequence", "Value", "part_name"]


@dataclass(frozen=True)
class Sized:
    """A tensor of which only the first elements of some dimensions are there.

    Attributes:
        tensor: as large as it can be; elements behind the sizes hold something, but mean nothing.
        sizes: for these dimensions, how many elements are there: an int64 of rank 0.
    """

    tensor: Tensor
    sizes: Mapping[int, Tensor]

    @property
    def dtype(self) -> str:
        """The dtype of the elements."""
        return self.tensor.dtype

    @property
    def largest(self) -> tuple[int, ...]:
        """Return the shape that it has at most."""
        return self.tensor.shape


@dataclass(frozen=True)
class TensorSequence:
    """A sequence of tensors, of which each has a shape of its own.

    Attributes:
        items: the tensors, in order.
        element: dtype of all of them.
    """

    items: tuple[Operand, ...]
    element: str

    @property
    def dtype(self) -> str:
        """The type as signatures of operators name it."""
        return f"seq({self.element})"


@dataclass(frozen=True)
class Absent:
    """An optional value without an element."""

    @property
    def dtype(self) -> str:
        """Return what messages call it."""
        return "optional without an element"


def part_name(name: str, number: int) -> str:
    """What the input or output is called that is an element of a sequence called `name`."""
    return f"{name}[{number}]"


Value = Operand | Sized | TensorSequence | Absent
"""What a name of a graph stands for."""
Result = Value | None
"""An output of a node; None where it is left out."""
