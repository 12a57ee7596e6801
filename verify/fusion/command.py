# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fuse random graphs and compare: `python -m verify.fusion --graphs 10000 --seed 0`.

Each graph is compiled fused and unfused, both run, and both are compared with numpy in float64
within error bounds that are computed with the values (see `fusion_values`); integers and booleans
must be exact. Every region is checked, and the order of the regions rebuilt. Graphs run in a child
process, which a defect may end. The result is JSON. What is found is made small and written as
MLIR with its inputs to the folder --keep; `--seed SEED --only NUMBER` repeats one graph. With
`--target webgpu`, the fused graph runs on the CPU and there, and the results are compared likewise.
`--first NUMBER` begins there: `python -m verify.fusion.join` makes one record of such parts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Empty, Queue
from random import Random
from typing import TYPE_CHECKING, Any

from bench.harness.child_process import Child, ChildError
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json

if TYPE_CHECKING:
    from verify.fusion.check import Checker
    from verify.fusion.graphs import Graph

__all__ = ["Report", "main", "random_graph", "run_graph"]

_GOOD = ("ok", "refused")
_LARGEST = 14
_RECYCLE = 500
"""Graphs after which a fresh child goes on, so that memory stays bounded."""
_NEIGHBOURS = 250
_OPTIMISED = 8
"""One graph of so many is compiled as users compile: LLVM's vectoriser trusts what we promise."""
_POLL_SECONDS = 1.0
_LIMIT_SECONDS = 120.0


@dataclass(frozen=True)
class Report:
    """What became of one graph; `kind` is "ok", "refused" by the target, or what is wrong."""

    number: int
    kind: str
    message: str = ""
    operations: Mapping[str, int] = field(default_factory=dict)
    dtypes: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if nothing was found."""
    options = _parser().parse_args(arguments)
    machine = describe()
    started = time.perf_counter()
    numbers = range(options.first, options.first + options.graphs)
    if options.only is not None:
        numbers = [options.only]
    reports = []
    for report in _reports(options, numbers):
        reports.append(report)
        if report.kind not in _GOOD:
            print(f"{report.number}: {report.kind}: {report.message}", flush=True)
        if len(reports) % 500 == 0:
            print(f"{len(reports)} graphs, {time.perf_counter() - started:.0f} s", flush=True)
    result = {"machine": machine, "seed": options.seed, "target": options.target}
    result["first"] = options.first
    result |= summary(reports)
    result["seconds"] = time.perf_counter() - started
    if options.only is None:
        target = "" if options.target == "cpu" else f"_{options.target}"
        path = ROOT / f"bench/results/fuzz_fusion{target}-{slug(machine)}.json"
        write_json(options.json or path, result)
    print(json.dumps(result["found"], indent=2))
    return 1 if result["problems"] else 0


def summary(reports: Sequence[Report]) -> dict[str, Any]:
    """Counts over all graphs, and every graph with which something was wrong."""
    operations: Counter[str] = Counter()
    dtypes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for report in reports:
        operations.update(report.operations)
        dtypes.update(report.dtypes)
        counts.update(report.counts)
    kinds = Counter(report.kind for report in reports)
    found = {kind: kinds[kind] for kind in ("mismatch", "illegal", "cycle", "error", "crash")}
    return {
        "graphs": len(reports),
        "refused": kinds["refused"],
        "found": found,
        "counts": dict(counts),
        "operations": dict(operations.most_common()),
        "dtypes": dict(dtypes.most_common()),
        "problems": [
            asdict(report)
            for report in sorted(reports, key=lambda report: report.number)
            if report.kind not in _GOOD
        ],
    }


def random_graph(seed: int, number: int) -> Graph:
    """Graph `number` of the run with `seed`."""
    from verify.fusion.maker import SIZES
    from verify.fusion.random import generate

    # Neighbours share a few sizes: then many of their unfused kernels are equal, and are compiled
    # once.
    sizes = Random(f"{seed}:sizes:{number // _NEIGHBOURS}").sample(SIZES, 3)
    random = Random(f"{seed}:{number}")
    return generate(random, random.randint(2, _LARGEST), sizes)


def run_graph(checker: Checker, graph: Graph, number: int, keep: Path | None) -> Report:
    """Check a graph; what is found is made small and written to the folder `keep`."""
    from verify.fusion.check import failure

    started = time.perf_counter()
    checker.opt_level = 2 if number % _OPTIMISED == 0 else 0
    found, outcome = failure(checker, graph)
    data = [node.data.dtype.name for node in graph.nodes if node.data is not None]
    operations = Counter(node.op for node in graph.nodes)
    counts = asdict(outcome) if outcome is not None else {}
    kind, message = found or ("ok", "")
    if kind not in _GOOD and keep is not None:
        _keep(checker, graph, number, kind, keep)
    seconds = time.perf_counter() - started
    dtypes = dict(Counter(data))
    return Report(number, kind, message, dict(operations), dtypes, counts, seconds)


def _keep(checker: Checker, graph: Graph, number: int, kind: str, folder: Path) -> None:
    from verify.fusion.check import failure
    from verify.fusion.shrink import shrink, write_reproducer

    def fails(candidate: Graph) -> bool:
        found, _ = failure(checker, candidate)
        return found is not None and found[0] == kind

    small = shrink(graph, fails)
    found, _ = failure(checker, small)
    message = found[1] if found else "does not repeat"
    write_reproducer(folder, f"{kind}-{number}", small, message, checker.context)


def _reports(options: argparse.Namespace, numbers: Sequence[int]) -> Iterator[Report]:
    keep = str(options.keep) if options.keep else ""
    job = {"seed": options.seed, "keep": keep, "target": options.target}
    blocks = [numbers[at : at + _RECYCLE] for at in range(0, len(numbers), _RECYCLE)]
    answers: Queue[Report] = Queue()

    def work(block: Sequence[int]) -> None:
        for report in _run_block(job, block):
            answers.put(report)

    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(work, block) for block in blocks]
        for _ in numbers:
            yield _next(answers, waiting)


def _next(answers: Queue[Report], waiting: Sequence[Future[None]]) -> Report:
    while True:
        try:
            return answers.get(timeout=_POLL_SECONDS)
        except Empty:
            for future in waiting:
                if future.done():
                    future.result()


def _run_block(job: Mapping[str, Any], numbers: Sequence[int]) -> Iterator[Report]:
    """The reports on some graphs, from one child, or a new one after a crash."""
    child: Child | None = None
    for number in numbers:
        child = child or Child(_checker, job)
        try:
            yield child.ask(number, _LIMIT_SECONDS)
        except ChildError as error:
            child.end()
            child = None
            yield Report(number, "crash", error.detail)
    if child is not None:
        child.end()


def _checker(job: Mapping[str, Any]) -> Callable[[int], Report]:
    """What compiles, runs and compares graphs, given by number."""
    from verify.fusion.check import Checker
    from xyntra.dialects import make_context

    checker = Checker(make_context(), job["target"])
    keep = Path(job["keep"]) if job["keep"] else None
    return lambda number: run_graph(checker, random_graph(job["seed"], number), number, keep)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verify.fusion", description=__doc__)
    parser.add_argument("--graphs", type=int, default=10_000, help="how many (default 10000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default 0)")
    parser.add_argument("--seed", type=int, default=0, help="default 0")
    parser.add_argument("--target", choices=("cpu", "webgpu"), default="cpu", help="default: cpu")
    parser.add_argument("--jobs", type=int, default=1, help="child processes (default 1)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="repeat one graph")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what is found here")
    parser.add_argument("--json", type=Path, help="where to write the result")
    return parser
