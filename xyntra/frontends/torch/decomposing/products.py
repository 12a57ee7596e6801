# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of several matrices, and of three tensors at once."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

import torch
from torch import Tensor

__all__ = ["addbmm", "trilinear"]


def addbmm(
    x: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """Add the sum of products [B, N, K] by [B, K, M], which is one of [N, B * K]."""
    count, rows, inner = batch1.shape
    left = batch1.transpose(0, 1).reshape(rows, count * inner)
    total = left @ batch2.reshape(count * inner, batch2.shape[2])
    total = total if alpha == 1 else total * alpha
    if beta == 0:  # not even a NaN of `x` counts then
        return total
    return total + (x if beta == 1 else x * beta)


def trilinear(
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The product of three tensors, each without some of all dimensions, summed along others."""
    rank = i1.dim() + len(expand1)
    names, absent = ascii_lowercase[:rank], [expand1, expand2, expand3]
    summed = {d % rank for d in sumdim}
    given = ["".join(n for d, n in enumerate(names) if d not in each) for each in absent]
    kept = [d for d in range(rank) if d not in summed]
    present = [d for d in kept if any(names[d] in each for each in given)]
    rule = f"{','.join(given)}->{''.join(names[d] for d in present)}"
    found = torch.einsum(rule, i1, i2, i3)
    for place, d in enumerate(kept):
        found = found if d in present else found.unsqueeze(place)
    return found
