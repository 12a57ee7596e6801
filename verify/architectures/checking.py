# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles one export and compares it with onnxruntime and torch.

The functions here are called in a process of their own (`children.call`).
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from verify.architectures.comparison import TOLERANCE, distance, mismatch
from verify.architectures.exporting import Entry

__all__ = ["check", "check_half", "compile_only", "reference"]

Array = np.ndarray[Any, Any]
_SENSITIVE = 10.0
"""Allowed errors, in multiples of what a change of the inputs by 1e-6 does to onnxruntime."""
_SPREAD, _LARGEST_SPREAD = 2.0, 1e-3
"""Allowed errors, in multiples of the distance between onnxruntime and torch, up to a limit."""
_HALF_TOLERANCE = 3e-2
_LONGEST = 600


def check(
    entry: Entry, config: dict[str, object], theirs: dict[str, Any], timed: bool
) -> dict[str, Any]:
    """Compile and run one export.

    Args:
        entry: the export.
        config: settings of Xyntra.
        theirs: what `reference` returned.
        timed: measure calls, too.

    Returns:
        `status` ("ok", "refused", "failed" or "wrong") and what belongs to it.
    """
    row, executable = _compiled(entry.model, config)
    if executable is None:
        return row
    inputs, outputs = _run(executable, entry)
    row |= _judged(outputs, theirs["outputs"], entry.outputs(), theirs.get("sensitivity", 0.0))
    if timed:
        arrays = list(inputs.values())
        row["run_seconds"] = _median_time(lambda: executable(*arrays))
    return row


def check_half(entry: Entry, config: dict[str, object]) -> dict[str, Any]:
    """Compile and run an export in f16, and compare it with what torch computes in f32."""
    row, executable = _compiled(entry.model, config)
    if executable is None:
        return row
    _, outputs = _run(executable, entry)
    wide = [v.astype(np.float32) if v.dtype == np.float16 else v for v in outputs]
    error = distance(wide, entry.outputs())
    row["torch_error"] = _finite(error)
    if error <= _HALF_TOLERANCE:
        return row
    said = mismatch(wide, entry.outputs())
    return row | {"status": "wrong", "message": said or f"error {error:.3g}"}


def compile_only(path: Path, config: dict[str, object]) -> dict[str, Any]:
    """Compile a model and run nothing."""
    return _compiled(path, config)[0]


def reference(entry: Entry, timed: bool) -> dict[str, Any]:
    """What onnxruntime computes on one thread.

    Returns:
        `outputs`, or None with `error`; `sensitivity`, the distance that a relative change of the
        inputs by 1e-6 makes; and `run_seconds` if `timed`.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            str(entry.model), options, providers=["CPUExecutionProvider"]
        )
        names = [value.name for value in session.get_inputs()]
        feeds = {name: value for name, value in entry.inputs().items() if name in names}
        outputs = [np.asarray(value) for value in session.run(None, feeds)]
    except Exception as error:
        return {"outputs": None, "error": str(error)[:_LONGEST]}
    moved = {name: _moved(value) for name, value in feeds.items()}
    found: dict[str, Any] = {
        "outputs": outputs,
        "sensitivity": distance(session.run(None, moved), outputs),
    }
    if timed:
        found["run_seconds"] = _median_time(lambda: session.run(None, feeds))
    return found


def _compiled(path: Path, config: dict[str, object]) -> tuple[dict[str, Any], Any]:
    import xyntra
    from xyntra.errors import UnsupportedError, XyntraError

    start = time.perf_counter()
    try:
        executable = xyntra.compile(str(path), config={**config, "strict": True})
    except XyntraError as error:
        status = "refused" if isinstance(error, UnsupportedError) else "failed"
        said = {name: str(text)[:_LONGEST] for name, text in error.to_dict().items() if text}
        return {"status": status, **said, "compile_seconds": time.perf_counter() - start}, None
    row = {
        "compile_seconds": time.perf_counter() - start,
        "operations": executable.plan.operations,
        "kernels": len(executable.kernels),
        "status": "ok",
    }
    return row, executable


def _run(executable: Any, entry: Entry) -> tuple[dict[str, Array], list[Array]]:
    """The inputs by name, and the outputs in order."""
    known = entry.inputs()
    inputs = {port.name: known[port.name] for port in executable.inputs}
    found = executable.run(inputs)
    return inputs, [np.array(found[port.name]) for port in executable.outputs]


def _judged(
    outputs: list[Array],
    runtime: list[Array] | None,
    torch: list[Array],
    sensitivity: float,
) -> dict[str, Any]:
    """The errors against both references, and the verdict."""
    row: dict[str, Any] = {"torch_error": _finite(distance(outputs, torch))}
    errors, spread = [distance(outputs, torch)], 0.0
    if runtime is not None:
        row["error"] = _finite(distance(outputs, runtime))
        row["runtime_torch_error"] = _finite(distance(runtime, torch))
        errors.append(distance(outputs, runtime))
        spread = min(_SPREAD * distance(runtime, torch), _LARGEST_SPREAD)
    row["sensitivity"] = sensitivity
    allowed = max(TOLERANCE, _SENSITIVE * sensitivity, spread)
    # One of two references is enough where they contradict each other.
    if min(errors) <= allowed:
        return row
    said = mismatch(outputs, runtime if runtime is not None else torch)
    return row | {"status": "wrong", "message": said or f"error {min(errors):.3g}"}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _moved(value: Array) -> Array:
    if value.dtype.kind != "f":
        return value
    noise = np.random.default_rng(1).uniform(-1, 1, value.shape)
    return (value * (1 + 1e-6 * noise)).astype(value.dtype)


def _median_time(call: Any) -> float:
    call()
    times = []
    end = time.perf_counter() + 0.5
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))
