# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the models that are trained: small ones of each kind, and large ones for GPUs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from verify.architectures.libraries import declare_operators

__all__ = ["CASES", "LARGE", "Batch", "Case"]

Batch = tuple[torch.Tensor, torch.Tensor]
Case = tuple[nn.Module, Batch]


class ConvNet(nn.Module):
    """Convolutions with batch norms, poolings, groups, and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU()
        )
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.block = nn.Sequential(
            nn.Conv2d(16, 16, 3, 1, 1, bias=False),
            nn.BatchNorm2d(16),
            nn.SiLU(),
            nn.Conv2d(16, 16, 3, 1, 1, groups=16),
            nn.GroupNorm(4, 16),
        )
        self.down = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.AvgPool2d(3, 2, 1))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return logits [N, 10] of images [N, 3, H, W]."""
        x = self.pool(self.stem(images))
        x = torch.relu(x + self.block(x))
        logits: torch.Tensor = self.head(self.down(x))
        return logits


class Attention(nn.Module):
    """Attention of several heads, causal or not."""

    def __init__(self, width: int, heads: int, *, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return values of the width of `x` [N, L, width]."""
        n, length, width = x.shape
        qkv = self.qkv(x).view(n, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        result: torch.Tensor = self.out(y.transpose(1, 2).reshape(n, length, width))
        return result


class Block(nn.Module):
    """A transformer's block with the norms first."""

    def __init__(self, width: int, heads: int, *, causal: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal=causal)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the next block takes."""
        x = x + self.drop(self.attention(self.norm1(x)))
        result: torch.Tensor = x + self.drop(self.mlp(self.norm2(x)))
        return result


class ImageTransformer(nn.Module):
    """A ViT of small images."""

    def __init__(
        self, depth: int = 3, width: int = 48, heads: int = 3, size: int = 28, patch: int = 4
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, causal=False) for _ in range(depth)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 10))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return logits [N, 10] of square images [N, 3, size, size]."""
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        logits: torch.Tensor = self.head(self.blocks(x)[:, 0])
        return logits


class LanguageModel(nn.Module):
    """GPT-2's shape, with tied embeddings and dropout."""

    def __init__(
        self,
        depth: int = 3,
        width: int = 64,
        heads: int = 4,
        words: int = 199,
        length: int = 64,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        for each in (self.words, self.places):
            nn.init.normal_(each.weight, std=0.02)
        blocks = (Block(width, heads, causal=True, dropout=dropout) for _ in range(depth))
        self.blocks, self.norm = nn.Sequential(*blocks), nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits [N * L, words] of tokens [N, L]."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.blocks(self.words(tokens) + self.places(places)))
        return (x @ self.words.weight.t()).flatten(0, 1)


class Recurrent(nn.Module):
    """A language model with LSTM cells that are written out."""

    def __init__(self, width: int = 32, words: int = 50) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(words, width), nn.Linear(width, words)
        self.cell = nn.LSTMCell(width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits [N * L, words] of tokens [N, L]."""
        x, state, found = self.words(tokens), None, []
        for step in range(tokens.shape[1]):
            state = self.cell(x[:, step], state)
            found.append(state[0])
        logits: torch.Tensor = self.out(torch.stack(found, 1)).flatten(0, 1)
        return logits


class Layered(nn.Module):
    """A language model with PyTorch's own recurrent layers."""

    def __init__(self, kind: type[nn.Module], width: int = 32, words: int = 50) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(words, width), nn.Linear(width, words)
        self.layers = kind(width, width, num_layers=2, batch_first=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits [N * L, words] of tokens [N, L]."""
        found, _ = self.layers(self.words(tokens))
        logits: torch.Tensor = self.out(found).flatten(0, 1)
        return logits


def _images(size: int, count: int = 8) -> Batch:
    return torch.randn(count, 3, size, size), torch.randint(0, 10, (count,))


def _tokens(words: int, count: int, length: int) -> Batch:
    tokens = torch.randint(0, words, (count, length + 1))
    return tokens[:, :-1].contiguous(), tokens[:, 1:].reshape(-1)


def perceptron() -> Case:
    layers = [nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10)]
    return nn.Sequential(*layers), (torch.randn(32, 20), torch.randint(0, 10, (32,)))


def channels_last() -> Case:
    model, (images, labels) = ConvNet(), _images(33)
    kind = torch.channels_last
    return model.to(memory_format=kind), (images.to(memory_format=kind), labels)


def resnet() -> Case:
    declare_operators()
    import timm

    return timm.create_model("resnet50", num_classes=10), _images(224, 32)


CASES: dict[str, Callable[[], Case]] = {
    "mlp": perceptron,
    "cnn": lambda: (ConvNet(), _images(33)),
    "cnn-channels-last": channels_last,
    "vit": lambda: (ImageTransformer(), _images(28, 4)),
    "gpt2": lambda: (LanguageModel(), _tokens(199, 3, 33)),
    "lstm": lambda: (Recurrent(), _tokens(50, 4, 12)),
    "lstm-layers": lambda: (Layered(nn.LSTM), _tokens(50, 4, 12)),
    "gru-layers": lambda: (Layered(nn.GRU), _tokens(50, 4, 12)),
}
LARGE: dict[str, Callable[[], Case]] = {
    "gpt2-12-layers": lambda: (
        LanguageModel(12, 768, 12, 50304, 512, dropout=0.0),
        _tokens(50304, 4, 512),
    ),
    "vit-base": lambda: (ImageTransformer(12, 768, 12, 224, 16), _images(224, 16)),
    "resnet-50": resnet,
    "lstm-wide": lambda: (Layered(nn.LSTM, 512, 10000), _tokens(10000, 32, 64)),
}
"""Models of the sizes that people train, for GPUs."""
