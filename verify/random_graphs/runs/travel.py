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

from verify.random_graphs.reference.compare import Expectation, difference
from verify.random_graphs.runs.packing import tolerances, unpack_arrays

__all__ = ["read", "write"]

_FILE = "cases.xz"
_LENGTH = struct.Struct("<q")


def write(options: argparse.Namespace) -> int:
    """Draw and compile `--graphs` models and write those that agree on the CPU."""
    from verify.random_graphs.runs.child import Child  # needs ONNX, which `read` does without

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
        expected = Expectation(value, tolerances(arrays[f"tol {name}"]), elem)
        text = difference(found, expected)
        if text:
            return f"{name}: {text}"
    return ""
