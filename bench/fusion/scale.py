# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time fusion on synthetic graphs of growing size: `python -m bench.fusion.scale`.

Every pass between a frontend's output and kernel functions is timed on its own; the last one
includes verification. The e-graph is left out, as it is by its switch. The limit that a
graph of 50,000 operations must keep is 3 s for everything that is ours (recognition, fusion,
legality, outlining). Graphs repeat 50 blocks, as models repeat layers; the last one repeats none.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json

__all__ = ["PIPELINE", "main", "measure", "timed_passes"]

PIPELINE = ("prepare", "fuse", "kernels")
LEFT_OUT = frozenset({"simplify-expressions"})
SIZES = (1_000, 10_000, 50_000)
LIMIT_SECONDS = 3.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if the largest graph keeps the limit."""
    options = _parser().parse_args(arguments)
    machine = describe()
    rows = []
    for size, templates in [*((size, 50) for size in options.sizes), (options.sizes[-1], None)]:
        rows.append(best(size, templates, options.seed, options.rounds))
        print(_text(rows[-1]), flush=True)
    write_json(
        options.json or ROOT / f"bench/results/fusion_scale-{slug(machine)}.json",
        {"machine": machine, "limit_seconds": LIMIT_SECONDS, "seed": options.seed, "rows": rows},
    )
    slowest = max(row["ours_seconds"] for row in rows if row["templates"] is not None)
    return 0 if slowest <= LIMIT_SECONDS else 1


def best(size: int, templates: int | None, seed: int, rounds: int) -> dict[str, Any]:
    """The fastest of several measurements: other programs only ever add time."""
    rows = (measure(size, templates, seed) for _ in range(rounds))
    return min(rows, key=lambda row: row["ours_seconds"])


def measure(size: int, templates: int | None, seed: int) -> dict[str, Any]:
    """Build a graph of about `size` operations out of `templates` blocks and time every pass.

    Returns operations before, kernel launches after, seconds by pass (`passes`, in order), their
    sum over upstream passes and over ours.
    """
    from bench.fusion.synthetic import synthetic_module
    from xyntra.compiler.levels import count_operations
    from xyntra.dialects import make_context
    from xyntra.dialects.mlir import ir

    with make_context() as context, ir.Location.unknown():
        started = time.perf_counter()
        module = synthetic_module(size, seed, context, templates=templates)
        building = time.perf_counter() - started
        operations = count_operations(module.operation)
        times = timed_passes(module)
        launches = count_calls(module)
    return {
        "templates": templates,
        "operations": operations,
        "launches": launches,
        "build_seconds": building,
        **times,
        "microseconds_per_operation": times["ours_seconds"] / operations * 1e6,
    }


@dataclass
class Clock:
    """A hook that measures every pass: wall time, and processor time of this process."""

    passes: list[dict[str, Any]] = field(default_factory=list)
    _start: tuple[float, float] = (0.0, 0.0)

    def before(self, name: str, module: Any) -> None:
        """Start."""
        self._start = time.perf_counter(), time.process_time()

    def after(self, name: str, module: Any) -> None:
        """Stop."""
        wall, processor = self._start
        self.passes.append(
            {
                "name": name,
                "seconds": time.perf_counter() - wall,
                "cpu_seconds": time.process_time() - processor,
            }
        )

    def failed(self, name: str, module: Any) -> None:
        """Nothing is kept of a pass that failed."""

    def total(self, key: str, *, upstream: bool) -> float:
        """The sum over passes of upstream, or over ours."""
        return sum(e[key] for e in self.passes if is_upstream(e["name"]) == upstream)

    def summary(self) -> dict[str, Any]:
        """Every pass, and the sums."""
        return {
            "passes": self.passes,
            "ours_seconds": self.total("seconds", upstream=False),
            "ours_cpu_seconds": self.total("cpu_seconds", upstream=False),
            "upstream_seconds": self.total("seconds", upstream=True),
        }


def timed_passes(
    module: Any, pipeline: Sequence[str] = PIPELINE, *, left_out: frozenset[str] = LEFT_OUT
) -> dict[str, Any]:
    """Run `pipeline` on `module` as compiling does; seconds of every pass, in order, and sums.

    The elements of `pipeline` are names of pipelines or of passes. The last pass includes the one
    verification.
    """
    from xyntra.passes.manager import run_pipeline
    from xyntra.passes.pipelines import PIPELINES, expand

    clock = Clock()
    gc.collect()
    elements: list[str] = []
    for name in pipeline:
        elements += expand(name) if name in PIPELINES else (name,)
    kept = [element for element in elements if element.partition("{")[0] not in left_out]
    run_pipeline(module, kept, hooks=[clock], verify_each=False)
    return clock.summary()


def is_upstream(name: str) -> bool:
    """Whether the pass is not ours."""
    from xyntra.passes.registry import is_pass

    return not is_pass(name.partition("{")[0])


def count_calls(module: Any) -> int:
    """Kernel launches of all functions that are no kernels."""
    from xyntra.passes.analysis.functions import function_blocks

    return sum(
        view.operation.name == "func.call"
        for block in function_blocks(module.operation)
        for view in block.operations
    )


def _text(row: dict[str, Any]) -> str:
    blocks = row["templates"] or "no repeated"
    lines = [f"{row['operations']} operations, {blocks} blocks -> {row['launches']} launches"]
    lines += [f"{entry['seconds']:9.3f} s  {entry['name']}" for entry in row["passes"]]
    lines.append(
        f"{row['ours_seconds']:9.3f} s  ours in all, "
        f"{row['microseconds_per_operation']:.1f} us an operation; "
        f"{row['ours_cpu_seconds']:.3f} s of processor time; "
        f"{row['upstream_seconds']:.3f} s upstream"
    )
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.fusion.scale", description=__doc__)
    parser.add_argument("--sizes", type=json.loads, default=list(SIZES), help="a JSON list")
    parser.add_argument("--rounds", type=int, default=3, help="measurements (the best counts)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write the result")
    return parser


if __name__ == "__main__":
    sys.exit(main())
