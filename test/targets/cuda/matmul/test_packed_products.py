# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products with packed weights on GPUs, in the emulator: few rows read bytes, many do not."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import run_artifact
from onnx import TensorProto, helper, numpy_helper

import xyntra
from xyntra.passes.recognize.unpack_products import UnpackProducts

Array = np.ndarray
COLUMNS, STEPS, BLOCK = 37, 200, 32
BLOCKS = -(-STEPS // BLOCK)


def weight(bits: int, kind: str) -> tuple[dict[str, Array], Array]:
    """Initializers, and the weight [N, K] in float64."""
    rng = np.random.default_rng(bits)
    packed = rng.integers(0, 256, (COLUMNS, BLOCKS, BLOCK * bits // 8), np.uint8)
    scales = rng.uniform(0.5, 1.5, (COLUMNS, BLOCKS)).astype(kind) / np.array(2**bits, kind)
    zeros = rng.integers(0, 256, (COLUMNS, -(-BLOCKS * bits // 8)), np.uint8)

    def unpacked(array: Array) -> Array:
        return np.stack([array & 15, array >> 4], -1) if bits == 4 else array

    integers = unpacked(packed).reshape(COLUMNS, BLOCKS, BLOCK).astype(np.float64)
    points = unpacked(zeros).reshape(COLUMNS, -1)[:, :BLOCKS, None]
    values = (integers - points) * scales.astype(np.float64)[:, :, None]
    constants = {"w": packed, "s": scales.reshape(-1), "z": zeros.reshape(-1)}
    return constants, values.reshape(COLUMNS, -1)[:, :STEPS]


@pytest.mark.parametrize("rows", [1, 3, UnpackProducts.rows + 4])
@pytest.mark.parametrize(("bits", "kind"), [(4, "float16"), (8, "float32")])
def test_packed_products(rows: int, bits: int, kind: str) -> None:
    constants, matrix = weight(bits, kind)
    x = np.random.default_rng(1).standard_normal((rows, STEPS)).astype(kind)
    type_ = TensorProto.FLOAT16 if kind == "float16" else TensorProto.FLOAT
    sizes = {"K": STEPS, "N": COLUMNS, "bits": bits, "block_size": BLOCK}
    names = ["x", *constants]
    graph = helper.make_graph(
        [helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", **sizes)],
        "graph",
        [helper.make_tensor_value_info("x", type_, x.shape)],
        [helper.make_tensor_value_info("y", type_, (rows, COLUMNS))],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    (found,) = run_artifact(artifact, [x], constants)
    wanted = x.astype(np.float64) @ matrix.T
    size = np.abs(x.astype(np.float64)) @ np.abs(matrix).T
    bound = 2e-3 if kind == "float16" else 2e-6
    assert (np.abs(found - wanted) <= bound * size).all()
    at_load = sum(step.once for step in artifact.plan.steps)
    assert bool(at_load) == (bits == 4 or rows > UnpackProducts.rows)
