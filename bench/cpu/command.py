# SPDX-License-Identifier: MIT OR Apache-2.0
"""The CPU target against onnxruntime and torch: `python -m bench.cpu [NAME…]`.

Ten models and a list of operations, for each number of threads: medians of calls that take turns
with those of the others, each program in a process of its own; outputs compared; and how far
operations are from what the machine can do. The result is JSON in bench/results, and the tables of
docs/performance.md and of the README are written from it. Names may hold `*`: with names, what was
measured is printed; `--merge` also puts it in the place of the same rows of the result.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from bench.cpu.entrants import OURS, PEERS, REFERENCE
from bench.cpu.operation_list import OPERATIONS
from bench.cpu.rows import MEASURED_SEEDS, How, geometric_means, model_row, operation_row
from bench.documents.cpu import BUSY, update_documents
from bench.harness.contest import Pace
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json
from bench.models import DEFAULT_FOLDER, REGISTRY

__all__ = ["main"]

RESULTS = ROOT / "bench" / "results"
DOCUMENTS = (ROOT / "docs" / "performance.md", ROOT / "README.md")
_KINDS = ("models", "operations")
Result = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if everything ran and was close to onnxruntime."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = _chosen(options)
    if not any(names.values()):
        parser.error(f"no such name; known: {', '.join([*REGISTRY, *OPERATIONS])}")
    machine = describe()
    path = options.json or RESULTS / f"cpu-{slug(machine)}.json"
    if options.render:
        update_documents(options.documents, json.loads(path.read_text(encoding="utf-8")))
        return 0
    before = _before(path) if options.merge else {kind: [] for kind in _KINDS}
    result: Result = {"machine": machine, "settings": _settings(options), **before}
    whole = options.merge or not (options.names or options.ops_only or options.models_only)
    sound = True
    for kind, row in _measure(names, _how(options)):
        print(_summary(row), flush=True)
        sound &= _sound(row)
        result[kind] = sorted(merged(result[kind], [row]), key=_place)
        result["geometric_means"] = geometric_means(result["models"])
        if options.json or whole:
            # After every row: the next may take long.
            write_json(path, result)
    for threads, means in result["geometric_means"].items():
        print(f"models, {threads} threads, geometric means:", _ratios_text(means))
    if whole and options.documents:
        update_documents(options.documents, result)
        print(f"wrote {path}, {', '.join(map(str, options.documents))}")
    return 0 if sound else 1


def _before(path: Path) -> Result:
    if not path.exists():
        return {kind: [] for kind in _KINDS}
    result = json.loads(path.read_text(encoding="utf-8"))
    return {kind: result[kind] for kind in _KINDS}


def _place(row: Result) -> int:
    names = [*REGISTRY, *OPERATIONS]
    return names.index(row["name"]) if row["name"] in names else len(names)


def merged(before: Sequence[Result], measured: Sequence[Result]) -> list[Result]:
    """The rows of an earlier result, with those of the same names replaced, and new ones added.

    What a row was not measured for this time, other threads or a compilation, stays.
    """
    rows = {row["name"]: row for row in before}
    for row in measured:
        old = rows.get(row["name"], {})
        rows[row["name"]] = old | row | {"threads": old.get("threads", {}) | row["threads"]}
    return list(rows.values())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.cpu", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="models and operations (default: all)")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--ops-only", action="store_true", help="no models")
    only.add_argument("--models-only", action="store_true", help="no operations")
    add("--threads", type=_numbers, default=[1, 2], metavar="N,N", help="default 1,2")
    add("--peers", type=_peers, default=list(PEERS), help=f"default {','.join(PEERS)}")
    add("--seconds", type=float, default=3.0, help="of one contest at least (default 3)")
    add("--rounds", type=_count, default=7, help="of one contest at least (default 7)")
    add("--turn", type=float, default=0.1, help="seconds of one turn (default 0.1)")
    add("--cold", type=int, default=1, help="cold compilations of each model (default 1)")
    add("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    add("--cache", type=Path, help="folder of compiled kernels (default: the user's)")
    add("--timeout", type=float, default=1200.0, help="seconds for a process")
    add("--merge", action="store_true", help="replace rows of the result that is there")
    add("--render", action="store_true", help="measure nothing: write the tables of the result")
    add("--json", type=Path, help="default: bench/results/cpu-….json")
    add(
        "--documents", type=Path, nargs="*", default=list(DOCUMENTS),
        help="that hold the tables (default: docs/performance.md and README.md)",
    )  # fmt: skip
    return parser


def _numbers(text: str) -> list[int]:
    return [_count(part) for part in text.split(",")]


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _peers(text: str) -> list[str]:
    peers = text.split(",")
    if unknown := [peer for peer in peers if peer not in PEERS]:
        raise argparse.ArgumentTypeError(f"unknown: {unknown[0]}; known: {', '.join(PEERS)}")
    # Outputs are compared with the reference's.
    return [REFERENCE, *(peer for peer in peers if peer != REFERENCE)]


def _chosen(options: argparse.Namespace) -> dict[str, list[str]]:
    known = {
        "models": [] if options.ops_only else list(REGISTRY),
        "operations": [] if options.models_only else list(OPERATIONS),
    }
    wanted = options.names or ["*"]
    return {
        kind: [name for name in names if any(fnmatch(name, pattern) for pattern in wanted)]
        for kind, names in known.items()
    }


def _how(options: argparse.Namespace) -> How:
    config = {"target": "cpu"} | ({"cache_dir": str(options.cache)} if options.cache else {})
    pace = Pace(options.seconds, options.rounds, options.turn, options.timeout)
    return How(options.threads, pace, config, options.peers, options.cold, options.models)


def _settings(options: argparse.Namespace) -> Result:
    names = ("threads", "peers", "seconds", "rounds", "turn", "cold")
    return {
        **{name: getattr(options, name) for name in names},
        "random_inputs": MEASURED_SEEDS,
        "pinning": "none from outside; each program places its own threads",
        "onnxruntime": "intra_op_num_threads=N, inter_op_num_threads=1, spinning as by default",
        "torch": "set_num_threads(N), inference_mode",
    }


def _measure(names: Mapping[str, Sequence[str]], how: How) -> Iterator[tuple[str, Result]]:
    """The rows, each with its kind."""
    for name in names["models"]:
        yield "models", model_row(REGISTRY[name], how)
    for name in names["operations"]:
        yield "operations", operation_row(OPERATIONS[name], how)


def _summary(row: Result) -> str:
    cold = f" cold {row['cold_seconds']:.2f} s" if "cold_seconds" in row else ""
    lines = [f"{row['name']}:{cold}{' FAILED: ' + row['error'] if 'error' in row else ''}"]
    for threads, entry in row["threads"].items():
        times = [f"{name} {s * 1e3:.3f}" for name, s in entry["seconds"].items()]
        share = f", {entry['share']:.0%} of {_rate(row, entry)}" if "share" in entry else ""
        wrong = [name for name, close in entry.get("close", {}).items() if not close]
        lines.append(f"  {threads} threads, ms: {', '.join(times)}{share}")
        lines.append(f"    ours / theirs: {_ratios_text(entry.get('ratios', {}))}")
        if entry["others"] > BUSY:
            lines.append(f"    others kept {entry['others']:.2f} processors busy")
        lines += [f"    {name} FAILED: {error}" for name, error in entry["errors"].items()]
        lines += [f"    {name} is NOT CLOSE to {REFERENCE}" for name in wrong]
    return "\n".join(lines)


def _rate(row: Result, entry: Result) -> str:
    return f"{entry['ceiling'] / 1e9:.1f} G{row['unit']}/s"


def _ratios_text(ratios: dict[str, float]) -> str:
    return ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items())


def _sound(row: Result) -> bool:
    entries = row["threads"].values()
    return "error" not in row and all(entry.get("close", {}).get(OURS) for entry in entries)
