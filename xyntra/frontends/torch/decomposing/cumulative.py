# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running extremes and running sums of exponentials, in as many steps as the size has digits.

Step k combines each element with that 2**k places before it, which holds what came of the 2**k
elements up to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

__all__ = ["cummax", "cummin", "logcumsumexp"]


def cummax(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The largest element so far and its place, the last one among equals. NaN is the largest."""
    return _extremes(x, dim, torch.ge)


def cummin(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The smallest element so far and its place, the last one among equals. NaN is the smallest."""
    return _extremes(x, dim, torch.le)


def _extremes(
    x: Tensor, dim: int, beats: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    dim %= x.dim()
    shape = [-1 if d == dim else 1 for d in range(x.dim())]
    numbers = torch.arange(x.shape[dim], device=x.device).reshape(shape)

    def combine(before: Sequence[Tensor], here: Sequence[Tensor]) -> list[Tensor]:
        wins = beats(here[0], before[0])
        if x.dtype.is_floating_point:
            wins = here[0].isnan() | (wins & ~before[0].isnan())
        return [torch.where(wins, b, a) for a, b in zip(before, here, strict=True)]

    values, places = _scanned([x, numbers.expand(x.shape)], dim, combine)
    return values.clone(), places.clone()


def logcumsumexp(x: Tensor, dim: int) -> Tensor:
    """The logarithm of the running sum of exponentials, none of which overflows."""
    if not x.dim():
        return x.clone()
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    (found,) = _scanned([wide], dim % x.dim(), lambda a, b: [torch.logaddexp(a[0], b[0])])
    return found.to(x.dtype, copy=True)


def _scanned(
    tensors: Sequence[Tensor],
    dim: int,
    combine: Callable[[Sequence[Tensor], Sequence[Tensor]], list[Tensor]],
) -> list[Tensor]:
    """Combine what lies in front of each place with what lies there; `combine` is associative."""
    found, size, step = list(tensors), tensors[0].shape[dim], 1
    while step < size:
        heads = [each.narrow(dim, 0, step) for each in found]
        before = [each.narrow(dim, 0, size - step) for each in found]
        here = [each.narrow(dim, step, size - step) for each in found]
        joined = zip(heads, combine(before, here), strict=True)
        found = [torch.cat(pair, dim) for pair in joined]
        step *= 2
    return found
