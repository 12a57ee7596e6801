# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells whether memory grows with calls of random sizes: `python -m verify.free_sizes.memory`.

Random graphs with free dimensions are compiled once each and called at sizes that are drawn anew
every time. The resident set is read after a tenth of the calls, which include the largest sizes,
and at the end. The exit status is 1 where it has grown.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import xyntra
from bench.cpu.endurance import ALLOWED, resident_bytes
from bench.harness.machine import describe
from bench.harness.measure import write_json
from verify.free_sizes.graphs import RANGES, Graph, random_graph
from xyntra.errors import UnsupportedError

__all__ = ["grown", "main"]

_SHARE_AHEAD = 10


def main() -> int:
    """Print a line for each graph."""
    parser = argparse.ArgumentParser(prog="python -m verify.free_sizes.memory", description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000, help="of all graphs together")
    parser.add_argument("--graphs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0, help="of the first graph")
    parser.add_argument("--json", type=Path, help="write what was measured")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    seed = options.seed
    while len(rows) < options.graphs:
        try:
            row = grown(random_graph(seed), options.calls // options.graphs, seed)
        except UnsupportedError:
            seed += 1
            continue
        rows.append({"seed": seed, **row})
        print(", ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
        if options.json is not None:
            held = {"machine": describe(), "allowed_bytes": ALLOWED, "rows": rows}
            write_json(options.json, held)
        seed += 1
    return int(any(row["grown_bytes"] > ALLOWED for row in rows))


def grown(graph: Graph, calls: int, seed: int) -> dict[str, Any]:
    """Return by how many bytes the process has grown in calls of a graph.

    Raises:
        UnsupportedError: the graph is not compiled for all sizes.
    """
    names = {axis for shape in graph.inputs.values() for axis in shape if isinstance(axis, str)}
    dims = {name: RANGES[name] for name in sorted(names)}
    exe = xyntra.compile(graph.model, target="cpu", dims=dims, config={"cache": False})
    random, seen = Random(seed), set[tuple[int, ...]]()

    def call(sizes: Mapping[str, int]) -> None:
        seen.add(tuple(sizes.values()))
        shapes = {
            name: [sizes[axis] if isinstance(axis, str) else axis for axis in shape]
            for name, shape in graph.inputs.items()
        }
        exe.run({name: np.ones(shape, np.float32) for name, shape in shapes.items()})

    def drawn() -> dict[str, int]:
        return {name: random.choice(sizes) for name, sizes in dims.items()}

    call({name: sizes[-1] for name, sizes in dims.items()})
    for _ in range(calls // _SHARE_AHEAD):
        call(drawn())
    before, start = _resident_bytes(), time.perf_counter()
    for _ in range(calls):
        call(drawn())
    seconds = time.perf_counter() - start
    after = _resident_bytes()
    facts = {"calls": calls, "combinations": len(seen), "seconds": round(seconds, 1)}
    return {**facts, "resident_bytes": before, "grown_bytes": after - before}


def _resident_bytes() -> int:
    """The resident set, without what the allocator holds for later."""
    ctypes.CDLL(None).malloc_trim(0)
    return resident_bytes()


if __name__ == "__main__":
    sys.exit(main())
