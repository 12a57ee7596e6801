# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes the decode step in PyTorch, with a static cache that is written in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch._dynamo
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu

from bench.decode.size import Decoder, rotation

__all__ = ["StaticCacheDecoder"]

Array = np.ndarray[Any, Any]
_EPSILON = 1e-5


class StaticCacheDecoder(torch.nn.Module):
    """A step of one token; keys beyond the lengths are masked, as static caches do.

    Args:
        decoder: its sizes.
        weights: by name.
        batch: sequences.
        room: positions that the caches hold.
        device: where it runs.
    """

    def __init__(
        self, decoder: Decoder, weights: Mapping[str, Array], batch: int, room: int, device: str
    ) -> None:
        super().__init__()
        self.decoder = decoder
        for name, array in weights.items():
            weight = torch.from_numpy(array if array.ndim == 1 else array.T.copy()).to(device)
            self.register_buffer(_own(name), weight)  # which graphs need not copy
        cosine, sine = (torch.from_numpy(each).to(device) for each in rotation(decoder, room))
        self.register_buffer("cosine", torch.cat([cosine, cosine], 1))
        self.register_buffer("sine", torch.cat([sine, sine], 1))
        shape = (decoder.layers, 2, batch, decoder.groups, room, decoder.size)
        dtype = getattr(torch, decoder.dtype)
        self.register_buffer("cache", torch.zeros(shape, dtype=dtype, device=device))
        self.register_buffer("rows", torch.arange(batch, device=device))
        self.register_buffer("places", torch.arange(room, device=device))
        torch._dynamo.mark_static_address(self.cache)

    def forward(self, x: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """The result for `x`, [batch, 1, hidden], at the positions `last`, [batch]."""
        decoder = self.decoder
        batch = x.shape[0]
        cosine, sine = (each[last][:, None, None] for each in (self.cosine, self.sine))
        seen = (self.places[None] <= last[:, None])[:, None, None]
        for number in range(decoder.layers):
            w = {name: getattr(self, _own(f"{number}.{name}")) for name in _NAMES}
            normed = rms_norm(x, (decoder.hidden,), w["norm1"], _EPSILON)
            q, k, v = (
                (normed @ w[part].T).view(batch, 1, -1, decoder.size).transpose(1, 2)
                for part in "qkv"
            )
            q, k = (each * cosine + _turned(each) * sine for each in (q, k))
            keys, values = self.cache[number]
            keys[self.rows, :, last] = k[:, :, 0]
            values[self.rows, :, last] = v[:, :, 0]
            attended = scaled_dot_product_attention(q, keys, values, seen, enable_gqa=True)
            x = x + attended.transpose(1, 2).reshape(batch, 1, -1) @ w["o"].T
            normed = rms_norm(x, (decoder.hidden,), w["norm2"], _EPSILON)
            inner = silu(normed @ w["gate"].T) * (normed @ w["up"].T)
            x = x + inner @ w["down"].T
        x = rms_norm(x, (decoder.hidden,), self.w_norm, _EPSILON)
        return x @ self.w_head.T if decoder.vocabulary else x


_NAMES = ("norm1", "q", "k", "v", "o", "norm2", "gate", "up", "down")


def _own(name: str) -> str:
    return f"w_{name.replace('.', '_')}"


def _turned(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)
