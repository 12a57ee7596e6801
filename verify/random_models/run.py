# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs many random models at the GPU, each in a process that it may end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from bench.harness.child_process import Child, ChildError
from verify.random_models.archive import Prepared
from verify.random_models.check import SAFETY, Finding, check_case

__all__ = ["check_all", "check_here", "gpu_machine", "sanitized", "summary"]

_SECONDS = 30.0
"""For one case, its machine code included."""
_SANITIZED_SECONDS = 60.0
_FEATURES = ("wgmma", "barrier.cluster", "cp.async.bulk", "mma.sync", "cp.async", "bar.sync", "")
"""Kernels with these in their code are sanitized, of each kind."""
_TOOLS = ("memcheck", "racecheck")


def check_all(prepared: Prepared, processes: int) -> list[Finding]:
    """Check every case, in `processes` processes that a failure of the GPU may end."""
    # The largest first, so that none is left alone with a long one at the end.
    names = sorted(prepared.cases, key=lambda name: -(prepared.folder / name).stat().st_size)
    waiting: SimpleQueue[str] = SimpleQueue()
    for name in names:
        waiting.put(name)
    # Threads of each process would only wait for each other.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with ThreadPoolExecutor(processes) as pool:
        lists = list(pool.map(lambda _: list(_findings(prepared, waiting)), range(processes)))
    return [finding for each in lists for finding in each]


def _findings(prepared: Prepared, waiting: SimpleQueue[str]) -> Iterator[Finding]:
    child: Child | None = None
    while True:
        try:
            name = waiting.get_nowait()
        except Empty:
            break
        message = prepared.cases[name], prepared.artifact(name)
        try:
            child = child or Child(_checker, {})
            finding = child.ask(message, _SECONDS)
        except ChildError as error:
            finding = Finding(name, f"{error.kind}: {error.detail[-600:]}")
            if child is not None:
                child.end()
            child = None  # the GPU may be lost to that process
        if finding.problem:
            print(f"{name} ({prepared.cases[name].label}): {finding.problem}", flush=True)
        yield finding
    if child is not None:
        child.end()


def _checker(_: Mapping[str, Any]) -> Callable[[Any], Finding]:
    return lambda message: check_case(*message)


def check_here(prepared: Prepared, name: str) -> Finding:
    """Check one case in this process."""
    return check_case(prepared.cases[name], prepared.artifact(name))


def summary(prepared: Prepared, findings: Sequence[Finding]) -> dict[str, Any]:
    """Counts and worst errors of every kind, and all failures with what repeats them."""
    kinds: dict[str, Any] = {}
    for finding in findings:
        kind = prepared.cases[finding.name].kind
        row = kinds.setdefault(kind, Counter())
        row.update(cases=1, failed=bool(finding.problem), elements=finding.elements)
        row.update(unknown=finding.unknown, launches=finding.launches)
        row["worst_error_in_bounds"] = max(row["worst_error_in_bounds"], finding.worst)
    return {
        "tolerated_bounds": SAFETY,
        "kinds": {kind: dict(row) for kind, row in sorted(kinds.items())},
        "refused": dict(prepared.refused),
        "failures": [
            {**asdict(finding), "label": prepared.cases[finding.name].label}
            for finding in findings
            if finding.problem
        ],
    }


def gpu_machine() -> dict[str, Any]:
    """The GPU and its driver."""
    from xyntra.targets.cuda.driver.device import cuda_device
    from xyntra.targets.cuda.driver.driver import checked, driver

    version = checked(driver().cuDriverGetVersion(), "asking for the driver's version")
    return {"gpu": cuda_device(0).name, "cuda_driver": f"{version // 1000}.{version % 1000 // 10}"}


def sanitized(prepared: Prepared, folder: Path) -> list[dict[str, Any]]:
    """Run the smallest case of every kind and feature under compute-sanitizer's tools."""
    program = _sanitizer()
    jobs = [(tool, kind, names) for kind, names in _sample(prepared).items() for tool in _TOOLS]

    def run(job: tuple[str, str, list[str]]) -> dict[str, Any]:
        tool, kind, names = job
        python = [sys.executable, "-m", "verify.random_models", "run", str(folder)]
        python += ["--only", *names]
        command = [program, "--tool", tool, "--print-limit", "3", *python]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=_SANITIZED_SECONDS
            )
            output, status = done.stdout + done.stderr, done.returncode
        except subprocess.TimeoutExpired as error:
            output, status = str(error), -1
        found = re.search(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)", output)
        row = {"kind": kind, "tool": tool, "cases": names}
        row["errors"] = int(found[1]) if found and not status else 1
        return row if not row["errors"] else {**row, "output": output[-2000:]}

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def _sample(prepared: Prepared) -> dict[str, list[str]]:
    found: dict[str, dict[str, str]] = {}
    size = {
        name: sum(step.op != "" for step in case.steps) + sum(_elements(case))
        for name, case in prepared.cases.items()
    }
    for name in sorted(size, key=lambda name: size[name]):
        kind, code = prepared.cases[name].kind, prepared.artifact(name)
        feature = next(each for each in _FEATURES if each.encode() in code)
        if size[name]:
            found.setdefault(kind, {}).setdefault(feature, name)
    return {kind: list(names.values()) for kind, names in found.items()}


def _elements(case: Any) -> list[int]:
    import math

    return [math.prod(leaf.shape) for leaf in case.leaves]


def _sanitizer() -> str:
    found = sorted(Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))
    return str(found[-1]) if found else "compute-sanitizer"
