# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares what we say launches occupy with what the driver says: `python -m bench.cuda.occupancy`.

Names are those of `bench.cuda.models`. Registers come from ptxas on one side and from the loaded
code on the other; what a multiprocessor holds from our formula and from the driver.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json
from bench.kernel_times import compiled_network

__all__ = ["main"]

_COMPARED = ("registers", "shared", "spilled", "resident", "occupancy", "waves")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if both say the same of every launch."""
    parser = argparse.ArgumentParser(prog="python -m bench.cuda.occupancy", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=["bert-base b1 f16"])
    parser.add_argument("--json", type=Path, default=ROOT / "bench/results/cuda_occupancy.json")
    options = parser.parse_args(arguments)
    rows = []
    for name in options.models:
        executable = compiled_network(name, "cuda")
        ours = executable.launch_resources(predicted=True)
        theirs = executable.launch_resources()
        differing = [
            {"ours": asdict(own), "driver": asdict(other)}
            for own, other in zip(ours, theirs, strict=True)
            if any(getattr(own, field) != getattr(other, field) for field in _COMPARED)
        ]
        rows.append(_row(name, theirs, differing))
        print(f"{name}: {len(theirs)} launches, {len(differing)} differ", flush=True)
        for each in differing[:5]:
            print(f"  ours {each['ours']}\n  driver {each['driver']}")
    write_json(options.json, {"machine": describe(), "rows": rows})
    return int(any(row["differing"] for row in rows))


def _row(name: str, launches: Sequence[Any], differing: Sequence[Any]) -> dict[str, Any]:
    return {"model": name, "launches": [asdict(each) for each in launches], "differing": differing}


if __name__ == "__main__":
    sys.exit(main())
