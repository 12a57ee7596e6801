# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses which ATen operators PyTorch decomposes before Xyntra sees a graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions

from xyntra.frontends.torch.decomposing.table import own_decompositions

__all__ = ["decompositions"]

_KEPT = """
    _safe_softmax hardsigmoid hardswish native_dropout silu softplus
"""
"""Operators that have an importer, or that draw random numbers as eager PyTorch does."""


_MORE = (
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "native_batch_norm",  # which that of cuDNN becomes
)
"""Operators of core ATen that PyTorch can decompose further."""


def _lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """PyTorch's fused cell on GPUs: the new states, and the gates for the gradient."""
    total = input_gates + hidden_gates
    for bias in (input_bias, hidden_bias):
        total = total if bias is None else total + bias
    let_in, forget, cell, out = total.chunk(4, 1)
    gates = [let_in.sigmoid(), forget.sigmoid(), cell.tanh(), out.sigmoid()]
    cy = gates[1] * cx + gates[0] * gates[2]
    return gates[3] * cy.tanh(), cy, torch.cat(gates, 1)


def _lstm_cell_gradient(
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    cx: Tensor,
    cy: Tensor,
    workspace: Tensor,
    has_bias: bool,
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of the gates, of the cell's state, and of the sum of biases."""
    if grad_hy is None and grad_cy is None:
        return None, None, None
    let_in, forget, cell, out = workspace.chunk(4, 1)
    bent = cy.tanh()
    by_hy = 0.0 if grad_hy is None else grad_hy * out * (1 - bent * bent)
    total = by_hy if grad_cy is None else grad_cy + by_hy
    by_out = torch.zeros_like(out) if grad_hy is None else grad_hy * bent * out * (1 - out)
    gates = [
        total * cell * let_in * (1 - let_in),
        total * cx * forget * (1 - forget),
        total * let_in * (1 - cell * cell),
        by_out,
    ]
    grad = torch.cat(gates, 1)
    return grad, total * forget, grad.sum(0) if has_bias else None


def _gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """PyTorch's fused cell on GPUs: the new state, and what the gradient needs."""
    given = input_gates if input_bias is None else input_gates + input_bias
    kept = hidden_gates if hidden_bias is None else hidden_gates + hidden_bias
    (given_reset, given_update, given_new), (reset, update, new) = (
        given.chunk(3, 1),
        kept.chunk(3, 1),
    )
    reset, update = (given_reset + reset).sigmoid(), (given_update + update).sigmoid()
    fresh = (given_new + reset * new).tanh()
    hy = fresh + update * (hx - fresh)
    return hy, torch.cat([reset, update, fresh, hx, new], 1)


def _gru_cell_gradient(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """The gradients of both kinds of gates, of the state, and of both biases."""
    reset, update, fresh, hx, new = workspace.chunk(5, 1)
    by_update = grad_hy * (hx - fresh) * update * (1 - update)
    by_fresh = grad_hy * (1 - update) * (1 - fresh * fresh)
    by_reset = by_fresh * new * reset * (1 - reset)
    given = torch.cat([by_reset, by_update, by_fresh], 1)
    kept = torch.cat([by_reset, by_update, by_fresh * reset], 1)
    biases = (given.sum(0), kept.sum(0)) if has_bias else (None, None)
    return given, kept, grad_hy * update, *biases


_OWN = {
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_gradient,
    "_thnn_fused_gru_cell": _gru_cell,
    "_thnn_fused_gru_cell_backward": _gru_cell_gradient,
}
"""Operators of GPUs that PyTorch does not decompose."""


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's decompositions to core ATen, but for operators that are kept."""
    more = get_decompositions([getattr(torch.ops.aten, name) for name in _MORE])
    own = {getattr(torch.ops.aten, name).default: rule for name, rule in _OWN.items()}
    table = {**core_aten_decompositions(), **more, **own_decompositions(), **own}
    kept = {getattr(torch.ops.aten, name) for name in _KEPT.split()}
    return {op: rule for op, rule in table.items() if getattr(op, "overloadpacket", op) not in kept}
