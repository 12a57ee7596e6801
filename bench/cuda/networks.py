# SPDX-License-Identifier: MIT OR Apache-2.0
"""The networks of `bench.cuda` as plain PyTorch modules, with weights drawn from names alone.

The same modules are exported where models are compiled and compiled by torch.compile where they are
measured; weights are equal in both places, whatever the version of PyTorch.
Sources of the architectures: BERT (arXiv 1810.04805), GPT-2 (Radford et al., 2019), ViT (arXiv
2010.11929), ResNet v1.5 (arXiv 1512.03385 with strides in the 3 x 3 convolutions).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

__all__ = ["NETWORKS", "draw_weights", "network"]

Tensor = Any
Array = np.ndarray[Any, Any]


class Attention(nn.Module):  # type: ignore[misc, unused-ignore]
    """Self-attention of (batch, length, width) with a projection behind it."""

    def __init__(self, width: int, heads: int, fused: bool = False, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        sizes = {"qkv": 3 * width} if fused else dict.fromkeys(("query", "key", "value"), width)
        self.inputs = nn.ModuleDict({name: nn.Linear(width, size) for name, size in sizes.items()})
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend; `mask` is bool, broadcast to (batch, heads, length, length)."""
        batch, length, width = x.shape
        parts = [part for layer in self.inputs.values() for part in self._heads(layer(x), width)]
        mixed = functional.scaled_dot_product_attention(
            *parts, attn_mask=mask, is_causal=self.causal
        )
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))

    def _heads(self, x: Tensor, width: int) -> list[Tensor]:
        batch, length, _ = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        pieces = [x[..., first : first + width] for first in range(0, x.shape[-1], width)]
        return [piece.reshape(shape).transpose(1, 2) for piece in pieces]


class Layer(nn.Module):  # type: ignore[misc, unused-ignore]
    """A transformer's layer; norms before (`pre`) or behind attention and perceptron."""

    def __init__(self, width: int, heads: int, pre: bool, tanh: bool = False, **how: bool) -> None:
        super().__init__()
        self.pre = pre
        self.attention = Attention(width, heads, **how)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        activation = nn.GELU(approximate="tanh" if tanh else "none")
        wide = 4 * width
        self.perceptron = nn.Sequential(nn.Linear(width, wide), activation, nn.Linear(wide, width))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the next (batch, length, width)."""
        if self.pre:
            x = x + self.attention(self.norm1(x), mask)
            return x + self.perceptron(self.norm2(x))
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.perceptron(x))


class Bert(nn.Module):  # type: ignore[misc, unused-ignore]
    """An encoder of token ids, a mask and segment ids; its last states and the pooled first."""

    def __init__(self, width: int = 768, heads: int = 12, layers: int = 12) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, width)
        self.positions = nn.Embedding(512, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads, pre=False) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
        """Return (batch, length, width) and (batch, width)."""
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.segments(segments) + self.positions(places))
        seen = (mask != 0)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, seen)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Gpt2(nn.Module):  # type: ignore[misc, unused-ignore]
    """A decoder of token ids; logits of every position."""

    def __init__(self, width: int = 768, heads: int = 12, layers: int = 12) -> None:
        super().__init__()
        self.words = nn.Embedding(50257, width)
        self.positions = nn.Embedding(1024, width)
        how = {"pre": True, "tanh": True, "fused": True, "causal": True}
        self.layers = nn.ModuleList(Layer(width, heads, **how) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor) -> Tensor:
        """Return (batch, length, words)."""
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return functional.linear(self.norm(x), self.words.weight)


class Vit(nn.Module):  # type: ignore[misc, unused-ignore]
    """ViT-Tiny: patches of 16 x 16 pixels of a 224 x 224 picture; logits of 1000 classes."""

    def __init__(self, width: int = 192, heads: int = 3, layers: int = 12) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, 197, width))
        self.layers = nn.ModuleList(Layer(width, heads, pre=True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1000)

    def forward(self, picture: Tensor) -> Tensor:
        """Return (batch, 1000)."""
        x = self.patches(picture).flatten(2).transpose(1, 2)
        first = self.first.expand(x.shape[0], -1, -1)
        x = torch.cat([first, x], 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


class Bottleneck(nn.Module):  # type: ignore[misc, unused-ignore]
    """1 x 1, 3 x 3 and 1 x 1 convolutions with a shortcut."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = 4 * width
        self.conv1, self.norm1 = _convolution(before, width, 1, 1)
        self.conv2, self.norm2 = _convolution(width, width, 3, stride)
        self.conv3, self.norm3 = _convolution(width, after, 1, 1)
        changes = before != after or stride != 1
        self.shortcut = nn.Sequential(*_convolution(before, after, 1, stride)) if changes else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the next (batch, channels, height, width)."""
        y = torch.relu(self.norm1(self.conv1(x)))
        y = torch.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        return torch.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class Resnet50(nn.Module):  # type: ignore[misc, unused-ignore]
    """Logits of 1000 classes of a (batch, 3, 224, 224) picture."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = _convolution(3, 64, 7, 2)
        blocks, before = [], 64
        for width, depth in ((64, 3), (128, 4), (256, 6), (512, 3)):
            for number in range(depth):
                stride = 2 if number == 0 and width > 64 else 1
                blocks.append(Bottleneck(before, width, stride))
                before = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(before, 1000)

    def forward(self, picture: Tensor) -> Tensor:
        """Return (batch, 1000)."""
        x = functional.max_pool2d(torch.relu(self.norm(self.conv(picture))), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


def _convolution(before: int, after: int, size: int, stride: int) -> tuple[nn.Module, nn.Module]:
    convolution = nn.Conv2d(before, after, size, stride, size // 2, bias=False)
    return convolution, nn.BatchNorm2d(after)


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "bert-base": Bert,
    "gpt2": Gpt2,
    "vit-tiny": Vit,
    "resnet50": Resnet50,
    "minilm": lambda: Bert(384, 12, 6),
}


def network(name: str) -> nn.Module:
    """Return a network in evaluation mode, on the CPU, with the weights of `draw_weights`."""
    with torch.device("meta"):
        made = NETWORKS[name]()
    made = made.to_empty(device="cpu").eval().requires_grad_(False)
    arrays = draw_weights({key: tuple(each.shape) for key, each in made.state_dict().items()})
    made.load_state_dict({key: torch.from_numpy(array) for key, array in arrays.items()})
    return made


def draw_weights(shapes: dict[str, tuple[int, ...]]) -> dict[str, Array]:
    """Return f32 weights by name, each drawn from its name.

    Matrices keep the variance of what they multiply; vectors lie around their usual values, not
    on them, so that none can be left out unnoticed.
    """
    return {name: _weight(name, shape) for name, shape in shapes.items()}


def _weight(name: str, shape: tuple[int, ...]) -> Array:
    if not shape:
        return np.zeros(shape, np.int64)  # the number of batches that a norm has seen
    noise = np.random.default_rng(zlib.crc32(name.encode())).random(shape, np.float32) - 0.5
    if len(shape) == 1:
        usual = name.endswith(("norm.weight", "running_var")) or _is_scale(name)
        return noise * np.float32(0.2) + np.float32(usual)
    fan_in = int(np.prod(shape[1:]))
    spread = 0.02 if "." not in name or name.split(".")[0] in _TABLES else fan_in**-0.5
    return noise * np.float32(spread * 12**0.5)


_TABLES = ("words", "positions", "segments")


def _is_scale(name: str) -> bool:
    layer, _, kind = name.rpartition(".")
    return kind == "weight" and (layer.endswith(("norm1", "norm2", "norm3", "shortcut.1")))
