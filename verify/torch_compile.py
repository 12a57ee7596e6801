# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares torch.compile(backend="xyntra") with eager PyTorch on whole models in training.

    python -m verify.torch_compile [--only vit] [--steps 50] [--device cuda] [--times]

For each model: the outputs in evaluation, and the loss and all gradients of one step, against eager
PyTorch in float64 where eager float32 itself comes near it; then the losses of --steps steps of
AdamW against eager's, within 1e-3 of them. The exit status is 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch
from torch import nn

from xyntra.integrations.torch_compile import backend

Batch = tuple[torch.Tensor, torch.Tensor]
Case = tuple[nn.Module, Batch]
_FAR = 20
"""How much further from float64 than eager float32 a result may be."""


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

    def __init__(self, depth: int = 3, width: int = 48) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 50, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, 3, causal=False) for _ in range(depth)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 10))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return logits [N, 10] of images [N, 3, 28, 28]."""
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        logits: torch.Tensor = self.head(self.blocks(x)[:, 0])
        return logits


class LanguageModel(nn.Module):
    """GPT-2's shape, with tied embeddings and dropout."""

    def __init__(self, depth: int = 3, width: int = 64, words: int = 199) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        blocks = (Block(width, 4, causal=True, dropout=0.1) for _ in range(depth))
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


CASES: dict[str, Callable[[], Case]] = {
    "mlp": perceptron,
    "cnn": lambda: (ConvNet(), _images(33)),
    "cnn-channels-last": channels_last,
    "vit": lambda: (ImageTransformer(), _images(28, 4)),
    "gpt2": lambda: (LanguageModel(), _tokens(199, 3, 33)),
    "lstm": lambda: (Recurrent(), _tokens(50, 4, 12)),
}


def loss_of(call: Any, batch: Batch) -> torch.Tensor:
    return nn.functional.cross_entropy(call(batch[0]), batch[1])


def gradients(call: Any, model: nn.Module, batch: Batch) -> list[torch.Tensor]:
    """Return the loss, every gradient and every buffer of one step."""
    torch.manual_seed(11)
    model.zero_grad()
    loss = loss_of(call, batch)
    loss.backward()
    found = [loss.detach(), *(p.grad for p in model.parameters() if p.grad is not None)]
    return [*found, *model.buffers()]


def in_double(batch: Batch) -> Batch:
    return tuple(t.double() if t.is_floating_point() else t for t in batch)  # type: ignore[return-value]


def worst(
    found: Sequence[torch.Tensor], eager: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]
) -> float:
    """Return the largest error against float64, over eager's own or what f32 cannot tell."""
    ratios = [0.0]
    for ours, theirs, true in zip(found, eager, exact, strict=True):
        if not true.is_floating_point():
            ratios.append(0.0 if torch.equal(ours, theirs) else float("inf"))
            continue
        scale = float(true.abs().max()) + 1e-12
        least = max(float((theirs.double() - true).abs().max()), 2e-6 * scale, 1e-8)
        error = float((ours.double() - true).abs().max())
        ratios.append(error / least if error == error else float("inf"))
    return max(ratios)


def follow(step: Any, model: nn.Module, batch: Batch, steps: int) -> list[float]:
    """Return the losses of some steps of training, which draw the same numbers each time."""
    torch.manual_seed(5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(step, batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def check(name: str, device: str, steps: int, *, times: bool) -> bool:
    """Compare one model; print what was found and return whether it is right."""
    torch.manual_seed(0)
    model, batch = CASES[name]()
    model, batch = model.to(device), (batch[0].to(device), batch[1].to(device))
    exact, ours = copy.deepcopy(model).double(), copy.deepcopy(model)
    torch._dynamo.reset()
    call = torch.compile(ours, backend=backend)
    start = time.perf_counter()
    for each in (model, exact, ours):
        each.eval()
    with torch.no_grad():
        outputs = [call(batch[0])], [model(batch[0])], [exact(in_double(batch)[0])]
    inference = worst(*outputs)
    for each in (model, exact, ours):
        each.train()
    has_dropout = any(isinstance(m, nn.Dropout) and m.p for m in model.modules())
    found, eager = gradients(call, ours, batch), gradients(model, model, batch)
    reference = eager if has_dropout else gradients(exact, exact, in_double(batch))
    training = worst(found, eager, [t.double() for t in reference])
    took = time.perf_counter() - start
    mine, theirs = follow(call, ours, batch, steps), follow(model, model, batch, steps)
    apart = max(abs(a - b) / max(abs(b), 1e-2) for a, b in zip(mine, theirs, strict=True))
    bound = 200 * _FAR if has_dropout else _FAR  # without float64, f32's own error is unknown
    right = inference < _FAR and training < bound and apart < 1e-3
    timed = _timed(call, ours, model, batch) if times else ""
    print(
        f"{'right' if right else 'WRONG':6}{name:18} inference {inference:.2f}, gradients"
        f" {training:.2f} of eager's error, losses {apart:.1e} apart, ready in {took:.1f} s{timed}",
        flush=True,
    )
    return right


def _timed(call: Any, ours: nn.Module, model: nn.Module, batch: Batch) -> str:
    """Return the times of a step beside eager's and Inductor's, in turns."""
    inductor_model = copy.deepcopy(model)
    torch._dynamo.reset()
    inductor = torch.compile(inductor_model)
    sides = [(call, ours), (model, model), (inductor, inductor_model)]
    taken: list[list[float]] = [[], [], []]
    for turn in range(13):
        for (step, owner), into in zip(sides, taken, strict=True):
            owner.zero_grad()
            start = time.perf_counter()
            loss_of(step, batch).backward()
            if batch[0].is_cuda:
                torch.cuda.synchronize()
            if turn >= 3:
                into.append(time.perf_counter() - start)
    a, b, c = (1e3 * median(each) for each in taken)
    return f"; a step {a:.2f} ms, eager {b:.2f}, inductor {c:.2f}"


def main() -> int:
    """Compare the models that are asked for; return 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", action="store_true", help="beside eager and Inductor")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    names = [name for name in CASES if options.only in name]
    right = [check(name, options.device, options.steps, times=options.times) for name in names]
    print(f"{sum(right)} of {len(right)} right")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
