# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls on the CPU beside others that want its cores: `python -m bench.cpu.neighbours [NAME…]`.

Models are called alone; by turns with onnxruntime in one process, whose threads spin after a call;
and beside processes that compute without end. Xyntra with all threads and with one, and
onnxruntime, take turns of a few calls. A turn that other programs disturbed is repeated, and the
quietest turns count. The result is JSON in bench/results, and the table of docs/performance.md is
written from it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.compile.cold import model_file
from bench.cpu.neighbour_calls import Busy, Turn, make_caller
from bench.documents.neighbours import REGION, render, summary
from bench.harness.child_process import Child
from bench.harness.disturbance import Observer
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json
from bench.models import DEFAULT_FOLDER, REGISTRY, ModelSpec

__all__ = ["main"]

OURS, ONE, PEER = "xyntra", "xyntra, one thread", "onnxruntime"
DOCUMENT = ROOT / "docs" / "performance.md"
DISTURBED = 0.15
"""Processors that others may take during a turn; above that, it is tried again."""
_ATTEMPTS = 4
_PATIENCE = 0.25
_LEAST_CALLS = 2
_LEAST_TURNS = 3


@dataclass(frozen=True)
class Phase:
    """Who is timed, and beside what.

    Attributes:
        name: in the result.
        who: is timed.
        after: is called before each of its calls.
        busy: processes that compute meanwhile.
    """

    name: str
    who: str
    after: str | None = None
    busy: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = options.names or list(REGISTRY)
    if unknown := [name for name in names if name not in REGISTRY]:
        parser.error(f"no model {unknown[0]!r}; known: {', '.join(REGISTRY)}")
    settings = {key: getattr(options, key) for key in ("threads", "busy", "rounds", "turn")}
    result: dict[str, Any] = {"machine": describe(), "settings": settings, "rows": []}
    path = options.json
    if path is None and (options.merge or not options.names):
        path = ROOT / "bench" / "results" / f"neighbours-{slug(result['machine'])}.json"
    if options.merge:
        kept = json.loads(path.read_text("utf-8"))["rows"]
        result["rows"] = [row for row in kept if row["model"] not in names]
    busy = Busy(max(options.busy, default=0))
    try:
        for name in names:
            result["rows"].append(_row(REGISTRY[name], options, busy))
            print(summary(result["rows"][-1]), flush=True)
            if path is not None:  # after each row: what is cut off still counts
                write_json(path, result)
    finally:
        busy.end()
    if options.document:
        REGION.update(options.document, render(result))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.cpu.neighbours", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="models (default: all)")
    add("--threads", type=int, default=2, help="of each program (default 2)")
    add("--busy", type=_counts, default=[1, 2, 4], metavar="N,N", help="processes (default 1,2,4)")
    add("--rounds", type=int, default=7, help="turns of each kind (default 7)")
    add("--turn", type=float, default=0.1, help="seconds of one turn (default 0.1)")
    add("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    add("--timeout", type=float, default=1200.0, help="seconds for a process")
    add("--merge", action="store_true", help="keep the other rows of the result that is there")
    add("--json", type=Path, help="default with all models: bench/results/neighbours-….json")
    add("--document", type=Path, nargs="?", const=DOCUMENT, help="write the table into this file")
    return parser


def _counts(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def _phases(busy: Sequence[int]) -> Iterator[Phase]:
    for who, after in ((OURS, PEER), (ONE, PEER), (PEER, OURS)):
        yield Phase(f"{who}, alone", who)
        yield Phase(f"{who}, in turns", who, after)
        for count in busy:
            yield Phase(f"{who}, beside {count}", who, busy=count)


def _row(spec: ModelSpec, options: argparse.Namespace, busy: Busy) -> dict[str, Any]:
    path = model_file(spec, options.models, options.timeout)
    child = Child(make_caller, _job(spec, path, options.threads), seconds=options.timeout)
    turns: dict[str, list[tuple[float, list[float]]]] = {}
    try:
        for number in range(options.rounds):
            phases = list(_phases(options.busy))
            first = number % len(phases)
            for phase in phases[first:] + phases[:first]:
                found = _undisturbed(child, phase, options, busy)
                turns.setdefault(phase.name, []).append(found)
    finally:
        child.end()
    entries = {name: _entry(found) for name, found in turns.items()}
    return {"model": spec.name, "title": spec.title, "phases": entries}


def _job(spec: ModelSpec, path: Path, threads: int) -> Mapping[str, Any]:
    common = {"path": str(path), "preallocated": False}
    ours = {**common, "runner": "xyntra", "shapes": spec.shapes, "config": {"target": "cpu"}}
    callers = {
        OURS: {**ours, "threads": threads},
        ONE: {**ours, "threads": 1},
        PEER: {**common, "runner": "onnxruntime", "threads": threads},
    }
    return {"callers": callers, "inputs": spec.random_inputs(0)}


def _undisturbed(
    child: Child, phase: Phase, options: argparse.Namespace, busy: Busy
) -> tuple[float, list[float]]:
    """The quietest of a few turns: the processors that others took, and the times of calls."""
    found = []
    for _ in range(_ATTEMPTS):
        found.append(_turn(child, phase, options, busy))
        if found[-1][0] <= DISTURBED:
            break
        time.sleep(_PATIENCE)
    return min(found)


def _turn(
    child: Child, phase: Phase, options: argparse.Namespace, busy: Busy
) -> tuple[float, list[float]]:
    turn = Turn(phase.who, phase.after, options.turn, _LEAST_CALLS)
    with busy.running(phase.busy) as pids:
        observer = Observer(child.pid, *pids)
        times: list[float] = child.ask(turn, options.timeout)
        return observer.processors(), times


def _entry(turns: Sequence[tuple[float, list[float]]]) -> dict[str, Any]:
    """Median and least time of a call over the undisturbed turns, or the quietest few."""
    quiet = [turn for turn in turns if turn[0] <= DISTURBED]
    if len(quiet) < _LEAST_TURNS:
        quiet = sorted(turns)[:_LEAST_TURNS]
    times = [each for _, calls in quiet for each in calls]
    others = statistics.fmean(share for share, _ in quiet)
    return {
        "seconds": statistics.median(times),
        "least": min(times),
        "calls": len(times),
        "others": others,
    }


if __name__ == "__main__":
    sys.exit(main())
