# SPDX-License-Identifier: MIT OR Apache-2.0
"""Values that a TorchScript graph has beside Python's own and tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

__all__ = ["UNINITIALIZED", "Instance", "ModulePart", "Unknown", "as_tensor", "known_number"]

_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64}


@dataclass(frozen=True)
class Unknown:
    """A number that depends on the values of tensors, held as a tensor of rank 0.

    Attributes:
        tensor: of bool, int64 or float64.
        kind: the type of the number: bool, int or float.
    """

    tensor: torch.Tensor
    kind: type

    @classmethod
    def of(cls, tensor: torch.Tensor, kind: type) -> Unknown:
        """Return the one element of a tensor, as it is now, as a number of a type."""
        return cls(tensor.reshape(()).to(_DTYPES[kind], copy=True), kind)


@dataclass(frozen=True)
class ModulePart:
    """A module or one of its submodules.

    Attributes:
        path: such as `layers.3.attention`; "" for the module itself.
        script: the module in C++.
    """

    path: str
    script: Any

    def child(self, name: str) -> str:
        """Return the path of an attribute."""
        return f"{self.path}.{name}" if self.path else name


@dataclass
class Instance:
    """An object of a class that is defined in TorchScript."""

    attributes: dict[str, Any] = field(default_factory=dict)


class _Uninitialized:
    """What a branch gives that has raised an exception."""


UNINITIALIZED = _Uninitialized()


def as_tensor(number: Any) -> torch.Tensor:
    """Return a number, known or not, as a tensor of rank 0."""
    if isinstance(number, Unknown):
        return number.tensor
    return torch.tensor(number, dtype=_DTYPES[type(number)])


def known_number(tensor: torch.Tensor) -> Any:
    """Return the element of a tensor whose value is known while it is traced; None for others."""
    constant = getattr(tensor, "constant", None)
    if constant is None and type(tensor) is torch.Tensor and tensor.numel() == 1:
        constant = tensor
    return None if constant is None or constant.numel() != 1 else constant.tolist()
