# SPDX-License-Identifier: MIT OR Apache-2.0
"""The gradient of padding by the elements at the edges."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["replication_gradient"]


def replication_gradient(grad: Tensor, x: Tensor, padding: Sequence[int]) -> Tensor:
    """What was read at the padded places is added to the elements at the edges.

    Args:
        grad: of the padded tensor.
        x: the tensor that was padded.
        padding: before and behind each dimension from the last one on; negative ones cut.
    """
    for number in range(len(padding) // 2):
        dim = x.dim() - 1 - number
        grad = _folded(grad, dim, x.shape[dim], *padding[2 * number : 2 * number + 2])
    return grad


def _folded(grad: Tensor, dim: int, size: int, before: int, behind: int) -> Tensor:
    """Undo the padding of one dimension, whose padded places read its first and last element."""
    length = grad.shape[dim]
    start, end = max(before, 0), length - max(behind, 0)
    first, last = grad.narrow(dim, 0, start), grad.narrow(dim, end, length - end)
    found = _laid(grad.narrow(dim, start, end - start), dim, max(-before, 0), max(-behind, 0))
    if start:
        found = found + _laid(first.sum(dim, keepdim=True), dim, 0, size - 1)
    if end < length:
        found = found + _laid(last.sum(dim, keepdim=True), dim, size - 1, 0)
    return found


def _laid(x: Tensor, dim: int, before: int, behind: int) -> Tensor:
    """Return a tensor with zeros before and behind it in one dimension."""
    return torch.constant_pad_nd(x, [0, 0] * (x.dim() - 1 - dim) + [before, behind])
