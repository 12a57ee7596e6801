# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the function for an operator of the standard domain."""

from __future__ import annotations

from verify.random_graphs.reference import (  # noqa: F401  (they register their kernels)
    layers,
    moves,
    recurrent,
    reduce,
    resize,
)
from verify.random_graphs.reference.call import KERNELS, Kernel

__all__ = ["find"]


def find(name: str) -> Kernel | None:
    """The function for an operator; None where there is none."""
    return KERNELS.get(name)
