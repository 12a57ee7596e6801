# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes random models to a machine that has neither ONNX nor a compiler: `--write`, `--read`.

`--write DIR --target cuda:sm_90a` compiles models here and stores each with its inputs, what is
expected and the tolerances; `--read DIR` loads and runs them, with numpy and xyntra alone. Models
without code (written with `--target cpu`) are compiled where they are read.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import struct
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from verify.random_graphs.compare import Expectation, difference
from verify.random_graphs.packing import pack_arrays, unpack_arrays

__all__ = ["read", "write"]

_FILE = "cases.xz"
_LENGTH = struct.Struct("<q")


def write(options: argparse.Namespace) -> int:
    """Draw and compile `--graphs` models and write those that agree on the CPU."""
    from verify.random_graphs.child import Child

    options.write.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    child = Child(options.seed, "cpu")
    with lzma.open(options.write / _FILE, "wb", preset=6) as file:
        for number in range(options.first, options.first + options.graphs):
            kind, record = child.prepared(number, options.target, options.limit)
            counts[kind] += 1
            if record:
                file.write(_LENGTH.pack(len(record)) + record)
            elif kind not in ("refused", "invalid", "agrees"):
                print(f"#{number} {kind}", flush=True)
    child.end()
    size = (options.write / _FILE).stat().st_size
    print(f"{dict(counts)}, {size / 1e6:.1f} MB")
    return 0


def record_of(number: int, case: Any, target: str) -> bytes:
    """One case as bytes: the model or its code, inputs, expectations.

    Raises:
        XyntraError: the model is not compiled for that target.
    """
    import tempfile

    from verify.random_graphs.check import compiled
    from verify.random_graphs.judge import Judge

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
        from verify.random_graphs.dtypes import native

        arrays[f"out {name}"] = native(each.value, each.elem)
        arrays[f"tol {name}"] = _exponents(each.tolerance)
        elems[name] = each.elem
    about = {"number": number, "elems": elems, "settings": case.settings}
    buffer = io.BytesIO()
    blobs = {
        "code": np.frombuffer(code, np.uint8),
        "model": np.frombuffer(case.model.SerializeToString() if not code else b"", np.uint8),
    }
    np.savez(buffer, about=np.array(json.dumps(about)), **blobs, **pack_arrays(arrays))
    return buffer.getvalue()


def _exponents(tolerance: np.ndarray) -> np.ndarray:
    """Tolerances as powers of two, rounded up; the largest number stands for anything goes."""
    with np.errstate(all="ignore"):
        exponent = np.ceil(np.log2(tolerance))
    exponent = np.where(tolerance == 0, -32768, np.clip(exponent, -1100, 1100))
    return np.where(np.isinf(tolerance), 32767, exponent).astype(np.int16)


def _tolerances(exponents: np.ndarray) -> np.ndarray:
    result = np.exp2(exponents.astype(np.float64))
    return np.where(exponents == -32768, 0, np.where(exponents == 32767, np.inf, result))


def _records(path: Path) -> Iterator[bytes]:
    with lzma.open(path, "rb") as file:
        while head := file.read(_LENGTH.size):
            yield file.read(_LENGTH.unpack(head)[0])


def read(options: argparse.Namespace) -> int:
    """Run what `write` has written; returns 1 if a result is wrong."""
    started, counts = time.perf_counter(), Counter[str]()
    for record in _records(options.read / _FILE):
        with np.load(io.BytesIO(record)) as data:
            fields = {name: data[name] for name in data.files}
        about = json.loads(str(fields["about"]))
        try:
            complaint = _complaint(fields, about, options.target)
        except Exception:
            complaint = traceback.format_exc(limit=-3)
        counts["wrong" if complaint else "agrees"] += 1
        if complaint:
            print(f"#{about['number']}: {complaint}", flush=True)
    print(f"{dict(counts)} in {time.perf_counter() - started:.0f} s")
    return 1 if counts["wrong"] else 0


def _complaint(fields: dict[str, np.ndarray], about: dict[str, Any], target: str) -> str:
    import tempfile

    import xyntra

    arrays = unpack_arrays(fields)
    inputs = {name[3:]: array for name, array in arrays.items() if name.startswith("in ")}
    if fields["code"].size:
        with tempfile.NamedTemporaryFile(suffix=".xyn") as file:
            file.write(fields["code"].tobytes())
            file.flush()
            executable = xyntra.load(file.name)
    else:
        settings = {"cache": False, "progress": False, **about["settings"]}
        model = fields["model"].tobytes()
        executable = xyntra.compile(model, target=target, inputs=inputs, config=settings)
    results = [
        {name: np.array(array) for name, array in executable.run(inputs).items()} for _ in range(2)
    ]
    for name, elem in about["elems"].items():
        found = results[0][name]
        if found.tobytes() != results[1][name].tobytes():
            return f"{name}: two runs differ"
        from verify.random_graphs.dtypes import wide

        value = wide(arrays[f"out {name}"])
        expected = Expectation(value, _tolerances(arrays[f"tol {name}"]), elem)
        text = difference(found, expected)
        if text:
            return f"{name}: {text}"
    return ""
