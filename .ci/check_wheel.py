# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs README's example with an installed wheel: `python check_wheel.py README.md FOLDER`.

Run it with the Python of a clean environment, away from the checkout. The model is made here; the
lines for a GPU are left out where there is none.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper


def example(readme: str) -> str:
    """Return the first Python block, up to the lines for a GPU."""
    found = re.search(r"```python\n(.*?)```", readme, re.S)
    if found is None:
        raise ValueError("README has no Python block")
    return found[1].split("# The same on an NVIDIA GPU")[0]


def write_model(path: Path, weights: np.ndarray) -> None:
    """Write a matrix product and a softmax."""
    rows, columns = weights.shape
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Softmax", ["h"], ["y"]),
        ],
        "example",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, rows])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4, columns])],
        [numpy_helper.from_array(weights, "w")],
    )
    opset = helper.make_opsetid("", 20)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=10), path)


def main(arguments: list[str]) -> int:
    """Run the example in a folder and compare its result with numpy; returns 0."""
    readme, folder = Path(arguments[0]).read_text(encoding="utf-8"), Path(arguments[1])
    rng = np.random.default_rng(0)
    weights, x = (rng.standard_normal(shape).astype(np.float32) for shape in ((8, 5), (4, 8)))
    os.chdir(folder)
    write_model(Path("model.onnx"), weights)
    names: dict[str, object] = {"x": x}
    exec(compile(example(readme), "README.md", "exec"), names)  # noqa: S102  (our own README)
    powers = np.exp(x @ weights)
    np.testing.assert_allclose(names["y"], powers / powers.sum(1, keepdims=True), rtol=1e-5)
    import xyntra

    loaded = xyntra.load("model.xyn")
    np.testing.assert_array_equal(np.asarray(loaded(x)), np.asarray(names["y"]))
    print(f"README's example works: {xyntra.__file__}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
