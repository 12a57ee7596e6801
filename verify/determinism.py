# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hashes outputs of many runs in several processes: `python -m verify.determinism MODEL…`.

A model computes the same bits from the same inputs, in every run, process and number of threads.
Each process compiles the model anew, without a cache, and runs it with other numbers of threads.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

__all__ = ["hashes", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if each model has one hash."""
    parser = argparse.ArgumentParser(prog="python -m verify.determinism", description=__doc__)
    parser.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="as bench.named_models has them, or saved ones (.xyn)",
    )
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=1")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--runs", type=int, default=5, help="in each process (default 5)")
    options = parser.parse_args(arguments)
    dims = {name: int(size) for name, _, size in (each.partition("=") for each in options.dim)}
    differing = 0
    for model in options.models:
        found = hashes(model, options.target, dims, options.processes, options.runs)
        differing += len(set(found)) != 1
        verdict = "one hash" if len(set(found)) == 1 else f"{len(set(found))} HASHES"
        print(f"{model}: {verdict} in {len(found)} runs, {found[0][:16]}", flush=True)
    return int(differing > 0)


def hashes(
    model: str, target: str, dims: Mapping[str, int], processes: int, runs: int
) -> list[str]:
    """Return a hash of all outputs for each run, those of a process together."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(_run, model, target, dict(dims), number + 1, runs)
            for number in range(processes)
        ]
        return [each for job in jobs for each in job.result()]


def _run(model: str, target: str, dims: dict[str, int], number: int, runs: int) -> list[str]:
    import xyntra
    from bench.named_models import model_file
    from xyntra.tools.commands.inputs import random_inputs

    threads = 1 + number % max(2, os.cpu_count() or 1)
    settings: dict[str, Any] = {"cache": False, "threads": threads}
    if model.endswith(".xyn"):
        executable = xyntra.load(model, threads=threads, target=target)
    else:
        with model_file(model) as (path, shapes):
            how = {"target": target, "config": settings}
            executable = xyntra.compile(path, inputs=shapes, dims=dims, **how)
    inputs = random_inputs(executable.inputs, seed=0)
    return [_hash(executable.run(inputs)) for _ in range(runs)]


def _hash(outputs: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for name, array in outputs.items():
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
