# SPDX-License-Identifier: MIT OR Apache-2.0
"""The CUDA target against PyTorch: `python -m bench.cuda prepare DIR`, then `… run DIR` at the GPU.

`prepare` compiles, on any machine, what `run` measures where the GPU is: there, neither ONNX nor a
compiler is needed, but PyTorch. All entrants are captured in CUDA graphs and replayed by turns;
results are compared with those of f64. What `run` finds is JSON in bench/results.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from bench.cuda.models import COMPILING, MODELS, Model
from bench.cuda.operations import HOST_MODEL, OPERATIONS, TINY_MODEL, Operation, file_name
from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json

__all__ = ["main"]

RESULTS = ROOT / "bench" / "results"
_ARCHITECTURE = "cuda:sm_90a"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every result was right."""
    options = _parser().parse_args(arguments)
    operations = [each for name, each in OPERATIONS.items() if _is_chosen(name, options)]
    models = [each for name, each in MODELS.items() if _is_chosen(name, options)]
    if options.command == "prepare":
        return _prepare(operations, models, options)
    return _run(operations, models, options)


def _is_chosen(name: str, options: argparse.Namespace) -> bool:
    return any(fnmatch(name, pattern) for pattern in options.names or ["*"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.cuda", description=__doc__)
    parser.add_argument("command", choices=("prepare", "run"))
    parser.add_argument("artifacts", type=Path, metavar="DIR", help="what prepare writes")
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows, patterns (default: all)")
    add = parser.add_argument
    add("--target", default=_ARCHITECTURE, help=f"of prepare (default {_ARCHITECTURE})")
    add("--rounds", type=int, default=9, help="of turns (default 9)")
    add("--autotune", action="store_true", help="torch.compile with max-autotune, too")
    add("--jax", action="store_true", help="JAX, too, where a call takes long enough")
    add("--no-compile", action="store_true", help="no torch.compile")
    add("--json", type=Path, help="default: bench/results/cuda-….json")
    return parser


def _prepare(
    operations: Sequence[Operation], models: Sequence[Model], options: argparse.Namespace
) -> int:
    import xyntra
    from bench.cuda.graphs import host_model, onnx_model, tiny_model

    options.artifacts.mkdir(parents=True, exist_ok=True)
    xyntra.compile(host_model(), target=options.target).save(options.artifacts / HOST_MODEL)
    xyntra.compile(tiny_model(), target=options.target).save(options.artifacts / TINY_MODEL)
    for operation in operations:
        executable = xyntra.compile(onnx_model(operation), target=options.target)
        executable.save(options.artifacts / file_name(operation))
        print(f"{operation.name}: {len(executable.kernels)} kernels", flush=True)
    _prepare_models(models, options)
    return 0


def _prepare_models(models: Sequence[Model], options: argparse.Namespace) -> None:
    import xyntra
    from bench.cuda.models import onnx_network
    from bench.cuda.networks import network

    path = options.artifacts / COMPILING
    seconds = json.loads(path.read_text()) if path.exists() else {}
    for model in models:
        given = onnx_network(network(model.network), model)
        start = time.perf_counter()
        executable = xyntra.compile(given, target=options.target)
        seconds[model.name] = time.perf_counter() - start
        executable.save(options.artifacts / model.file, weights=False)
        write_json(path, seconds)
        print(f"{model.name}: {len(executable.kernels)} kernels", flush=True)


def _run(
    operations: Sequence[Operation], models: Sequence[Model], options: argparse.Namespace
) -> int:
    from bench.cuda.host import host_costs
    from bench.cuda.model_rows import model_row
    from bench.cuda.rows import How, operation_row
    from bench.cuda.timing import copy_bandwidth
    from xyntra.targets.cuda.driver.device import cuda_device

    device = cuda_device(0)
    bandwidth = copy_bandwidth(options.rounds)
    how = How(
        artifacts=options.artifacts,
        rounds=options.rounds,
        compiled=not options.no_compile,
        autotuned=options.autotune,
        jax=options.jax,
        bandwidth=bandwidth,
    )
    result: dict[str, Any] = {
        "machine": {**describe(), "gpu": device.name},
        "copy_bytes_per_second": bandwidth,
        "rows": [],
        "host": host_costs(options.artifacts, options.rounds),
    }
    slug = "-".join(device.name.lower().split())
    path = options.json or RESULTS / f"cuda-{slug}.json"
    for each in (*operations, *models):
        try:
            row = model_row(each, how) if isinstance(each, Model) else operation_row(each, how)
        except Exception as error:
            row = {"name": each.name, "group": each.group, "failure": str(error)}
        result["rows"].append(row)
        print(_summary(row), flush=True)
        write_json(path, result)  # after every row: the next may end the process
    for name, value in result["host"].items():
        print(f"{name}: {value:.4g}")
    return int(any(row.get("wrong") or _failed(row) for row in result["rows"]))


def _failed(row: dict[str, Any]) -> bool:
    return "microseconds" not in row


def _summary(row: dict[str, Any]) -> str:
    if _failed(row):
        return f"{row['name']}: FAILED: {row['failure']}"
    times = ", ".join(f"{name} {us:.1f}" for name, us in row["microseconds"].items())
    if row["group"] == "models":
        wrong = f", {row['wrong']} outputs are WRONG" if row["wrong"] else ""
        first = " and ".join(f"{each:.2f}" for each in row["seconds_to_first_result"])
        return f"{row['name']}: us: {times}; s to a first result, and again: {first}{wrong}"
    wrong = f" {row['wrong']} elements are WRONG" if row["wrong"] else ""
    rate = f"{row['share_of_copy']:.3f} of a copy, {row['flops_per_second'] / 1e12:.0f} TFLOP/s"
    return f"{row['name']}: us: {times}; {rate}, host {row['host_microseconds']:.1f} us{wrong}"
