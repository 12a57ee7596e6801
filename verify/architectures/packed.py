# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles, runs and times packed models.

Needs numpy, onnx and xyntra alone, so that it runs where the model libraries are not.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["FILLED", "run_packed", "sampled"]

FILLED = "description"
_MOST = 4096
_TOLERANCE = 1e-2
_NOISE = 4.0
"""Allowed errors, in multiples of what rounding to f16 costs onnxruntime."""


def sampled(array: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    """The array, flat, or as many random elements of it as are kept."""
    flat = array.reshape(-1)
    if flat.size <= _MOST:
        return flat
    places = np.random.Generator(np.random.PCG64(seed)).integers(0, flat.size, _MOST)
    return np.concatenate([flat[places], [flat[np.abs(flat).argmax()]]])


def run_packed(folder: Path, target: str, *, timed: bool = True) -> list[dict[str, Any]]:
    """Return a row for every packed model, and print each as it comes."""
    rows = []
    for path in sorted(folder.glob("*.npz")):
        row = {"name": path.stem, **_attempt(path, target, timed)}
        rows.append(row)
        print(" ".join(f"{key}={value}" for key, value in row.items()), flush=True)
    return rows


def _attempt(path: Path, target: str, timed: bool) -> dict[str, Any]:
    import onnx

    import xyntra
    from verify.architectures.weightless import fill
    from xyntra.errors import UnsupportedError, XyntraError

    with np.load(path) as file:
        arrays = dict(file)
    info = json.loads(arrays.pop(FILLED).tobytes())
    model = onnx.load_from_string(arrays.pop("model").tobytes())
    fill(model, info["weights"])
    inputs = {key[6:]: value for key, value in arrays.items() if key.startswith("input ")}
    start = time.perf_counter()
    try:
        executable = xyntra.compile(model, target=target, config={"strict": True})
        compiled = time.perf_counter() - start
        found = executable.run({port.name: inputs[port.name] for port in executable.inputs})
    except XyntraError as error:
        status = "refused" if isinstance(error, UnsupportedError) else "failed"
        return {"status": status, "code": error.code, "message": str(error)[:500]}
    row: dict[str, Any] = {"compile_seconds": round(compiled, 2), "status": "ok"}
    row["kernels"] = len(executable.kernels)
    error, allowed = 0.0, _TOLERANCE
    for index, port in enumerate(executable.outputs):
        ours, theirs = np.asarray(found[port.name]), arrays[f"output {index}"]
        if list(ours.shape) != info["shapes"][index]:
            return row | {"status": "wrong", "message": f"output {index} has shape {ours.shape}"}
        error = max(error, _distance(ours, theirs, index))
        allowed = max(allowed, _NOISE * info["noise"][index])
    row |= {"error": float(f"{error:.2e}"), "noise": float(f"{max(info['noise']):.2e}")}
    if not error <= allowed:
        row["status"] = "wrong"
    if timed:
        values = [inputs[port.name] for port in executable.inputs]
        row["run_seconds"] = _median_time(lambda: executable(*values))
    return row


def _distance(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], seed: int) -> float:
    flat = ours.reshape(-1)
    if flat.size > _MOST:
        places = np.random.Generator(np.random.PCG64(seed)).integers(0, flat.size, _MOST)
        flat, scale = flat[places], float(abs(theirs[-1]))
        theirs = theirs[:-1]
    else:
        scale = float(np.abs(theirs).max()) if theirs.size else 0.0
    if theirs.dtype.kind != "f":
        return float((flat != theirs).mean()) if theirs.size else 0.0
    difference = np.abs(flat.astype(np.float64) - theirs)
    worst = float(difference.max()) if theirs.size else 0.0
    return float("inf") if np.isnan(worst) else worst / max(scale, 1e-30)


def _median_time(call: Any) -> float:
    call()
    times = []
    end = time.perf_counter() + 0.3
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))
