# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile architectures of model libraries: `python -m verify.architectures [--only PATTERN]`.

Every architecture is built with random weights, exported by PyTorch's two exporters, compiled by
Xyntra for the CPU, and compared with onnxruntime and torch. Nothing is downloaded. Exports are kept
in the user's cache folder. The result is JSON, from which --table writes docs/architectures.md.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json
from verify.architectures.catalogue import load
from verify.architectures.exporting import EXPORTERS, cache_folder
from verify.architectures.registry import Architecture
from verify.architectures.sweep import Options, sweep

__all__ = ["in_order", "main", "make_parser"]

RESULTS = ROOT / "bench" / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if everything that was exported compiled and was right."""
    options = make_parser().parse_args(arguments)
    _prefer_installed()
    chosen = _chosen(options)
    if options.list:
        for found in chosen:
            print(f"{found.name:32} {found.family:24} {found.library}")
        print(f"{len(chosen)} architectures")
        return 0
    if options.clean:
        shutil.rmtree(cache_folder(), ignore_errors=True)
        return 0
    if options.table:
        from verify.architectures.page import write_page

        write_page()
        return 0
    if options.pack:
        from verify.architectures.packing import pack

        print(f"{pack(chosen, options.pack)} models")
        return 0
    machine = describe()
    if options.run_packed:
        from verify.architectures.packed import run_packed

        rows = run_packed(options.run_packed, options.target)
        if options.json:
            write_json(options.json, {"machine": machine, "rows": rows})
        return 1 if any(row["status"] != "ok" for row in rows) else 0
    rows = sweep(chosen, _sweep_options(options))
    path = options.json or RESULTS / f"architectures-{_target_name(options)}.json"
    # Rows of a part would take the place of all, unless they are put among them.
    if options.json or options.update or not (options.only or options.family or options.exporter):
        kept = _other_rows(path, rows) if options.update else []
        everything = in_order([*kept, *rows], list(load()))
        write_json(path, {"machine": machine, "settings": _settings(options), "rows": everything})
        print(f"wrote {path}")
    return 1 if any(row["status"] in ("failed", "wrong") for row in rows) else 0


def in_order(rows: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """The rows in the order of the architectures; those of others are left out."""
    places = {name: place for place, name in enumerate(names)}
    known = [row for row in rows if row["name"] in places]
    return sorted(known, key=lambda row: (places[row["name"]], row["exporter"]))


def _other_rows(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of an earlier result that these do not replace."""
    if not path.exists():
        return []
    new = {(row["name"], row["exporter"]) for row in rows}
    old = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return [row for row in old if (row["name"], row["exporter"]) not in new]


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = argparse.ArgumentParser(prog="python -m verify.architectures", description=__doc__)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="names, as in a shell")
    parser.add_argument("--family", action="append", metavar="PATTERN", help="families, likewise")
    parser.add_argument("--exporter", choices=EXPORTERS, help="default: both")
    parser.add_argument("--list", action="store_true", help="name the architectures")
    parser.add_argument("--export-only", action="store_true", help="fill the cache of exports")
    parser.add_argument("--target", default="cpu", help="compiled for (default cpu)")
    parser.add_argument("--half", action="store_true", help="f16; run on CPUs only")
    parser.add_argument("--pack", type=Path, metavar="DIR", help="write models in f16, to carry")
    parser.add_argument("--run-packed", type=Path, metavar="DIR", help="run what --pack wrote")
    parser.add_argument("--time", action="store_true", help="time calls; wants a quiet machine")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one compilation")
    parser.add_argument("--cached", action="store_true", help="use Xyntra's cache of kernels")
    parser.add_argument("--keep", type=Path, help="folder for copies of the models that fail")
    parser.add_argument("--update", action="store_true", help="keep the other rows of the result")
    parser.add_argument("--json", type=Path, help="default: bench/results/architectures-….json")
    parser.add_argument("--table", action="store_true", help="write docs/architectures.md")
    parser.add_argument("--clean", action="store_true", help="remove the cache of exports")
    return parser


def _chosen(options: argparse.Namespace) -> list[Architecture]:
    found = list(load().values())
    if options.only:
        found = [a for a in found if any(fnmatch.fnmatch(a.name, p) for p in options.only)]
    if options.family:
        found = [a for a in found if any(fnmatch.fnmatch(a.family, p) for p in options.family)]
    return found


def _sweep_options(options: argparse.Namespace) -> Options:
    return Options(
        exporters=[options.exporter] if options.exporter else list(EXPORTERS),
        export_only=options.export_only,
        target=options.target,
        half=options.half,
        timed=options.time,
        timeout=options.timeout,
        cached=options.cached,
        keep=options.keep,
    )


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    names = ("target", "half", "time", "timeout", "cached")
    from xyntra.config import load_config

    settings = {name: getattr(options, name) for name in names}
    return {"threads": 1, "opt_level": load_config().opt_level, **settings}


def _target_name(options: argparse.Namespace) -> str:
    name = options.target.replace(":", "-").replace("_", "")
    return f"{name}-f16" if options.half else name


def _prefer_installed() -> None:
    """Find the xyntra that is installed before the incomplete package in the clone."""
    os.environ.setdefault("XYNTRA_PROGRESS", "false")
    own = {"", str(ROOT)}
    sys.path[:] = [path for path in sys.path if path not in own] + [str(ROOT)]
