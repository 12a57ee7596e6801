# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile models again in one process: `python -m bench.compile.warm [MODEL.onnx …]`.

Each model gets a process of its own, which compiles it some times without a cache. The first time
pays for the start of the processes that compile, the later ones do not. The least of wall times and
the processor time of all processes go to bench/results as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness.measure import ROOT, fresh, write_json

__all__ = ["main"]

_PAUSE = 1.0
"""Seconds between compilations, in which what is kept loads the rest, and ends are noted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, or be one of its processes; returns 0."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0].startswith("{"):  # a job for one of its processes
        Path(given[1]).write_text(json.dumps(_measure(json.loads(given[0]))), encoding="utf-8")
        return 0
    return _command(_parser().parse_args(given))


def _parser() -> argparse.ArgumentParser:
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m bench.compile.warm", description=summary)
    text = "ONNX files, beside a model of ten nodes"
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL", help=text)
    parser.add_argument("--times", type=int, default=8, help="compilations of each (default 8)")
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds for a process")
    parser.add_argument("--json", type=Path, help="default: bench/results/warm-….json")
    return parser


def _command(options: argparse.Namespace) -> int:
    from bench.compile.twice import small_model
    from bench.harness.machine import describe, slug

    machine = describe()
    rows = {}
    with tempfile.TemporaryDirectory(prefix="xyntra-bench-") as folder:
        small = Path(folder) / "ten-nodes.onnx"
        small.write_bytes(small_model())
        for path in [small, *options.models]:
            job = {"path": str(path), "times": options.times}
            row = rows[path.stem] = fresh("bench.compile.warm", job, options.timeout)
            first, later = row["seconds"][0], min(row["seconds"][1:])
            spent = row["cpu_seconds"][0], min(row["cpu_seconds"][1:])
            print(
                f"{path.stem:32} first {first:6.3f} s, {spent[0]:6.3f} s of processor;"
                f" later, least {later:6.3f} s, {spent[1]:6.3f} s of processor"
            )
    path = options.json or ROOT / "bench" / "results" / f"warm-{slug(machine)}.json"
    write_json(path, {"machine": machine, "models": rows})
    print(f"wrote {path}")
    return 0


def _measure(job: dict[str, Any]) -> dict[str, list[float]]:
    import xyntra
    from bench.harness.processor_time import processor_seconds

    seconds, spent = [], []
    for _ in range(job["times"]):
        cpu, start = processor_seconds(), time.perf_counter()
        xyntra.compile(job["path"], target="cpu", config={"cache": False})
        seconds.append(time.perf_counter() - start)
        time.sleep(_PAUSE)  # the processes of a compilation have ended then, and are counted
        spent.append(processor_seconds() - cpu)
    return {"seconds": seconds, "cpu_seconds": spent}


if __name__ == "__main__":
    sys.exit(main())
