# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distances between all pairs of rows, and their gradient."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["cdist", "cdist_gradient"]


def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    """The p-norms of differences of rows [..., P, M] and [..., R, M]: [..., P, R]."""
    apart = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).abs()
    if 0 in apart.shape:
        return apart.sum(-1)
    if p == 0:
        return (apart != 0).sum(-1).to(x1.dtype)
    if p == 1:
        return apart.sum(-1)
    if p == 2:
        return (apart * apart).sum(-1).sqrt()
    if p == float("inf"):
        return apart.amax(-1)
    return apart.pow(p).sum(-1).pow(1 / p)


def cdist_gradient(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    """The gradient of `x1`; rows that are equal have none."""
    if 0 in grad.shape or p == 0:
        return torch.zeros_like(x1)
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    grad, distance = grad.unsqueeze(-1), cdist.unsqueeze(-1)
    if p == 1:
        return (grad * apart.sign()).sum(-2)
    if p == float("inf"):
        return torch.where(apart.abs() == distance, grad * apart.sign(), 0.0).sum(-2)
    nothing = distance == 0
    if p < 1:
        nothing = nothing | (apart == 0)
    distance = torch.where(nothing, 1.0, distance)
    if p == 2:
        each = grad * apart / distance
    else:
        size = torch.where(nothing, 1.0, apart.abs())
        each = grad * apart.sign() * (size / distance).pow(p - 1)
    return torch.where(nothing, 0.0, each).sum(-2)
