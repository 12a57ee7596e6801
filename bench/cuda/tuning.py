# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures what tuning finds for single operations: `python -m bench.cuda.tuning [PATTERN…]`.

Each operation is compiled with the schedule that the cost model chooses, searched for `--budget`
seconds, and compiled again with what was found. Both then take turns, in CUDA graphs, with PyTorch
(cuBLAS, cuDNN, its own kernels) and, for `--autotuned` of them, with max-autotune of torch.compile,
whose search is timed, too. One database serves all, so that later ones learn from earlier ones.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch

import xyntra
from bench.cuda.graphs import onnx_model
from bench.cuda.operations import OPERATIONS, Operation
from bench.cuda.rows import random_input, wrong_elements
from bench.cuda.timing import captured, launches_of, take_turns
from bench.cuda.torch_peers import DTYPES, function_of
from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.tuning.session import Tuning, tune_model
from xyntra.config import load_config
from xyntra.tune.model_search import failed

__all__ = ["SWEEP", "main"]

SWEEP = (
    "product 4x4096x4096 *", "product 777x1001x513 *", "layer_norm 8192x4096 bf16",
    "product 1x3072x768 *", "attention b1 h12 s128 *", "product 128x768x3072 *",
    "product 333x555x777 *", "softmax 8192x4096 f32", "product 64x64x65536 *",
    "product 16x1024x4096 *", "attention b8 h16 s2048 d64 *", "product 65536x64x64 *",
    "product 1000x3x768 *", "matmul_bias_gelu 1000x777x520 bf16", "product 96x197x64x197 *",
    "matmul 4096x4096x4096 bf16", "product 100x1000x2048 *", "rms_norm 8192x4096 bf16",
    "attention b1 h32/8 s1 t4096 *", "product *",
)  # fmt: skip
"""Patterns of what is searched, most interesting first: the time may not be enough for all."""
_REPEATS = 10  # pieces of work in one graph
Row = dict[str, Any]
Work = Callable[[], Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every result was right."""
    parser = argparse.ArgumentParser(prog="python -m bench.cuda.tuning", description=__doc__)
    parser.add_argument("patterns", nargs="*", default=SWEEP, metavar="PATTERN", help="of names")
    parser.add_argument("--budget", type=float, default=3.0, help="seconds of a search (3)")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin none after these (600)")
    parser.add_argument("--autotuned", type=int, default=6, help="beside max-autotune (6)")
    parser.add_argument("--rounds", type=int, default=15, help="of turns (15)")
    parser.add_argument("--json", type=Path, help="default: bench/results/cuda_tuning-….json")
    parser.add_argument("--export", type=Path, help="write what was found, for `xyntra tuned`")
    options = parser.parse_args(arguments)
    gpu = torch.cuda.get_device_name()
    path = (
        options.json or ROOT / "bench/results" / f"cuda_tuning-{gpu.lower().replace(' ', '-')}.json"
    )
    machine = {**describe(), "gpu": gpu}
    rows: list[Row] = []
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        os.environ["XYNTRA_TUNING_DATABASE"] = str(Path(folder) / "tuned.sqlite3")
        for operation in _chosen(options.patterns):
            if time.monotonic() > end:
                break
            rows.append(_row(operation, Path(folder), options, len(rows) < options.autotuned))
            _print(rows[-1])
            write_json(path, {"machine": machine, "budget": options.budget, "rows": rows})
        if options.export is not None:
            _export(options.export)
    return int(any(row["wrong"] for row in rows))


def _chosen(patterns: Sequence[str]) -> Iterator[Operation]:
    """Yield the operations of each pattern in turn, each once."""
    seen: set[str] = set()
    for pattern in patterns:
        for name, operation in OPERATIONS.items():
            if fnmatchcase(name, pattern) and name not in seen:
                seen.add(name)
                yield operation


def _row(operation: Operation, folder: Path, options: argparse.Namespace, autotuned: bool) -> Row:
    torch._dynamo.reset()
    torch.manual_seed(0)
    path = folder / "operation.onnx"
    path.write_bytes(onnx_model(operation).SerializeToString())
    how = {"target": "cuda"}
    row: Row = {"name": operation.name, "group": operation.group, "errors": {}}
    executables = {"default": xyntra.compile(path, config={"tuned": False}, **how)}
    result = tune_model(open_source(path), Sizes(), load_config(**how), Tuning(options.budget))
    row["search_seconds"] = result.seconds
    row["trials"] = sum(each.trials for each in result.reports)
    row["combinations"] = sum(each.space.count for each in result.reports)
    row["failures"] = [list(each) for each in failed(result.reports)]
    executables["tuned"] = xyntra.compile(path, **how)
    row["schedules"] = {
        name: [schedule for kernel in each.kernels for schedule in kernel.schedules]
        for name, each in executables.items()
    }
    row["found"] = any(kernel.tuned is not None for kernel in executables["tuned"].kernels)
    inputs = [random_input(shape, DTYPES[operation.dtype]) for shape in operation.inputs]
    result_dtype = DTYPES[operation.result_dtype]
    outputs = {
        name: torch.empty(operation.output, device="cuda", dtype=result_dtype)
        for name in executables
    }
    entrants: dict[str, Work] = {
        name: launches_of(each, inputs, [outputs[name]]) for name, each in executables.items()
    }
    for work in entrants.values():
        work()
    row["wrong"] = {name: wrong_elements(operation, inputs, each) for name, each in outputs.items()}
    row["wrong"] = {name: count for name, count in row["wrong"].items() if count}
    _enter_torch(entrants, row, operation, inputs, autotuned)
    graphs = {name: captured(work, _REPEATS) for name, work in entrants.items()}
    row["microseconds"] = take_turns(graphs, _REPEATS, options.rounds)
    return row


def _enter_torch(
    entrants: dict[str, Work], row: Row, operation: Operation, inputs: list[Any], autotuned: bool
) -> None:
    plain = function_of(operation)
    entrants["torch"] = lambda: plain(*inputs)
    if not autotuned:
        return
    start = time.monotonic()
    try:
        mode = "max-autotune-no-cudagraphs"  # it is put into a graph like the others
        compiled = torch.compile(plain, dynamic=False, mode=mode)
        compiled(*inputs)
        torch.cuda.synchronize()
    except Exception as error:
        row["errors"]["max-autotune"] = f"{type(error).__name__}: {error}"[:300]
        return
    row["max_autotune_seconds"] = time.monotonic() - start
    entrants["max-autotune"] = lambda: compiled(*inputs)


def _export(path: Path) -> None:
    from xyntra.tune.database import Database
    from xyntra.tune.exchange import export_records

    with Database(load_config().tuning_database) as database:
        export_records(database, path)


def _print(row: Row) -> None:
    times = "  ".join(f"{name} {each:.2f}" for name, each in row["microseconds"].items())
    searched = f"{row['trials']} trials of {row['combinations']} in {row['search_seconds']:.1f} s"
    autotuned = row.get("max_autotune_seconds")
    beside = "" if autotuned is None else f", max-autotune {autotuned:.1f} s"
    wrong = f"  WRONG {row['wrong']}" if row["wrong"] else ""
    print(f"{row['name']}: {times} us; {searched}{beside}{wrong}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
