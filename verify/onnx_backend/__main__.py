# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs ONNX's node tests by its own runner: `python -m verify.onnx_backend`.

    python -m verify.onnx_backend [--only SUBSTRING] [--json results.json] [--jobs 2]

Each test is right, refused (with a typed error about the model), disputed (`cases.DISPUTED` says
why), wrong, failed (another error) or crashed. The exit status is 1 where one is wrong, failed or
crashed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from bench.harness.machine import describe
from bench.harness.measure import write_json
from verify.onnx_backend.backends import BACKENDS
from verify.onnx_backend.cases import OUTCOMES, Outcome, judged, operators
from verify.onnx_backend.processes import run_all
from verify.onnx_backend.table import as_json, by_operator


def main() -> int:
    """Run the tests that are asked for; return 1 if one is not right and not refused."""
    parser = argparse.ArgumentParser(prog="python -m verify.onnx_backend", description=__doc__)
    parser.add_argument("--backend", choices=BACKENDS, default="xyntra")
    parser.add_argument("--only", default="", help="a part of the names of tests, or several: a,b")
    parser.add_argument("--json", type=Path, help="a file for the outcome of every test")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="print a table by operator")
    options = parser.parse_args()
    parts = options.only.split(",")
    names = [name for name in operators() if any(part in name for part in parts)]
    found: dict[str, Outcome] = {}
    machine = describe()

    def done(name: str, outcome: Outcome) -> None:
        outcome = judged(name, outcome)
        found[name] = outcome
        if outcome.what != "right":
            print(f"{outcome.what:8} {name}: {outcome.code} {outcome.why}".rstrip(), flush=True)

    run_all(BACKENDS[options.backend], names, options.jobs, done)
    if options.table:
        print(by_operator(found))
    counts = Counter(each.what for each in found.values())
    print(", ".join(f"{counts[what]} {what}" for what in OUTCOMES) + f" of {len(names)}")
    if options.json:
        write_json(options.json, {"machine": machine, "tests": as_json(found)})
    return 1 if counts["wrong"] or counts["failed"] or counts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
