# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parts that several layers of the sweep have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["ACTIVATIONS", "ChannelsLast", "Function", "RMSNorm", "Split", "act", "normed"]


class Function(nn.Module):
    """A function of tensors as a module; `parts` are the modules and parameters that it uses."""

    def __init__(self, function: Callable[..., Any], **parts: nn.Module | Tensor) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, nn.Module):
                self.add_module(name, part)
            else:
                self.register_parameter(name, nn.Parameter(part))

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(self, *inputs) if self._has_parts() else self.function(*inputs)

    def _has_parts(self) -> bool:
        return bool(self._modules or self._parameters)


class ChannelsLast(nn.Module):
    """A module of images in N,C,H,W that takes and returns them in N,H,W,C."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *images: Tensor) -> Any:
        found = self.inner(
            *(each.permute(0, 3, 1, 2) if each.ndim == 4 else each for each in images)
        )
        return found.permute(0, 2, 3, 1) if found.ndim == 4 else found


class RMSNorm(nn.Module):
    """The norm of Llama and T5: computed in f32, scaled in the dtype of the weights."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class Split(nn.Module):
    """Attention of a transformer: products for queries, keys and values, heads, and the output.

    Args:
        width: of tokens.
        heads: number of them.
        fused: one product for queries, keys and values, or three.
        causal: whether tokens see later ones.
        bias: of the products.
    """

    def __init__(
        self, width: int, heads: int, *, fused: bool = True, causal: bool = False, bias: bool = True
    ) -> None:
        super().__init__()
        self.heads, self.causal, self.fused = heads, causal, fused
        self.qkv = nn.Linear(width, 3 * width, bias) if fused else None
        if not fused:
            self.q, self.k, self.v = (nn.Linear(width, width, bias) for _ in range(3))
        self.out = nn.Linear(width, width, bias)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        b, s, c = x.shape
        parts = (
            self.qkv(x).chunk(3, -1) if self.qkv is not None else (self.q(x), self.k(x), self.v(x))
        )
        q, k, v = (each.view(b, s, self.heads, -1).transpose(1, 2) for each in parts)
        causal = self.causal and mask is None
        found = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.out(found.transpose(1, 2).reshape(b, s, c))


def _quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "quick_gelu": _quick_gelu,
    "relu": functional.relu,
    "silu": functional.silu,
    "relu_squared": lambda x: functional.relu(x).square(),
    "hardswish": functional.hardswish,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.1),
    "mish": functional.mish,
}


def act(name: str) -> nn.Module:
    """Return an activation as a module."""
    return Function(ACTIVATIONS[name])


def normed(convolution: nn.Module, channels: int, activation: str | None) -> nn.Sequential:
    """Return a convolution of images with its batch norm and, if named, an activation."""
    parts = [convolution, nn.BatchNorm2d(channels)]
    return nn.Sequential(*parts, *([act(activation)] if activation else []))
