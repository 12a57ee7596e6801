# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures all that README and the documents claim and this machine can run: `python -m bench.all`.

Each measurement is a command of its own that writes JSON into bench/results; one that fails does
not keep the others from running. In the end the tables between markers and the charts are written
from what is recorded. `--list` tells what would run, and what is missing for the others;
`--documents` writes the documents alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bench.harness.measure import ROOT

__all__ = ["MEASUREMENTS", "Measurement", "main"]


@dataclass(frozen=True)
class Measurement:
    """One command.

    Attributes:
        command: what follows `python -m`.
        needs: libraries that have to be installed, and "gpu" for an NVIDIA GPU.
    """

    command: str
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """What this machine lacks for it."""
        return [name for name in self.needs if not _is_there(name)]


_PEERS = ("onnx", "onnxruntime", "torch")
_ON_GPU = ("gpu", "torch", "onnx")
_ZOO = (
    "minilm resnet50 bert-base gpt2 vit-tiny nudenet rapidocr-det rapidocr-cls rapidocr-rec magika"
)
_NETWORKS = (
    "'bert-base b8 f16' 'resnet50 b8 f16' 'gpt2 b1 f16' 'vit-tiny b32 f16' 'bert-base b1 f32'"
)
MEASUREMENTS = (
    Measurement("bench.cpu", _PEERS),
    Measurement("bench.model_table", _PEERS),
    Measurement("bench.fusion.table", _PEERS),
    Measurement("bench.fusion.scale"),
    Measurement("bench.compile.startup"),
    Measurement("bench.compile.warm", _PEERS),
    Measurement(f"bench.kernel_times {_ZOO}", ("onnx", "torch", "transformers")),
    Measurement("bench.tuning", ("optuna", "onnx", "torch", "transformers")),
    Measurement("bench.sweep cpu --folder build/sweep", _PEERS),
    Measurement("bench.trace_overhead"),
    Measurement("bench.cuda prepare build/cuda", _ON_GPU),
    Measurement("bench.cuda run build/cuda", _ON_GPU),
    Measurement("bench.cuda.tuning --budget 10", (*_ON_GPU, "optuna")),
    Measurement("bench.cuda.occupancy", _ON_GPU),
    Measurement(f"bench.kernel_times --target cuda {_NETWORKS}", _ON_GPU),
    Measurement("bench.sweep cuda --folder build/sweep-cuda", _ON_GPU),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 1 if a measurement failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.all", description=__doc__)
    parser.add_argument("patterns", nargs="*", default=["*"], help="of commands (default: all)")
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--documents", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    chosen = [
        each
        for each in MEASUREMENTS
        if any(fnmatchcase(each.command, pattern) for pattern in options.patterns)
    ]
    failed = []
    for each in () if options.documents else chosen:
        if each.missing:
            print(f"left out: python -m {each.command} (no {', '.join(each.missing)})")
        elif options.list:
            print(f"python -m {each.command}")
        elif not _ran(each):
            failed.append(each.command)
    if not options.list:
        from bench.documents.recorded import write_all

        write_all()
    for command in failed:
        print(f"failed: python -m {command}")
    return int(bool(failed))


def _ran(measurement: Measurement) -> bool:
    import shlex

    print(f"python -m {measurement.command}", flush=True)
    start = time.monotonic()
    command = [sys.executable, "-m", *shlex.split(measurement.command)]
    done = subprocess.run(command, cwd=ROOT, check=False)
    print(f"  {time.monotonic() - start:.0f} s, exit status {done.returncode}", flush=True)
    return done.returncode == 0


def _is_there(name: str) -> bool:
    if name != "gpu":
        return importlib.util.find_spec(name) is not None
    from xyntra.targets.table import backend_named

    return bool(backend_named("cuda").devices())


if __name__ == "__main__":
    sys.exit(main())
