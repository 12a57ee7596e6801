# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two compilations of a small model in one process: `python -m bench.compile.twice JOB RESULT`.

Only the standard library is imported before the clock starts. The model is compiled in the calling
process, without a cache.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

__all__ = ["PHASES", "small_model"]

PHASES = ("import xyntra", "first compile", "second compile")
_WIDTH, _INNER, _CLASSES, _ROWS = 64, 128, 32, 8


def main() -> None:
    """Go through the phases with the model at `path` of JOB, and write their times."""
    job = json.loads(sys.argv[1])
    Path(sys.argv[2]).write_text(json.dumps(_measure(job["path"])), encoding="utf-8")


def _measure(path: str) -> dict[str, dict[str, float]]:
    times = [_now()]
    import xyntra

    times.append(_now())
    for _ in range(2):
        xyntra.compile(path, target="cpu", config={"isolate": False, "cache": False})
        times.append(_now())
    spent = [
        {"seconds": wall - start, "cpu_seconds": cpu - cpu_start}
        for (start, cpu_start), (wall, cpu) in pairwise(times)
    ]
    return dict(zip(PHASES, spent, strict=True))


def _now() -> tuple[float, float]:
    # Of this process alone: those that compile kernels are not counted.
    return time.perf_counter(), time.process_time()


def small_model() -> bytes:
    """Return an ONNX model of ten nodes: products, a norm, a softmax and what is between them."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> Any:
        values = 0.1 * generator.standard_normal(shape)
        return numpy_helper.from_array(values.astype(np.float32), name)

    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        helper.make_node("Add", ["a", "b1"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "w2"], ["d"]),
        helper.make_node("Add", ["d", "x"], ["e"]),
        helper.make_node("LayerNormalization", ["e", "scale", "shift"], ["f"], axis=-1),
        helper.make_node("MatMul", ["f", "w3"], ["g"]),
        helper.make_node("Softmax", ["g"], ["h"], axis=-1),
        helper.make_node("Mul", ["h", "g"], ["i"]),
        helper.make_node("Tanh", ["i"], ["y"]),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [_ROWS, _WIDTH])
    wanted = helper.make_tensor_value_info("y", TensorProto.FLOAT, [_ROWS, _CLASSES])
    weights = [
        weight("w1", _WIDTH, _INNER),
        weight("b1", _INNER),
        weight("w2", _INNER, _WIDTH),
        weight("scale", _WIDTH),
        weight("shift", _WIDTH),
        weight("w3", _WIDTH, _CLASSES),
    ]
    graph = helper.make_graph(nodes, "small", [given], [wanted], weights)
    opsets = [helper.make_opsetid("", 20)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    return data


if __name__ == "__main__":
    main()
