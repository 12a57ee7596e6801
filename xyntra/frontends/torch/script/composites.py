# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes by common operators what graphs call as one, which PyTorch does not decompose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

__all__ = ["COMPOSITES"]


def _mask(mask: torch.Tensor | None, kind: int | None) -> torch.Tensor | None:
    """Return a mask as attention takes it: true, or 0, where positions are seen.

    Args:
        mask: true, or minus infinity, where they are not.
        kind: 0 for one of queries and keys, 1 for one of batches and keys, 2 for all dimensions.
    """
    if mask is None:
        return None
    wide = mask[:, None, None, :] if kind == 1 else mask
    return ~wide if wide.dtype == torch.bool else wide


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    width: int,
    heads: int,
    weight: torch.Tensor,
    bias: torch.Tensor,
    out_weight: torch.Tensor,
    out_bias: torch.Tensor,
    mask: torch.Tensor | None = None,
    need_weights: bool = True,
    average: bool = True,
    mask_kind: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return what `_native_multi_head_attention` does, for operands of batch, place, channel."""
    parts = zip((query, key, value), weight.chunk(3), bias.chunk(3), strict=True)
    q, k, v = (
        functional.linear(x, w, b).unflatten(-1, (heads, -1)).transpose(1, 2) for x, w, b in parts
    )
    seen = _mask(mask, mask_kind)
    found = functional.scaled_dot_product_attention(q, k, v, seen)
    result = functional.linear(found.transpose(1, 2).flatten(2), out_weight, out_bias)
    if not need_weights:
        return result, None
    scores = q @ k.transpose(-2, -1) / (width // heads) ** 0.5
    if seen is not None:
        scores = (
            scores.masked_fill(~seen, float("-inf")) if seen.dtype == torch.bool else scores + seen
        )
    weights = scores.softmax(-1)
    return result, weights.mean(1) if average else weights


def _encoder_layer(
    source: torch.Tensor,
    width: int,
    heads: int,
    weight: torch.Tensor,
    bias: torch.Tensor,
    out_weight: torch.Tensor,
    out_bias: torch.Tensor,
    gelu: bool,
    norm_first: bool,
    epsilon: float,
    *rest: Any,
) -> torch.Tensor:
    """Return what `_transformer_encoder_layer_fwd` does."""
    norms, dense, mask, mask_kind = rest[:4], rest[4:8], *(*rest[8:], None, None)[:2]

    def norm(x: torch.Tensor, number: int) -> torch.Tensor:
        scale, shift = norms[2 * number : 2 * number + 2]
        return functional.layer_norm(x, [width], scale, shift, epsilon)

    def attention(x: torch.Tensor) -> torch.Tensor:
        projections = (weight, bias, out_weight, out_bias)
        return _attention(x, x, x, width, heads, *projections, mask, False, True, mask_kind)[0]

    def feed_forward(x: torch.Tensor) -> torch.Tensor:
        inner = functional.linear(x, dense[0], dense[1])
        inner = functional.gelu(inner) if gelu else functional.relu(inner)
        return functional.linear(inner, dense[2], dense[3])

    if norm_first:
        x = source + attention(norm(source, 0))
        return x + feed_forward(norm(x, 1))
    x = norm(source + attention(source), 0)
    return norm(x + feed_forward(x), 1)


def _convolution(*arguments: Any) -> torch.Tensor:
    """Return a convolution without what says which library computes it."""
    return torch.ops.aten.convolution.default(*arguments[:9])


COMPOSITES: dict[str, Callable[..., Any]] = {
    "_convolution": _convolution,
    "_native_multi_head_attention": _attention,
    "_transformer_encoder_layer_fwd": _encoder_layer,
}
"""By the name of the operator."""
