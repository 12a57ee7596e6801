# SPDX-License-Identifier: MIT OR Apache-2.0
"""One model against onnxruntime: `python -m bench.compare_once JOB RESULT`."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped, unused-ignore]

import xyntra
from bench.accuracy import compare, worst
from bench.measure import interleaved
from bench.models import REGISTRY, ModelSpec


def main() -> None:
    """Compare outputs for `seeds` random inputs, then run times, as JOB says."""
    job = json.loads(sys.argv[1])
    Path(sys.argv[2]).write_text(json.dumps(_measure(job)), encoding="utf-8")


def _measure(job: dict[str, Any]) -> dict[str, Any]:
    spec = REGISTRY[job["model"]]
    exe = xyntra.compile(job["path"], inputs=job["shapes"] or None, config=job["config"])
    session = _session(job["path"], job["config"]["threads"])
    result = _accuracy(exe, session, spec, job["seeds"])
    return result | _speed(exe, session, spec, job)


def _session(path: str, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _reference(
    session: onnxruntime.InferenceSession, inputs: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def _accuracy(
    exe: Any, session: onnxruntime.InferenceSession, spec: ModelSpec, seeds: int
) -> dict[str, Any]:
    differences = []
    for seed in range(seeds):
        inputs = spec.random_inputs(seed)
        differences.append(compare(exe.run(inputs), _reference(session, inputs)))
    difference = worst(differences)
    return {
        "max_absolute_error": difference.absolute,
        "max_scaled_error": difference.scaled,
        "close": difference.close,
        "random_inputs": seeds,
    }


def _speed(
    exe: Any, session: onnxruntime.InferenceSession, spec: ModelSpec, job: dict[str, Any]
) -> dict[str, Any]:
    inputs = spec.random_inputs(seed=0)
    ours, theirs = interleaved(
        lambda: exe.run(inputs),
        lambda: session.run(None, inputs),
        seconds=job["seconds"],
        rounds=job["rounds"],
    )
    run, reference = statistics.median(ours), statistics.median(theirs)
    return {
        "run_seconds": run,
        "onnxruntime_seconds": reference,
        "ratio": run / reference,
        "rounds": len(ours),
    }


if __name__ == "__main__":
    main()
