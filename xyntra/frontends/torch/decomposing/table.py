# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the decompositions by operator."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from xyntra.frontends.torch.decomposing import (
    cumulative,
    distances,
    masks,
    padding,
    products,
    sampling,
)

__all__ = ["own_decompositions"]

_RULES: dict[str, Callable[..., Any]] = {
    "addbmm": products.addbmm,
    "_trilinear": products.trilinear,
    "_cdist_forward": distances.cdist,
    "_cdist_backward": distances.cdist_gradient,
    "cummax": cumulative.cummax,
    "cummin": cumulative.cummin,
    "logcumsumexp": cumulative.logcumsumexp,
    "masked_scatter": masks.masked_scatter,
    "masked_scatter_backward": masks.masked_scatter_gradient,
    "replication_pad1d_backward": padding.replication_gradient,
    "replication_pad2d_backward": padding.replication_gradient,
    "replication_pad3d_backward": padding.replication_gradient,
    "grid_sampler_2d_backward": sampling.grid_sampler_gradient,
    "grid_sampler_3d_backward": sampling.grid_sampler_gradient,
}


@cache
def own_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the functions that operators are decomposed by; they take the operators' arguments."""
    return {getattr(torch.ops.aten, name).default: rule for name, rule in _RULES.items()}
