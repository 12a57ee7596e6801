# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times steps of training beside PyTorch from the same weights: `python -m bench.training`.

The data is drawn: sizes are those of MNIST, and of texts of 65 characters. `--compile` compiles
what PyTorch runs, too; its optimiser is the fused one. Rows are printed and written as they come.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import xyntra.array as xa
from bench.harness.machine import describe
from bench.harness.measure import write_json
from xyntra import nn, optim
from xyntra.targets.current import CurrentDevice

BATCH = 64
ROUNDS, LEAST, SECONDS = 40, 3, 5.0
Row = dict[str, Any]
"""One side of one network."""


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


def _row(name: str, side: str, step: Callable[[], Any], read: Callable[[Any], float]) -> Row:
    """Return, and print, losses and times of one network on one side.

    Args:
        name: of the network.
        side: whose step it is.
        step: trains on the batch and returns the loss.
        read: returns a loss as a number, and waits for it.
    """
    start = time.perf_counter()
    first = read(step())
    seconds = time.perf_counter() - start
    print(f"{name}, {side}: first step {seconds:.2f} s, loss {first:.6f}", flush=True)
    for _ in range(20):
        result = step()
    last = read(result)
    milliseconds = median(step, read)
    print(f"  loss after 21 steps {last:.6f}; a step {milliseconds:.3f} ms", flush=True)
    return {
        "name": name,
        "side": side,
        "first_step_seconds": seconds,
        "first_loss": first,
        "loss_after_21": last,
        "step_ms": milliseconds,
    }


def rows_of(name: str, device: str, compiled: bool) -> Iterator[Row]:
    """Yield the row of each side for one network: ours, PyTorch's, and that compiled."""
    theirs, ours, x, y = _built(name)
    state = {key: value.clone() for key, value in theirs.state_dict().items()}
    train = optim.TrainStep(
        ours, lambda model, a, b: nn.functional.cross_entropy(model(a), b), optim.Adam(1e-3)
    )
    a, b = xa.asarray(x), xa.asarray(y)
    yield _row(name, "xyntra", lambda: train(a, b), float)
    for kind in ("torch", "torch.compile") if compiled else ("torch",):
        theirs.load_state_dict(state)
        peer = _peer(theirs, x, y, device, kind != "torch")
        yield _row(name, kind, peer, lambda loss: float(loss.item()))


def main() -> int:
    """Time the networks."""
    parser = argparse.ArgumentParser(prog="python -m bench.training", description=__doc__)
    parser.add_argument("--only", choices=list(NETWORKS), action="append", help="networks (all)")
    parser.add_argument("--target", default="cpu", help="where arrays are computed (cpu)")
    parser.add_argument("--compile", action="store_true", help="time torch.compile, too")
    parser.add_argument("--json", type=Path, help="where rows are written, as they come")
    options = parser.parse_args()
    CurrentDevice.target = options.target
    device = "cuda" if options.target.startswith("cuda") else "cpu"
    rows: list[Row] = []
    for name in options.only or NETWORKS:
        for row in rows_of(name, device, options.compile):
            rows.append(row)
            if options.json is not None:
                write_json(options.json, {"machine": describe(), "device": device, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
