# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile modules of model libraries: `python -m verify.torch_modules [--only PATTERN]`.

Every network is built with random weights, one with trained ones, and goes through
xyntra.compile(module, inputs) and through torch.compile(backend="xyntra"), or with --entrance
torchscript through a file of its trace, each in a process of its own, and is compared with eager
PyTorch: right is within 1e-4 of the largest element, in float32. What PyTorch runs is named. With
--times, the seconds from a module to its first result, without and with what caches keep, and the
milliseconds of a call stand beside Inductor's, by the clock and as time of processors, which other
programs disturb less. The exit status is 1 where one is neither right nor
refused with a reason.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from bench.harness.machine import describe
from verify.architectures.children import ChildFailure, call
from verify.architectures.libraries import import_libraries
from verify.architectures.registry import Architecture
from verify.torch_modules.catalogue import load
from verify.torch_modules.checking import ENTRANCES, check

__all__ = ["main"]

Row = dict[str, Any]
_CHECKED = ("compile", "torch.compile")
_OURS = (*_CHECKED, "torchscript")
_TIMED = ("compile", "torch.compile", "inductor", "eager")
_TIMES = ("first_result_s", "again_s", "call_ms")
_TIMES += ("first_result_cpu_s", "again_cpu_s", "call_cpu_ms")
_LIBRARIES = ("torch", "transformers", "timm", "torchvision")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every network is right by every entrance."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("XYNTRA_PROGRESS", "false")
    chosen = _chosen(options)
    if options.list:
        for each in chosen:
            print(f"{each.name:32} {each.family:24} {each.library}")
        return 0
    import_libraries(_LIBRARIES)
    rows = _earlier(options)
    found = {(row["name"], row["entrance"]) for row in rows}
    for architecture in chosen:
        for entrance in options.entrance or (_TIMED if options.times else _CHECKED):
            if (architecture.name, entrance) in found:
                continue
            row = {"name": architecture.name, "entrance": entrance}
            row |= _rows(architecture, entrance, options)
            rows.append(row)
            print(_line(row), flush=True)
            if options.json:
                text = json.dumps({"machine": describe(), "rows": rows}, indent=1)
                Path(options.json).write_text(text + "\n", encoding="utf-8")
    return _report(rows, options)


def _earlier(options: argparse.Namespace) -> list[Row]:
    """Return the rows of a run that was ended."""
    if not options.json or not Path(options.json).exists():
        return []
    rows: list[Row] = json.loads(Path(options.json).read_text(encoding="utf-8"))["rows"]
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verify.torch_modules", description=__doc__)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="names, as in a shell")
    parser.add_argument("--all", action="store_true", help="those of verify.architectures, too")
    parser.add_argument("--list", action="store_true", help="name the networks")
    parser.add_argument("--times", action="store_true", help="wants a quiet machine")
    parser.add_argument("--entrance", action="append", choices=tuple(ENTRANCES))
    parser.add_argument("--part", default="0/1", help="N/M: every Mth network from the Nth on")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each")
    parser.add_argument("--json", help="a file that is written as it goes, and gone on with")
    return parser


def _chosen(options: argparse.Namespace) -> list[Architecture]:
    found = list(load().values())
    if options.all:
        from verify.architectures.catalogue import load as load_all

        found = [each for each in load_all().values() if each.library in _LIBRARIES]
    if options.only:
        found = [a for a in found if any(fnmatch.fnmatch(a.name, p) for p in options.only)]
    first, step = (int(each) for each in options.part.split("/"))
    return found[first::step]


def _rows(architecture: Architecture, entrance: str, options: argparse.Namespace) -> Row:
    """Return what one process finds, and the time that a second one takes with the caches full."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        config: dict[str, object] = {"threads": 1}
        if options.times:
            config["cache_dir"] = folder
        row = _child(architecture, entrance, config, options)
        if options.times and row["status"] == "right" and entrance != "eager":
            again = _child(architecture, entrance, config, options)
            row["again_s"] = again.get("first_result_s")
            row["again_cpu_s"] = again.get("first_result_cpu_s")
            row["load"] = round(os.getloadavg()[0], 2)
    return row


def _child(
    architecture: Architecture, entrance: str, config: dict[str, object], options: Any
) -> Row:
    try:
        row: Row = call(
            check, architecture, entrance, config, options.times, seconds=options.seconds
        )
    except ChildFailure as failure:
        return {"status": failure.kind, "error": str(failure)[-1500:]}
    return row


def _line(row: Row) -> str:
    status = row["status"] if row["status"] == "right" else row["status"].upper()
    text = f"{status:8} {row['name']:32} {row['entrance']:14}"
    if "error" in row:
        return f"{text} {row['error']}"
    text += f" {row['error_of_scale']:.1e} in {row['first_result_s']:.2f} s"
    if row.get("again_s"):
        text += f", again {row['again_s']:.2f} s"
    if "call_ms" in row:
        text += f", a call {row['call_ms']:.3f} ms"
    if "from_double" in row:
        text += f", from float64 {row['from_double']:.1e} (eager {row['eager_from_double']:.1e})"
    if row["entrance"] == "torch.compile":
        text += f", {row['graphs']} graphs"
        text += f"; in PyTorch: {'; '.join(row['fallbacks'])}" if row["fallbacks"] else ""
        text += f"; breaks: {'; '.join(row['breaks'])}" if row["breaks"] else ""
    return text


def _report(rows: Sequence[Row], options: argparse.Namespace) -> int:
    for entrance in _OURS:
        own = [row for row in rows if row["entrance"] == entrance]
        if not own:
            continue
        counts = Counter(row["status"] for row in own)
        print(f"{entrance}: {', '.join(f'{n} {what}' for what, n in counts.most_common())}")
    if options.times:
        for entrance in ("compile", "torch.compile"):
            for key in _TIMES:
                print(f"{entrance} of inductor, {key}: {_ratio(rows, entrance, key)}")
    fine = ("right", "refused")
    return 0 if all(row["status"] in fine for row in rows if row["entrance"] in _OURS) else 1


def _ratio(rows: Sequence[Row], entrance: str, key: str) -> str:
    values = {(row["name"], row["entrance"]): row.get(key) for row in rows}
    names = {row["name"] for row in rows}
    pairs = [(values.get((name, entrance)), values.get((name, "inductor"))) for name in names]
    ratios = [a / b for a, b in pairs if a and b]
    if not ratios:
        return "none"
    return f"{geometric_mean(ratios):.2f}, at most {max(ratios):.2f} ({len(ratios)} networks)"
