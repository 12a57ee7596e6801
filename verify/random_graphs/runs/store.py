# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a case to `NAME.onnx` and `NAME.npz`, and reads it again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx

from verify.random_graphs.models.finish import Case
from verify.random_graphs.runs.packing import pack_arrays, unpack_arrays

__all__ = ["read_case", "write_case"]


def write_case(case: Case, path: Path) -> None:
    """Write the model to `path` and the inputs and settings beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case.model.SerializeToString())
    data = pack_arrays(case.inputs)
    np.savez_compressed(path.with_suffix(".npz"), settings=json.dumps(case.settings), **data)


def read_case(path: Path) -> Case:
    """What `write_case` wrote."""
    with np.load(path.with_suffix(".npz")) as data:
        arrays = unpack_arrays({name: data[name] for name in data.files})
        settings = json.loads(str(data["settings"]))
    return Case(onnx.load(str(path)), arrays, settings)
