# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses which ATen operators PyTorch decomposes before Xyntra sees a graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

__all__ = ["decompositions"]

_KEPT = """
    hardsigmoid hardswish native_dropout silu softplus
"""
"""Operators that have an importer, or that draw random numbers as eager PyTorch does."""


_MORE = (
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "native_batch_norm",  # which that of cuDNN becomes
)
"""Operators of core ATen that PyTorch can decompose further."""


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's decompositions to core ATen, but for operators that are kept."""
    more = get_decompositions([getattr(torch.ops.aten, name) for name in _MORE])
    table = {**core_aten_decompositions(), **more}
    kept = {getattr(torch.ops.aten, name) for name in _KEPT.split()}
    return {op: rule for op, rule in table.items() if getattr(op, "overloadpacket", op) not in kept}
