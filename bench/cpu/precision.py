# SPDX-License-Identifier: MIT OR Apache-2.0
"""Precision on CPUs: `python -m bench.cpu.precision`, models of f32 with 16-bit weights.

Beside f32 and the same network exported in f16, all with one thread and by turns: errors relative
to PyTorch's f64, times, and the bytes of weights that a loaded model holds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.cuda.models import Model, model_inputs, onnx_network
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json

__all__ = ["main"]

_NETWORKS = ("bert-base", "gpt2", "vit-tiny", "resnet50")
_EXPORT = "f16 export"
_ENTRANTS = {"f32": "f32", _EXPORT: "f32", "precision f16": "f16", "precision bf16": "bf16"}
"""The precision of each; the export is a model of f16."""
Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.cpu.precision", description=__doc__)
    parser.add_argument("networks", nargs="*", metavar="NAME", default=_NETWORKS)
    parser.add_argument("--rounds", type=int, default=15, help="of turns (default 15)")
    parser.add_argument("--json", type=Path, help="default: bench/results/cpu_precision-….json")
    options = parser.parse_args(arguments)
    rows = [_row(Model(name, "f32", 1), options.rounds) for name in options.networks]
    machine = describe()
    path = options.json or ROOT / "bench" / "results" / f"cpu_precision-{slug(machine)}.json"
    write_json(path, {"machine": machine, "rows": rows})
    return 0


def _row(model: Model, rounds: int) -> Row:
    import torch

    import xyntra
    from bench.cuda.networks import network
    from xyntra.observe.precision.costs import memory_of

    inputs = model_inputs(model, "cpu")
    with torch.inference_mode():
        wide = [each.double() if each.is_floating_point() else each for each in inputs]
        exact = network(model.network).double()(*wide)
    expected = [each.numpy() for each in (exact if isinstance(exact, tuple) else (exact,))]
    executables, calls = {}, {}
    for name, precision in _ENTRANTS.items():
        own = replace(model, dtype="f16" if name == _EXPORT else "f32")
        source = onnx_network(network(model.network), own)
        executables[name] = xyntra.compile(source, target="cpu", precision=precision, threads=1)
        ports = executables[name].inputs
        calls[name] = [
            each.numpy().astype(port.dtype) for each, port in zip(inputs, ports, strict=True)
        ]
    row: Row = {"name": model.network, "error": {}, "milliseconds": {}, "weight_bytes": {}}
    times: dict[str, list[float]] = {name: [] for name in executables}
    for _ in range(rounds):
        for name, executable in executables.items():
            start = time.perf_counter()
            found = executable(*calls[name])
            times[name].append((time.perf_counter() - start) * 1e3)
            found = found if isinstance(found, tuple) else (found,)
            row["error"][name] = max(map(_relative, found, expected))
    for name, executable in executables.items():
        row["milliseconds"][name] = [min(times[name]), statistics.median(times[name])]
        row["weight_bytes"][name] = memory_of(executable.plan)
        least, median = row["milliseconds"][name]
        print(
            f"{model.network:12}{name:16}{least:9.2f} ms least {median:9.2f} median"
            f"{row['weight_bytes'][name] / 1e6:9.1f} MB   {row['error'][name]:.2e}",
            flush=True,
        )
    return row


def _relative(found: Any, expected: Any) -> float:
    difference = np.square(found.astype(np.float64) - expected).mean()
    return float(np.sqrt(difference / np.square(expected).mean()))


if __name__ == "__main__":
    sys.exit(main())
