# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the elements of a tensor, one after the other, where a mask is set."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

__all__ = ["masked_scatter", "masked_scatter_gradient"]


def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Element n of `source` goes to the n-th place where `mask` is set.

    Where the source has fewer elements than the mask has places, for which PyTorch raises, its
    last one is taken again.
    """
    shape = torch.broadcast_shapes(x.shape, mask.shape)
    x, mask = x.expand(shape), mask.expand(shape)
    if not source.numel() or not x.numel():
        return x.clone()
    places = _numbers(mask).clamp(0, source.numel() - 1)
    taken = source.reshape(-1).index_select(0, places).reshape(shape)
    return torch.where(mask, taken, x)


def masked_scatter_gradient(grad: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of `source`, of shape `sizes`: 0 for elements that were not written."""
    count, mask = prod(sizes), mask.expand(grad.shape)
    if not count or not grad.numel():
        return grad.new_zeros(sizes)
    # What the mask leaves out goes to a place behind the last one.
    places = torch.where(mask.reshape(-1), _numbers(mask).clamp(0, count), count)
    found = grad.new_zeros(count + 1).scatter(0, places, grad.reshape(-1))
    return found[:count].reshape(sizes)


def _numbers(mask: Tensor) -> Tensor:
    """For each place, flat, how many are set in front of it; -1 before the first one."""
    return mask.reshape(-1).to(torch.int64).cumsum(0) - 1
