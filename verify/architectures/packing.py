# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes models in f16, their inputs and f32 references into one folder, small enough to carry.

Weights are replaced by seeds (`weightless`), and the reference is what onnxruntime computes in f32
with the weights that these give. Of large outputs, random places are kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from verify.architectures.children import ChildFailure, call
from verify.architectures.exporting import EXPORTERS, Entry, entry
from verify.architectures.half import widened
from verify.architectures.packed import FILLED, sampled
from verify.architectures.registry import Architecture
from verify.architectures.weightless import fill, strip

__all__ = ["pack"]

_LARGEST = 2e4
_SECONDS = 200.0


def pack(architectures: Sequence[Architecture], folder: Path) -> int:
    """Pack every architecture that has an export in f16; returns how many there are.

    One export is taken, by the first exporter that has one. Exports are made by a sweep with
    --half.
    """
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for architecture in architectures:
        found = [entry(architecture, name, half=True) for name in EXPORTERS]
        usable = [one for one in found if one.done and one.error is None]
        if not usable:
            continue
        try:
            size = call(_pack_one, usable[0], folder, architecture.name, seconds=_SECONDS)
        except ChildFailure as failure:
            print(f"{architecture.name:30} left out: {str(failure).splitlines()[-1]}", flush=True)
            continue
        count += 1
        print(f"{architecture.name:30} {size / 1e3:.0f} kB", flush=True)
    return count


def _pack_one(found: Entry, folder: Path, name: str) -> int:
    model = onnx.load(found.model)
    spreads = strip(model)
    small = model.SerializeToString()
    fill(model, spreads)
    inputs = found.inputs()
    wide = {
        key: value.astype(np.float32) if value.dtype == np.float16 else value
        for key, value in inputs.items()
    }
    reference = _run(widened(model), wide)
    rounded = _run_or_none(model, inputs)
    largest = max(float(np.abs(value).max()) for value in reference if value.dtype.kind == "f")
    if not np.isfinite(largest) or largest > _LARGEST:
        raise ValueError(f"the reference reaches {largest:.3g}, too much for f16")
    arrays = {f"input {key}": value for key, value in inputs.items()}
    noise = []
    for index, value in enumerate(reference):
        arrays[f"output {index}"] = sampled(value, index)
        noise.append(_noise(rounded[index], value) if rounded else 0.0)
    path = folder / f"{name}.npz"
    info = {"weights": spreads, "noise": noise, "shapes": [list(v.shape) for v in reference]}
    arrays[FILLED] = np.frombuffer(json.dumps(info).encode(), np.uint8)
    arrays["model"] = np.frombuffer(small, np.uint8)
    np.savez_compressed(path, **arrays)
    return path.stat().st_size


def _run(model: onnx.ModelProto, inputs: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [value.name for value in session.get_inputs()]
    return [np.asarray(v) for v in session.run(None, {name: inputs[name] for name in names})]


def _run_or_none(model: onnx.ModelProto, inputs: dict[str, Any]) -> Any:
    try:
        return _run(model, inputs)
    except Exception:  # onnxruntime has no f16 of some operators, such as sums by ScatterElements
        return None


def _noise(rounded: np.ndarray[Any, Any], reference: np.ndarray[Any, Any]) -> float:
    """What rounding to f16 costs onnxruntime, relative to the scale of the output."""
    if reference.dtype.kind != "f" or reference.size == 0:
        return 0.0
    scale = max(float(np.abs(reference).max()), 1e-30)
    return float(np.abs(rounded.astype(np.float64) - reference).max()) / scale
