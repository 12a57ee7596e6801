# SPDX-License-Identifier: MIT OR Apache-2.0
"""One model as bytes, with its inputs and what is expected, for a machine without ONNX."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import numpy as np

from verify.random_graphs.dtypes import native
from verify.random_graphs.models.finish import Case
from verify.random_graphs.reference.judge import Judge
from verify.random_graphs.runs.check import compiled
from verify.random_graphs.runs.packing import pack_arrays, tolerance_exponents

__all__ = ["record_of"]


def record_of(number: int, case: Case, target: str) -> bytes:
    """One case as bytes: the model or its code, inputs, expectations.

    Raises:
        XyntraError: the model is not compiled for that target.
    """
    code = b""
    if target != "cpu":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.xyn"
            compiled(case, target).save(path)
            code = path.read_bytes()
    judge = Judge(case.model, case.inputs)
    judge.look_closely()
    expected = judge.expectations()
    arrays = {f"in {name}": array for name, array in case.inputs.items()}
    elems = {}
    for name, each in expected.items():
        arrays[f"out {name}"] = native(each.value, each.elem)
        arrays[f"tol {name}"] = tolerance_exponents(each.tolerance)
        elems[name] = each.elem
    about = {"number": number, "elems": elems, "settings": case.settings}
    buffer = io.BytesIO()
    blobs = {
        "code": np.frombuffer(code, np.uint8),
        "model": np.frombuffer(case.model.SerializeToString() if not code else b"", np.uint8),
    }
    np.savez(buffer, about=np.array(json.dumps(about)), **blobs, **pack_arrays(arrays))
    return buffer.getvalue()
