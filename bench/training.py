# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times steps of training beside PyTorch from the same weights: `python -m bench.training`.

The data is drawn: sizes are those of MNIST, and of texts of 65 characters. `--compile` compiles
what PyTorch runs; its optimiser is the fused one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import xyntra.array as xa
from bench.harness.machine import describe
from bench.harness.measure import write_json
from xyntra import nn, optim
from xyntra.array.recorded.settings import ArraySettings

BATCH = 64
ROUNDS, LEAST, SECONDS = 40, 3, 5.0


def perceptron(library: Any) -> Any:
    """Return a network of three products, of ours or of PyTorch's."""
    layers = [library.Linear(784, 256), library.ReLU(), library.Linear(256, 128)]
    return library.Sequential(*layers, library.ReLU(), library.Linear(128, 10))


def convolutional(library: Any) -> Any:
    """Return a network of two convolutions and a product, of ours or of PyTorch's."""
    first = [library.Conv2d(1, 16, 3, padding=1), library.ReLU(), library.MaxPool2d(2)]
    second = [library.Conv2d(16, 32, 3, padding=1), library.ReLU(), library.MaxPool2d(2)]
    return library.Sequential(*first, *second, library.Flatten(), library.Linear(1568, 10))


class Characters:
    """The sizes of a language model of characters: six layers, of 128 features here."""

    count, length, batch, size, heads, layers = 65, 64, 16, 128, 4, 6


def language_model(library: Any, own: bool) -> Any:
    """Return a transformer that predicts the next character, of ours or of PyTorch's.

    Args:
        library: whose.
        own: whether it is ours.
    """
    c = Characters

    class Model(library.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.tokens = library.Embedding(c.count, c.size)
            self.places = library.Embedding(c.length, c.size)
            self.blocks = library.ModuleList([self._block() for _ in range(c.layers)])
            self.norm = library.LayerNorm(c.size)
            self.head = library.Linear(c.size, c.count)

        def _block(self) -> Any:
            block = library.TransformerEncoderLayer
            if own:
                return block(c.size, c.heads, 4 * c.size, 0.0, "gelu", norm_first=True)
            return block(
                c.size, c.heads, 4 * c.size, 0.0, "gelu", norm_first=True, batch_first=True
            )

        def forward(self, x: Any) -> Any:
            x = self.tokens(x) + self.places.weight
            for block in self.blocks:
                x = block(x, causal=True) if own else block(x, _causal(x), is_causal=True)
            return self.head(self.norm(x)).reshape((-1, c.count))

    return Model()


def _causal(x: Any) -> Any:
    import torch

    return torch.nn.Transformer.generate_square_subsequent_mask(x.shape[1], x.device)


NETWORKS: dict[str, tuple[Callable[..., Any], tuple[int, ...], int]] = {
    "mlp": (perceptron, (BATCH, 784), 10),
    "cnn": (convolutional, (BATCH, 1, 28, 28), 10),
    "gpt": (language_model, (Characters.batch, Characters.length), Characters.count),
}


def median(step: Callable[[], Any], wait: Callable[[Any], Any]) -> float:
    """Return the milliseconds of a step, the median of rounds of five, which end after a while."""
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(times) < ROUNDS and (len(times) < LEAST or time.perf_counter() < end):
        start = time.perf_counter()
        for _ in range(5):
            result = step()
        wait(result)
        times.append((time.perf_counter() - start) / 5)
    return statistics.median(times) * 1e3


def _built(name: str) -> tuple[Any, Any, Any, Any]:
    """Return PyTorch's network, ours with the same weights, inputs and targets."""
    import torch

    torch.manual_seed(0)
    build, shape, classes = NETWORKS[name]
    random = np.random.default_rng(0)
    if name == "gpt":
        theirs, ours = build(torch.nn, False), build(nn, True)
        x: Any = random.integers(0, classes, shape)
    else:
        theirs, ours = build(torch.nn), build(nn)
        x = random.standard_normal(shape).astype(np.float32)
    rows = x.size if name == "gpt" else len(x)
    ours.load_state_dict({n: v.detach().numpy() for n, v in theirs.state_dict().items()})
    return theirs, ours, x, random.integers(0, classes, rows)


def _peer(theirs: Any, x: Any, y: Any, device: str, compiled: bool) -> Callable[[], Any]:
    """Return a step of PyTorch's."""
    import torch

    theirs = theirs.to(device)
    other = torch.optim.Adam(theirs.parameters(), 1e-3, fused=True)
    given, target = torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)

    def forward(a: Any, b: Any) -> Any:
        return torch.nn.functional.cross_entropy(theirs(a), b)

    run = torch.compile(forward) if compiled else forward

    def step() -> Any:
        other.zero_grad()
        loss = run(given, target)
        loss.backward()
        other.step()
        return loss

    return step


def compare(name: str, device: str, compiled: bool) -> dict[str, Any]:
    """Return, and print, losses and times of one network."""
    theirs, ours, x, y = _built(name)
    step = optim.TrainStep(
        ours, lambda model, a, b: nn.functional.cross_entropy(model(a), b), optim.Adam(1e-3)
    )
    peer = _peer(theirs, x, y, device, compiled)
    a, b = xa.asarray(x), xa.asarray(y)
    start = time.perf_counter()
    first = float(step(a, b))
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    expected_first = peer().item()
    other_seconds = time.perf_counter() - start
    for _ in range(20):
        last, expected = step(a, b), peer()
    mine, others = median(lambda: step(a, b), float), median(peer, lambda loss: loss.item())
    kind = "compiled" if compiled else "eager"
    print(
        f"{name}: first step {seconds:.2f} s, loss {first:.6f};"
        f" PyTorch {kind} {other_seconds:.2f} s, {expected_first:.6f}\n"
        f"  after 21 steps: loss {float(last):.6f}, PyTorch's {expected.item():.6f}\n"
        f"  a step: {mine:.3f} ms, PyTorch {kind} {others:.3f} ms",
        flush=True,
    )
    return {
        "name": name,
        "first_step_seconds": [seconds, other_seconds],
        "first_loss": [first, expected_first],
        "loss_after_21": [float(last), expected.item()],
        "step_ms": [mine, others],
        "peer": kind,
    }


def main() -> int:
    """Time the networks."""
    parser = argparse.ArgumentParser(prog="python -m bench.training", description=__doc__)
    parser.add_argument("--only", choices=list(NETWORKS), action="append", help="networks (all)")
    parser.add_argument("--target", default="cpu", help="where arrays are computed (cpu)")
    parser.add_argument("--compile", action="store_true", help="compile PyTorch's step")
    parser.add_argument("--json", type=Path, help="where the rows are written, with both sides")
    options = parser.parse_args()
    ArraySettings.target = options.target
    device = "cuda" if options.target.startswith("cuda") else "cpu"
    rows = [compare(name, device, options.compile) for name in options.only or NETWORKS]
    if options.json is not None:
        write_json(options.json, {"machine": describe(), "device": device, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
