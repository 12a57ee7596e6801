# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks traces of models: `python -m verify.traces MODEL… [--target cuda]`.

A trace of compiling and running must keep the rules of its format, and spans of a thread must lie
inside each other or apart. The times of its kernels must sum to within 5 % of what calls take that
nobody looks into: on the CPU those that `xyntra bench` would time, on a GPU all launches of a call
between two events.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import xyntra
from bench.named_models import model_file
from xyntra.executable import Executable
from xyntra.plan.plan import numpy_dtype
from xyntra.targets.program import TimedProgram
from xyntra.tools.commands.inputs import random_inputs

__all__ = ["main", "problems"]

Event = Mapping[str, Any]
_FIELDS = {
    "X": {"name", "cat", "ts", "dur", "pid", "tid"},
    "C": {"name", "ts", "pid", "args"},
    "M": {"name", "pid", "tid", "args"},
}
_KERNELS = 1
_TURNS = 9
_NEAR = 0.05
_ROUNDING = 1e-3  # microseconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if nothing is wrong with a trace."""
    parser = argparse.ArgumentParser(prog="python -m verify.traces", description=__doc__)
    parser.add_argument("models", nargs="+", help="as bench.named_models has them")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--threads", type=int, default=1, help="on the CPU (1)")
    parser.add_argument("--json", type=Path, help="write the results, too")
    options = parser.parse_args(arguments)
    rows = []
    for model in options.models:
        rows.append(_row(model, options))
        found = rows[-1]
        print(
            f"{model}: {found['events']} events, {found['wrong'] or 'none'} wrong; kernels "
            f"{found['kernels']:.1f} us, call {found['call']:.1f} us, ratio {found['ratio']:.3f}",
            flush=True,
        )
        if options.json is not None:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row["wrong"] or abs(row["ratio"] - 1) > _NEAR for row in rows))


def problems(events: Sequence[Event]) -> Iterator[str]:
    """Yield what is wrong with the events of a trace."""
    threads: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for each in events:
        if each.get("ph") not in _FIELDS:
            yield f"{each} is of no known kind"
            continue
        missing = _FIELDS[each["ph"]] - each.keys()
        if missing or each.get("ts", 0) < 0 or each.get("dur", 0) < 0:
            yield f"{each} has no {', '.join(sorted(missing)) or 'times'}"
        elif each["ph"] == "X":
            threads[each["pid"], each["tid"]].append(each)
    for spans in threads.values():
        yield from _crossing(spans)


def _crossing(spans: Sequence[Event]) -> Iterator[str]:
    """Yield spans of one thread that end after the one that they have begun in."""
    open_: list[Event] = []
    for each in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
        while open_ and _end(open_[-1]) <= each["ts"] + _ROUNDING:
            open_.pop()
        if open_ and _end(each) > _end(open_[-1]) + _ROUNDING:
            yield f"{each['name']} ends after {open_[-1]['name']}"
        open_.append(each)


def _end(span: Event) -> float:
    return float(span["ts"] + span["dur"])


def _row(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Trace the compilation of a model and timed calls; the median of the traced sums counts."""
    how = {"target": options.target, "precision": options.precision, "threads": options.threads}
    calls, sums, events = [], [], 0
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder, model_file(name) as (path, shapes):
        file = Path(folder) / "trace.json"
        with xyntra.trace(file) as recorded:
            executable = xyntra.compile(path, inputs=shapes, **how)
            feeds = random_inputs(executable.inputs, seed=0)
            executable.run(feeds)
            start = time.perf_counter_ns()
            recorded.add_call(executable.plan, start, executable.time_kernels(feeds))
        found = json.loads(file.read_text())["traceEvents"]
        wrong += problems(found)
        events += len(found)
        for _ in range(_TURNS):
            calls.append(_call_time(executable, feeds))
            with xyntra.trace(file) as recorded:
                recorded.add_call(executable.plan, 0, executable.time_kernels(feeds))
            found = json.loads(file.read_text())["traceEvents"]
            wrong += problems(found)
            sums.append(sum(e["dur"] for e in found if e["ph"] == "X" and e["tid"] == _KERNELS))
    kernels, call = statistics.median(sums), statistics.median(calls)
    row = {"model": name, "events": events, "wrong": wrong, "kernels": kernels, "call": call}
    return {**row, "ratio": kernels / call}


def _call_time(executable: Executable, feeds: Mapping[str, Any]) -> float:
    """Return the microseconds of a call, by the clock of what runs it."""
    arrays = [feeds[port.name] for port in executable.inputs]
    program = executable._program
    if isinstance(program, TimedProgram):
        return program.time_together(arrays) / 1e3
    out = [np.empty(port.shape, numpy_dtype(port.dtype)) for port in executable.outputs]
    times = []
    for _ in range(_TURNS):
        start = time.perf_counter_ns()
        executable(*arrays, out=out)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e3


if __name__ == "__main__":
    sys.exit(main())
