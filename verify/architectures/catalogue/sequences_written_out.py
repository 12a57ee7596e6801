# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutional and linear-attention sequence models, written out."""

from __future__ import annotations

from typing import Any

from verify.architectures.images import images, tokens
from verify.architectures.registry import Model, architecture

_OURS = "written out"


@architecture("wavenet", "convolutional sequence model", _OURS)
def _wavenet() -> Model:
    """Gated, dilated and causal convolutions."""
    import torch
    from torch import nn

    class WaveNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv1d(1, 24, 1)
            self.gates = nn.ModuleList(nn.Conv1d(24, 48, 2, dilation=2**i) for i in range(6))
            self.skips = nn.ModuleList(nn.Conv1d(24, 32, 1) for _ in range(6))
            self.residuals = nn.ModuleList(nn.Conv1d(24, 24, 1) for _ in range(6))
            self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(32, 64, 1))

        def forward(self, sound: Any) -> Any:
            x, total = self.first(sound), 0
            for i, (gate, skip, rest) in enumerate(
                zip(self.gates, self.skips, self.residuals, strict=True)
            ):
                a, b = gate(nn.functional.pad(x, (2**i, 0))).chunk(2, 1)
                x_gated = torch.tanh(a) * torch.sigmoid(b)
                total = total + skip(x_gated)
                x = x + rest(x_gated)
            return self.last(total)

    return Model(WaveNet(), {"sound": images(1, 2, 1, 128)[0][:, None].reshape(2, 1, 128)})


@architecture("temporal-convolution-network", "convolutional sequence model", _OURS)
def _tcn() -> Model:
    from torch import nn
    from torch.nn.utils.parametrizations import weight_norm

    class Block(nn.Module):
        def __init__(self, before: int, after: int, dilation: int) -> None:
            super().__init__()
            self.padding = 2 * dilation
            self.first = weight_norm(nn.Conv1d(before, after, 3, dilation=dilation))
            self.second = weight_norm(nn.Conv1d(after, after, 3, dilation=dilation))
            self.skip = nn.Conv1d(before, after, 1)

        def forward(self, x: Any) -> Any:
            pad = (self.padding, 0)
            y = self.first(nn.functional.pad(x, pad)).relu()
            return (self.second(nn.functional.pad(y, pad)).relu() + self.skip(x)).relu()

    module = nn.Sequential(Block(4, 24, 1), Block(24, 24, 2), Block(24, 32, 4))
    return Model(module, {"input": images(2, 1, 4, 64)[:, 0]})


@architecture("performer", "state space or linear attention", _OURS)
def _performer() -> Model:
    """Causal linear attention with random features and prefix sums."""
    import torch
    from torch import nn

    class Performer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(100, 48)
            self.qkv = nn.Linear(48, 144)
            self.features = nn.Parameter(torch.randn(16, 24))
            self.norm, self.head = nn.LayerNorm(48), nn.Linear(48, 100)

        def kernel(self, x: Any) -> Any:
            return torch.exp(x @ self.features - (x * x).sum(-1, keepdim=True) / 2) + 1e-4

        def forward(self, words: Any) -> Any:
            x = self.embedding(words)
            parts = self.qkv(x).chunk(3, -1)
            q, k, v = (p.unflatten(-1, (3, 16)).transpose(1, 2) * 0.5 for p in parts)
            q, k = self.kernel(q), self.kernel(k)
            sums = (k[..., :, None] * v[..., None, :]).cumsum(2)
            total = (q * k.cumsum(2)).sum(-1, keepdim=True)
            y = (q[..., None, :] @ sums)[..., 0, :] / total
            return self.head(self.norm(x + y.transpose(1, 2).flatten(2)))

    return Model(Performer(), {"words": tokens(2, 20, 100)})


@architecture("selective-scan", "state space or linear attention", _OURS)
def _selective_scan() -> Model:
    """A diagonal state space layer as a recurrence over time."""
    import torch
    from torch import nn

    class Scan(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside, self.conv = nn.Linear(24, 64), nn.Conv1d(32, 32, 4, groups=32, padding=3)
            self.rest, self.step = nn.Linear(32, 2 + 16), nn.Linear(2, 32)
            self.log_decay = nn.Parameter(torch.arange(1.0, 9.0).log().repeat(32, 1))
            self.skip, self.out = nn.Parameter(torch.ones(32)), nn.Linear(32, 24)

        def forward(self, x: Any) -> Any:
            length = x.shape[1]
            x, gate = self.inside(x).chunk(2, -1)
            x = nn.functional.silu(self.conv(x.transpose(1, 2))[..., :length].transpose(1, 2))
            low, into, out = self.rest(x).split([2, 8, 8], -1)
            step = nn.functional.softplus(self.step(low))
            decay = torch.exp(-step[..., None] * self.log_decay.exp())
            added = (step * x)[..., None] * into[:, :, None]
            state, outputs = torch.zeros_like(decay[:, 0]), []
            for i in range(length):
                state = decay[:, i] * state + added[:, i]
                outputs.append((state @ out[:, i, :, None])[..., 0])
            y = torch.stack(outputs, 1) + x * self.skip
            return self.out(y * nn.functional.silu(gate))

    return Model(Scan(), {"x": images(2, 1, 12, 24)[:, 0]})


@architecture("n-beats", "time series", _OURS)
def _n_beats() -> Model:
    from torch import nn

    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(
                nn.Sequential(
                    nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 60)
                )
                for _ in range(3)
            )

        def forward(self, series: Any) -> Any:
            forecast = 0
            for block in self.blocks:
                found = block(series)
                series = series - found[:, :48]
                forecast = forecast + found[:, 48:]
            return forecast

    return Model(Stack(), {"series": images(1, 1, 4, 48)[0, 0]})
