# SPDX-License-Identifier: MIT OR Apache-2.0
"""One compilation in a process of its own: `python -m bench.compile.once JOB RESULT`.

Only the standard library is imported before the clock starts, so that the time of a compilation
includes everything that it makes Python import.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.harness.memory import peak_memory


def main() -> None:
    """Compile the model at `path` as JOB says, run it once if `model` names it, write the times."""
    job = json.loads(sys.argv[1])
    Path(sys.argv[2]).write_text(json.dumps(_measure(job)), encoding="utf-8")


def _measure(job: dict[str, Any]) -> dict[str, Any]:
    start = time.perf_counter()
    import xyntra

    exe = xyntra.compile(job["path"], inputs=job["shapes"] or None, config=job["config"])
    compiled = time.perf_counter()
    spent = _processor_seconds()
    memory = peak_memory()
    run = {"first_run_seconds": _first_run(exe, job["model"])} if "model" in job else {}
    return {
        "compile_seconds": compiled - start,
        "cpu_seconds": spent,
        **run,
        **_counts(exe),
        "compile_memory": memory,
        "memory": peak_memory(),
    }


def _processor_seconds() -> float:
    from bench.harness.processor_time import (
        processor_seconds,  # with psutil: not before the clock starts
    )

    return processor_seconds()


def _first_run(exe: Any, model: str) -> float:
    from bench.models import REGISTRY

    inputs = REGISTRY[model].random_inputs(seed=0)
    start = time.perf_counter()
    exe.run(inputs)
    return time.perf_counter() - start


def _counts(exe: Any) -> dict[str, int]:
    kernels, at_load = exe.kernels, exe.kernels_at_load
    return {
        "operations": exe.plan.operations,
        "kernels": len(kernels),
        "kernels_at_load": len(at_load),
        "distinct_kernels": len({kernel.name for kernel in [*kernels, *at_load]}),
    }


if __name__ == "__main__":
    main()
