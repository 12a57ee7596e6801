# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time to start: `python -m bench.compile.startup`.

Importing xyntra, xyntra-opt on a file of ten lines, two compilations of a model of ten nodes in one
process, and compiling BERT-base with an empty and a full cache. Every sample is a fresh process;
medians go to bench/results as JSON.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.compile.cold import Compilations, measure_compilations, model_file
from bench.compile.twice import PHASES, small_model
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, MeasureError, fresh, write_json
from bench.models import DEFAULT_FOLDER, REGISTRY

MODEL = "bert-base"
TEN_LINES = """\
#map = affine_map<(d0) -> (d0)>
func.func @add(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %empty = tensor.empty() : tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%empty : tensor<64xf32>) {
  ^bb0(%x: f32, %y: f32, %unused: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<64xf32>
  return %sum : tensor<64xf32> }
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0."""
    options = _parser().parse_args(arguments)
    machine = describe()
    samples = _commands(options.runs) | _in_one_process(options)
    if not options.small:
        samples |= _compilations(options)
    result = {"machine": machine, "samples": samples}
    path = options.json or ROOT / "bench" / "results" / f"startup-{slug(machine)}.json"
    write_json(path, result)
    for name, sample in samples.items():
        print(f"{name:28}{sample['median_seconds']:.3f} s   {_extra(sample)}")
    print(f"wrote {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.compile.startup", description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="of short commands (default 9)")
    parser.add_argument("--small", action="store_true", help=f"leave out {MODEL}")
    parser.add_argument("--cold", type=int, default=3, help="cold compilations (default 3)")
    parser.add_argument("--cached", type=int, default=5, help="cached compilations (default 5)")
    parser.add_argument("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds for a process")
    parser.add_argument("--json", type=Path, help="default: bench/results/startup-….json")
    return parser


def _commands(runs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="xyntra-bench-") as folder:
        source = Path(folder) / "add.mlir"
        source.write_text(TEN_LINES, encoding="utf-8")
        commands = {
            "python": [sys.executable, "-P", "-c", "pass"],
            "python, import xyntra": [sys.executable, "-P", "-c", "import xyntra"],
            "xyntra-opt, ten lines": [_script("xyntra-opt"), str(source)],
        }
        return {name: _wall(command, runs) for name, command in commands.items()}


def _script(name: str) -> str:
    # Console scripts are installed beside the interpreter, which may not be on the PATH.
    return str(Path(sys.executable).with_name(name + (".exe" if os.name == "nt" else "")))


def _wall(command: Sequence[str], runs: int) -> dict[str, Any]:
    seconds = [_once(command) for _ in range(runs + 1)]
    # The first run warms the file cache.
    return _sample(seconds[1:])


def _once(command: Sequence[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - start
    if done.returncode != 0:
        raise MeasureError(f"{' '.join(command)}: {done.stderr.strip()}")
    return elapsed


def _in_one_process(options: argparse.Namespace) -> dict[str, Any]:
    """Import, compile and compile again a model of ten nodes, without worker and cache."""
    with tempfile.TemporaryDirectory(prefix="xyntra-bench-") as folder:
        path = Path(folder) / "small.onnx"
        path.write_bytes(small_model())
        job = {"path": str(path)}
        runs = [
            fresh("bench.compile.twice", job, options.timeout) for _ in range(options.runs + 1)
        ][1:]
    return {f"ten nodes, {phase}": _phase([run[phase] for run in runs]) for phase in PHASES}


def _phase(times: Sequence[dict[str, float]]) -> dict[str, Any]:
    cpu = [each["cpu_seconds"] for each in times]
    return {
        **_sample([each["seconds"] for each in times]),
        "least_cpu_seconds": min(cpu),
        "cpu_seconds": cpu,
    }


def _compilations(options: argparse.Namespace) -> dict[str, Any]:
    path = model_file(REGISTRY[MODEL], options.models, options.timeout)
    with tempfile.TemporaryDirectory(prefix="xyntra-cache-") as cache:
        done = measure_compilations(
            REGISTRY[MODEL],
            path,
            Path(cache),
            cold=options.cold,
            cached=options.cached,
            timeout=options.timeout,
        )
    size = path.stat().st_size
    kinds = {f"{MODEL}, cold": done.cold, f"{MODEL}, cached": done.cached}
    return {name: _compiled(done, runs, size) for name, runs in kinds.items()}


def _compiled(
    done: Compilations, runs: Sequence[dict[str, Any]], file_bytes: int
) -> dict[str, Any]:
    memory = done.memory(runs)
    return {
        **_sample(done.seconds(runs)),
        "first_run_seconds": done.median(runs, "first_run_seconds"),
        "memory": memory,
        "peak_per_file_byte": memory["peak_bytes"] / file_bytes,
    }


def _sample(seconds: Sequence[float]) -> dict[str, Any]:
    return {"median_seconds": statistics.median(seconds), "seconds": list(seconds)}


def _extra(sample: dict[str, Any]) -> str:
    if "cpu_seconds" in sample:
        least = min(sample["seconds"]), sample["least_cpu_seconds"]
        return f"of {len(sample['seconds'])}, least {least[0]:.3f} s, {least[1]:.3f} s of processor"
    if "memory" not in sample:
        return f"of {len(sample['seconds'])}"
    memory = sample["memory"]
    return (
        f"of {len(sample['seconds'])}, first run {sample['first_run_seconds']:.3f} s, "
        f"peak {memory['peak_bytes'] / 1e6:.0f} MB in the {memory['peak_process']} "
        f"({sample['peak_per_file_byte']:.2f} x the file)"
    )


if __name__ == "__main__":
    sys.exit(main())
