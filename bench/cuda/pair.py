# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two GPUs of one host: `python -m bench.cuda.pair DIR`, with what `bench.cuda prepare` made.

One executable on each GPU gets inputs of its own. Results must have the bits of the same inputs on
the other GPU, before and after both were busy, and arrays of the other GPU must be refused. Times
are those of calls from one thread for each GPU, alone and both at once.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import torch

import xyntra
from bench.cuda.model_rows import OURS, errors_of
from bench.cuda.models import MODELS, TOLERANCE, Model, model_inputs
from bench.cuda.networks import network
from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json
from xyntra.errors import InputError

__all__ = ["main"]

RESULTS = ROOT / "bench" / "results"
_GPUS = (0, 1)
_NAMES = ("bert-base b1 f16", "resnet50 b8 f16")
_CALLS = 200
_ROUNDS = 5
Row = dict[str, Any]
Work = Callable[[], object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if everything was right."""
    parser = argparse.ArgumentParser(prog="python -m bench.cuda.pair", description=__doc__)
    parser.add_argument("artifacts", type=Path, metavar="DIR", help="what bench.cuda prepare wrote")
    parser.add_argument("names", nargs="*", metavar="NAME", default=_NAMES, help="models")
    parser.add_argument("--json", type=Path, help="default: bench/results/cuda_pair-….json")
    options = parser.parse_args(arguments)
    gpus = [torch.cuda.get_device_name(number) for number in _GPUS]
    rows = [_row(MODELS[name], options.artifacts) for name in options.names]
    slug = "-".join(gpus[0].lower().split())
    path = options.json or RESULTS / f"cuda_pair-{slug}.json"
    machine: dict[str, object] = {**describe(), "gpus": gpus}
    write_json(path, {"machine": machine, "rows": rows})
    for row in rows:
        print(row, flush=True)
    return int(any(row["wrong"] for row in rows))


def _row(model: Model, artifacts: Path) -> Row:
    """Measure one model; "wrong" names what was not as it must be."""
    module = network(model.network).to(model.kind)
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    path = artifacts / model.file
    pair = [xyntra.load(path, target=f"cuda:{gpu}", weights=weights) for gpu in _GPUS]
    given = model_inputs(model, "cpu")
    inputs = [[each.to(f"cuda:{gpu}") for each in given] for gpu in _GPUS]
    first = _results(pair[0], inputs[0])
    with torch.inference_mode():
        errors = errors_of(module.to("cuda:0"), inputs[0], first)
    expected = [each.cpu() for each in first]
    wrong = [] if max(errors[OURS]) <= TOLERANCE[model.dtype] else ["results"]
    if not _same(_results(pair[1], inputs[1]), expected):
        wrong.append("the second GPU's bits")
    if not _refuses(pair[0], inputs[1]) or not _refuses(pair[1], inputs[0]):
        wrong.append("an array of the other GPU was accepted")
    works = [partial(pair[gpu], *inputs[gpu]) for gpu in _GPUS]
    times = {f"GPU {gpu} alone": _microseconds([works[gpu]], [gpu]) for gpu in _GPUS}
    times["both at once"] = _microseconds(works, _GPUS)
    if not all(_same(_results(pair[gpu], inputs[gpu]), expected) for gpu in _GPUS):
        wrong.append("bits after both were busy")
    return {"name": model.name, "wrong": wrong, "error": errors, "microseconds": times}


def _results(executable: Any, inputs: Sequence[Any]) -> list[Any]:
    found = executable(*inputs)
    return [torch.from_dlpack(each) for each in (found if isinstance(found, tuple) else (found,))]


def _same(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    return all(torch.equal(got.cpu(), want) for got, want in zip(found, expected, strict=True))


def _refuses(executable: Any, inputs: Sequence[Any]) -> bool:
    try:
        executable(*inputs)
    except InputError as error:
        return bool(error.code == "input-device")
    return False


def _microseconds(works: Sequence[Work], gpus: Sequence[int]) -> float:
    """Return the median time of a call of each of `works`, one thread and one GPU for each."""
    return statistics.median(_microseconds_of_a_round(works, gpus) for _ in range(_ROUNDS + 1))


def _microseconds_of_a_round(works: Sequence[Work], gpus: Sequence[int]) -> float:
    def run(work: Work, gpu: int) -> None:
        torch.cuda.set_device(gpu)
        for _ in range(_CALLS):
            work()
        torch.cuda.synchronize(gpu)

    threads = [Thread(target=run, args=pair) for pair in zip(works, gpus, strict=True)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - start) / _CALLS * 1e6


if __name__ == "__main__":
    sys.exit(main())
