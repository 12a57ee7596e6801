# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times steps of training beside PyTorch from the same weights: `python -m bench.training`.

The data is drawn: sizes are those of MNIST. `--compile` compiles what PyTorch runs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import xyntra.array as xa
from xyntra import nn, optim
from xyntra.array.recorded.settings import ArraySettings

BATCH = 64
ROUNDS = 20


def perceptron(library: Any) -> Any:
    """Return a network of three products, of ours or of PyTorch's."""
    layers = [library.Linear(784, 256), library.ReLU(), library.Linear(256, 128)]
    return library.Sequential(*layers, library.ReLU(), library.Linear(128, 10))


def convolutional(library: Any) -> Any:
    """Return a network of two convolutions and a product, of ours or of PyTorch's."""
    first = [library.Conv2d(1, 16, 3, padding=1), library.ReLU(), library.MaxPool2d(2)]
    second = [library.Conv2d(16, 32, 3, padding=1), library.ReLU(), library.MaxPool2d(2)]
    return library.Sequential(*first, *second, library.Flatten(), library.Linear(1568, 10))


NETWORKS = {"mlp": (perceptron, (BATCH, 784)), "cnn": (convolutional, (BATCH, 1, 28, 28))}


def median(step: Callable[[], Any], wait: Callable[[Any], Any]) -> float:
    """Return the milliseconds of a step, the median of rounds of ten."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(10):
            result = step()
        wait(result)
        times.append((time.perf_counter() - start) / 10)
    return statistics.median(times) * 1e3


def compare(name: str, device: str, compiled: bool) -> None:
    """Print losses and times of one network."""
    import torch

    build, shape = NETWORKS[name]
    random = np.random.default_rng(0)
    x = random.standard_normal(shape).astype(np.float32)
    y = random.integers(0, 10, BATCH)
    theirs, ours = build(torch.nn).to(device), build(nn)
    ours.load_state_dict({n: v.detach().cpu().numpy() for n, v in theirs.state_dict().items()})
    step = optim.TrainStep(
        ours, lambda model, a, b: nn.functional.cross_entropy(model(a), b), optim.Adam(1e-3)
    )
    other = torch.optim.Adam(theirs.parameters(), 1e-3)
    given, target = torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)

    def forward(a: Any, b: Any) -> Any:
        return torch.nn.functional.cross_entropy(theirs(a), b)

    run = torch.compile(forward) if compiled else forward

    def peer() -> Any:
        other.zero_grad()
        loss = run(given, target)
        loss.backward()
        other.step()
        return loss

    a, b = xa.asarray(x), xa.asarray(y)
    start = time.perf_counter()
    first = float(step(a, b))
    seconds = time.perf_counter() - start
    print(f"{name}: first step {seconds:.2f} s, loss {first:.6f}, PyTorch's {peer().item():.6f}")
    for _ in range(20):
        last, expected = step(a, b), peer()
    print(f"  after 21 steps: loss {float(last):.6f}, PyTorch's {expected.item():.6f}")
    mine, others = median(lambda: step(a, b), float), median(peer, lambda loss: loss.item())
    print(f"  a step: {mine:.3f} ms, PyTorch {'compiled' if compiled else 'eager'} {others:.3f} ms")


def main() -> int:
    """Time the networks."""
    parser = argparse.ArgumentParser(prog="python -m bench.training", description=__doc__)
    parser.add_argument("--only", choices=list(NETWORKS), action="append", help="networks (all)")
    parser.add_argument("--target", default="cpu", help="where arrays are computed (cpu)")
    parser.add_argument("--compile", action="store_true", help="compile PyTorch's step")
    options = parser.parse_args()
    ArraySettings.target = options.target
    for name in options.only or NETWORKS:
        compare(name, "cuda" if options.target.startswith("cuda") else "cpu", options.compile)
    return 0


if __name__ == "__main__":
    sys.exit(main())
