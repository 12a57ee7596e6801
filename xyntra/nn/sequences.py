# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers of sequences: attention, the block of a transformer, LSTM and GRU."""

from __future__ import annotations

import xyntra.array as xa
from xyntra.array import Array
from xyntra.nn import functional as f
from xyntra.nn.layers import Dropout, LayerNorm, Linear, drawn
from xyntra.nn.module import Module

__all__ = ["GRU", "LSTM", "MultiheadAttention", "TransformerEncoderLayer"]


class MultiheadAttention(Module):
    """Attention of heads, with one weight for queries, keys and values; the batch comes first."""

    def __init__(self, size: int, heads: int, bias: bool = True) -> None:
        self.heads = heads
        self.in_proj_weight = drawn((3 * size, size), size)
        self.in_proj_bias = xa.zeros(3 * size) if bias else None
        self.out_proj = Linear(size, size, bias)

    def forward(
        self, x: Array, memory: Array | None = None, mask: Array | None = None, causal: bool = False
    ) -> Array:
        """Return what positions [N, L, size] read from others, of `memory` or of themselves."""
        size = x.shape[-1]
        biases = (
            (None,) * 3
            if self.in_proj_bias is None
            else xa.unstack(self.in_proj_bias.reshape((3, size)))
        )
        weights = xa.unstack(self.in_proj_weight.reshape((3, size, size)))
        sources = (x, x, x) if memory is None else (x, memory, memory)
        q, k, v = (
            self._heads(f.linear(source, weight, bias))
            for source, weight, bias in zip(sources, weights, biases, strict=True)
        )
        found = f.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
        joined = xa.permute_dims(found, (0, 2, 1, 3)).reshape(x.shape)
        result: Array = self.out_proj(joined)
        return result

    def _heads(self, x: Array) -> Array:
        batch, length, size = x.shape
        return xa.permute_dims(
            x.reshape((batch, length, self.heads, size // self.heads)), (0, 2, 1, 3)
        )


class TransformerEncoderLayer(Module):
    """Attention and two products, each with a norm ahead of it or behind."""

    def __init__(
        self,
        size: int,
        heads: int,
        hidden: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        self.self_attn = MultiheadAttention(size, heads)
        self.linear1, self.linear2 = Linear(size, hidden), Linear(hidden, size)
        self.norm1, self.norm2 = LayerNorm(size), LayerNorm(size)
        self.dropout = Dropout(dropout)
        self.activation = {"relu": xa.relu, "gelu": xa.gelu, "silu": xa.silu}[activation]
        self.norm_first = norm_first

    def forward(self, x: Array, mask: Array | None = None, causal: bool = False) -> Array:
        """Return the sequence [N, L, size] after the block."""
        if self.norm_first:
            x = x + self.dropout(self.self_attn(self.norm1(x), None, mask, causal))
            found: Array = x + self._products(self.norm2(x))
        else:
            x = self.norm1(x + self.dropout(self.self_attn(x, None, mask, causal)))
            found = self.norm2(x + self._products(x))
        return found

    def _products(self, x: Array) -> Array:
        hidden = self.dropout(self.activation(self.linear1(x)))
        found: Array = self.dropout(self.linear2(hidden))
        return found


class _Recurrent(Module):
    gates = 4

    def __init__(self, inputs: int, hidden: int, layers: int = 1) -> None:
        self.hidden, self.layers = hidden, layers
        for layer in range(layers):
            reads = inputs if layer == 0 else hidden
            setattr(self, f"weight_ih_l{layer}", drawn((self.gates * hidden, reads), hidden))
            setattr(self, f"weight_hh_l{layer}", drawn((self.gates * hidden, hidden), hidden))
            setattr(self, f"bias_ih_l{layer}", drawn((self.gates * hidden,), hidden))
            setattr(self, f"bias_hh_l{layer}", drawn((self.gates * hidden,), hidden))

    def _layer(self, name: str, layer: int) -> Array:
        found: Array = getattr(self, f"{name}_l{layer}")
        return found

    def forward(self, x: Array) -> Array:
        """Return the states [N, L, hidden] of the last layer for sequences [N, L, inputs]."""
        for layer in range(self.layers):
            ahead = f.linear(x, self._layer("weight_ih", layer), self._layer("bias_ih", layer))
            x = self._run(ahead, self._layer("weight_hh", layer), self._layer("bias_hh", layer))
        return x

    def _run(self, ahead: Array, weight: Array, bias: Array) -> Array:
        raise NotImplementedError


class LSTM(_Recurrent):
    """Long short-term memory, the batch first; the steps of a sequence are recorded one by one."""

    def _run(self, ahead: Array, weight: Array, bias: Array) -> Array:
        state = cell = xa.zeros((ahead.shape[0], self.hidden), dtype=ahead.dtype)
        states = []
        for step in xa.unstack(ahead, axis=1):
            gates = (step + f.linear(state, weight, bias)).reshape((-1, 4, self.hidden))
            enter, forget, new, leave = xa.unstack(gates, axis=1)
            cell = xa.sigmoid(forget) * cell + xa.sigmoid(enter) * xa.tanh(new)
            state = xa.sigmoid(leave) * xa.tanh(cell)
            states.append(state)
        return xa.stack(states, axis=1)


class GRU(_Recurrent):
    """Gated recurrent units, the batch first; the steps of a sequence are recorded one by one."""

    gates = 3

    def _run(self, ahead: Array, weight: Array, bias: Array) -> Array:
        state = xa.zeros((ahead.shape[0], self.hidden), dtype=ahead.dtype)
        states = []
        for step in xa.unstack(ahead, axis=1):
            own = f.linear(state, weight, bias).reshape((-1, 3, self.hidden))
            reset, update, new = xa.unstack(step.reshape((-1, 3, self.hidden)), axis=1)
            own_reset, own_update, own_new = xa.unstack(own, axis=1)
            kept = xa.sigmoid(update + own_update)
            new = xa.tanh(new + xa.sigmoid(reset + own_reset) * own_new)
            state = new + kept * (state - new)
            states.append(state)
        return xa.stack(states, axis=1)
