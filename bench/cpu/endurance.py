# SPDX-License-Identifier: MIT OR Apache-2.0
"""Does memory grow? `python -m bench.cpu.endurance`.

100,000 calls of a small model and a fortieth of that of Magika, 1,000 loads of each, and calls
from short-lived threads, with one and with two threads. Each of them runs in a fresh process, which
reports its resident set before and after, following a warm-up of a tenth. The result is JSON in
bench/results.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from bench.compile.cold import model_file
from bench.cpu.operations import Graph
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, MeasureError, fresh, write_json
from bench.models import DEFAULT_FOLDER, REGISTRY

__all__ = ["main", "resident_bytes"]

MODEL = "magika"
ALLOWED = 2 << 20
"""Bytes of growth that are no leak: pages that a heap reaches now and then."""
_SMALL = (4, 4)
_CALLS = 100_000
_LOADS = 1_000
_THREADS = 2_000
_MODEL_SHARE = 40
_WARMUP_SHARE = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, or with JOB and RESULT one measurement; returns 0 if nothing grows."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) == 2 and given[0].startswith("{"):
        Path(given[1]).write_text(json.dumps(_measure(json.loads(given[0]))), encoding="utf-8")
        return 0
    options = _parser().parse_args(given)
    machine = describe()
    with tempfile.TemporaryDirectory(prefix="xyntra-bench-") as folder:
        rows = [_row(job, options.timeout) for job in _jobs(options, Path(folder))]
    path = options.json or ROOT / "bench" / "results" / f"endurance-{slug(machine)}.json"
    write_json(path, {"machine": machine, "allowed_bytes": ALLOWED, "rows": rows})
    print(f"wrote {path}")
    return 0 if all(row.get("grown_bytes", ALLOWED + 1) <= ALLOWED for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.cpu.endurance", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of all repetitions (default 1)")
    parser.add_argument("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for a process")
    parser.add_argument("--json", type=Path, help="default: bench/results/endurance-….json")
    return parser


def _jobs(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    small = folder / "small.onnx"
    graph = Graph({"x": _SMALL})
    onnx.save(graph.model(graph.node("Softmax", graph.node("Exp", "x")), _SMALL), small)
    spec = REGISTRY[MODEL]
    files = {"small": (small, {}, 1), MODEL: (options.models / spec.filename, spec.shapes, 0)}
    model_file(spec, options.models, options.timeout)
    jobs = []
    for model, (path, shapes, is_small) in files.items():
        share = options.share if is_small else options.share / _MODEL_SHARE
        loads = options.share if is_small else options.share / 4
        counts = {"calls": _CALLS * share, "loads": _LOADS * loads, "threads": _THREADS * share}
        jobs += [
            {"what": what, "model": model, "path": str(path), "shapes": shapes,
             "threads": threads, "times": max(int(times), 1), "folder": str(folder)}
            for what, times in counts.items() for threads in (1, 2)
        ]  # fmt: skip
    return jobs


def _row(job: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    row = {name: job[name] for name in ("what", "model", "threads", "times")}
    try:
        row |= fresh("bench.cpu.endurance", job, timeout)
    except MeasureError as error:
        row["error"] = str(error)
    grown = f"{row['grown_bytes'] / 1024:.0f} KiB" if "grown_bytes" in row else row["error"]
    print(f"{row['times']} {row['what']} of {row['model']}, {row['threads']} threads: {grown}")
    return row


def _measure(job: Mapping[str, Any]) -> dict[str, Any]:
    import numpy as np

    import xyntra

    config = {"threads": job["threads"], "target": "cpu"}
    exe = xyntra.compile(job["path"], inputs=job["shapes"] or None, config=config)
    arrays = [np.ones(port.shape, port.dtype) for port in exe.inputs]
    saved = Path(job["folder"]) / "saved.xyn"
    exe.save(saved)
    actions: dict[str, Callable[[], object]] = {
        "calls": lambda: exe(*arrays),
        "loads": lambda: xyntra.load(saved)(*arrays),
        "threads": lambda: _in_a_thread(exe, arrays),
    }
    return _growth(actions[job["what"]], job["times"])


def _in_a_thread(exe: Callable[..., object], arrays: Sequence[object]) -> None:
    thread = threading.Thread(target=exe, args=arrays)
    thread.start()
    thread.join()


def _growth(action: Callable[[], object], times: int) -> dict[str, Any]:
    for _ in range(times // _WARMUP_SHARE + 1):
        action()
    before, start = resident_bytes(), time.perf_counter()
    for _ in range(times):
        action()
    seconds = time.perf_counter() - start
    grown = resident_bytes() - before
    return {"resident_bytes": before, "grown_bytes": grown, "seconds": seconds}


def resident_bytes() -> int:
    """The resident set of this process, in bytes, with Python's garbage collected."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.exit(main())
