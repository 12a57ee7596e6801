# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers of model libraries at sizes that a seed draws: `python -m bench.sweep cuda` or `… cpu`.

On a GPU they run beside PyTorch and torch.compile, all in CUDA graphs; on a CPU beside onnxruntime
and PyTorch, with the same number of threads. Results are compared with those of f64 or of
onnxruntime. `--networks 1 8` sweeps whole networks instead, at these batches. `show` prints a
recorded sweep, the slowest row first; `python -m bench.all --documents` writes recorded ones into
the documents.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json
from bench.sweep.collection import SEED, rows
from bench.sweep.networks import Network, networks
from bench.sweep.row import Row
from bench.sweep.summary import lines

__all__ = ["main"]

RESULTS = ROOT / "bench" / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every row ran and was right."""
    options = _parser().parse_args(arguments)
    if options.command == "show":
        found = json.loads(options.json.read_text("utf-8"))["rows"]
    else:
        found = _cuda(options) if options.command == "cuda" else _cpu(options)
    for line in lines(found):
        print(line)
    return int(any(row.get("wrong") or "microseconds" not in row for row in found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.sweep", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("cuda", "cpu"):
        command = commands.add_parser(name)
        add = command.add_argument
        add("names", nargs="*", metavar="NAME", help="rows, patterns (default: all)")
        add("--folder", type=Path, required=True, help="for what is compiled; kept")
        add("--seed", type=int, default=SEED, help=f"draws the sizes (default {SEED})")
        add("--rounds", type=int, default=7, help="of turns (default 7)")
        batches = "whole networks of verify.architectures at these batches instead of layers"
        add("--networks", type=int, nargs="+", metavar="BATCH", help=batches)
        add("--json", type=Path, help="default: bench/results/sweep-….json")
        if name == "cuda":
            add("--jobs", type=int, default=8, help="compilations at a time (default 8)")
            add("--gpus", type=int, default=1, help="share the rows (default 1)")
            add("--explain", action="store_true", help="with the times of our launches")
            beside = "what another version has compiled, to be measured in turns with this one"
            add("--beside", type=Path, metavar="FOLDER", help=beside)
            add("--prepare", action="store_true", help="compile only")
        else:
            add("--threads", type=int, default=1, help="of each (default 1)")
    commands.add_parser("show").add_argument("json", type=Path)
    return parser


def _chosen(options: argparse.Namespace) -> list[Row | Network]:
    if options.networks:
        return list(networks(options.command, options.networks, options.names))
    return list(rows(options.command, options.seed, options.names))


def _stem(options: argparse.Namespace) -> str:
    return "sweep-networks" if options.networks else "sweep"


def _cuda(options: argparse.Namespace) -> list[dict[str, Any]]:
    from bench.sweep.cuda_prepare import prepare
    from bench.sweep.cuda_rows import measure_all

    chosen = _chosen(options)
    prepare(chosen, options.folder, target="cuda:sm_90a", jobs=options.jobs, peers=True)
    if options.prepare:
        return []
    result = measure_all(
        chosen,
        options.folder,
        gpus=options.gpus,
        rounds=options.rounds,
        explain=options.explain,
        beside=options.beside,
    )
    found: list[dict[str, Any]] = result["rows"]
    name = "-".join(result["gpu"].lower().split())
    machine = {**describe(), "gpu": result["gpu"]}
    path = options.json or RESULTS / f"{_stem(options)}-{name}.json"
    copied = result["copy_bytes_per_second"]
    head = {"machine": machine, "seed": options.seed, "copy_bytes_per_second": copied}
    write_json(path, {**head, "rows": found})
    return found


def _cpu(options: argparse.Namespace) -> list[dict[str, Any]]:
    from bench.sweep.cpu_rows import measure

    machine = describe()
    settings = {"seed": options.seed, "threads": options.threads}
    name = f"{_stem(options)}-{slug(machine)}-{options.threads}t.json"
    path = options.json or RESULTS / name
    found = []
    for row in _chosen(options):
        found.append(measure(row, options.folder, options.threads, options.rounds))
        print(next(lines(found[-1:])), flush=True)
        write_json(path, {"machine": machine, **settings, "rows": found})
    return found


if __name__ == "__main__":
    sys.exit(main())
