# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products with weights that DequantizeLinear makes of int4 and uint4: numbers, and bytes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import xyntra

RNG = np.random.default_rng(4)


def weight(
    dtype: str, shape: tuple[int, int], axis: int, block: int, *, has_zero: bool
) -> tuple[list[onnx.TensorProto], np.ndarray]:
    """Integers, scales and, if wanted, zero points, and what they stand for in float64."""
    low, high = (0, 16) if dtype == "uint4" else (-8, 8)
    kind = np.dtype(getattr(ml_dtypes, dtype))
    integers = RNG.integers(low, high, shape)
    sizes = [-(-n // block) if block and d == axis else n for d, n in enumerate(shape)]
    if not block:
        sizes = [shape[axis]]
    scales = RNG.uniform(0.5, 1.5, sizes).astype(np.float32) / 30
    zeros = RNG.integers(low, high, sizes) if has_zero else np.zeros(sizes, int)

    def spread(array: np.ndarray) -> np.ndarray:
        if not block:
            return array[:, None] if axis == 0 else array
        return np.repeat(array, block, axis)[: shape[0], : shape[1]]

    stored = [
        numpy_helper.from_array(integers.astype(kind), "q"),
        numpy_helper.from_array(scales, "s"),
    ]
    if has_zero:
        stored.append(numpy_helper.from_array(zeros.astype(kind), "z"))
    return stored, (integers - spread(zeros)) * spread(scales).astype(np.float64)


def model(stored: list[onnx.TensorProto], x: np.ndarray, n: int, **how: int) -> onnx.ModelProto:
    is_turned = how.pop("turned", 0)
    names = [each.name for each in stored]
    nodes = [
        helper.make_node("DequantizeLinear", names, ["w"], name="weight", **how),
        helper.make_node("Gemm", ["x", "w"], ["y"], name="product", transB=is_turned),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "test",
        [info("x", TensorProto.FLOAT, x.shape)],
        [info("y", TensorProto.FLOAT, [x.shape[0], n])],
        stored,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("has_zero", [False, True])
@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize(("shape", "axis", "block"), [((96, 80), 0, 32), ((72, 150), 1, 64)])
def test_products_read_packed_integers(
    dtype: str, shape: tuple[int, int], axis: int, block: int, has_zero: bool
) -> None:
    stored, exact = weight(dtype, shape, axis, block, has_zero=has_zero)
    # Blocks lie along the steps: of [K, N] where the axis is 0, of [N, K] where it is 1.
    matrix = exact.T if axis else exact
    x = RNG.standard_normal((3, matrix.shape[0])).astype(np.float32)
    source = model(stored, x, matrix.shape[1], axis=axis, turned=axis, block_size=block)
    exe = xyntra.compile(source, target="cpu")
    np.testing.assert_allclose(exe(x), x @ matrix, rtol=1e-5, atol=1e-5)
    steps = [step for step in exe.plan.steps if not step.once]
    read = [exe.plan.buffers[each] for step in steps for each in step.inputs]
    largest = max(each.nbytes for each in read if each.kind in ("parameter", "prepared"))
    assert largest == matrix.shape[1] * -(-matrix.shape[0] // block) * block // 2
    assert all(exe.plan.kernels[step.kernel].prepared == 0 for step in steps)


@pytest.mark.parametrize(("axis", "block"), [(0, 24), (1, 16), (1, 0)])
def test_other_scales_are_applied_at_load(axis: int, block: int) -> None:
    stored, exact = weight("int4", (96, 48), axis, block, has_zero=True)
    x = RNG.standard_normal((3, 96)).astype(np.float32)
    how = {"block_size": block} if block else {}
    exe = xyntra.compile(model(stored, x, 48, axis=axis, **how), target="cpu")
    np.testing.assert_allclose(exe(x), x @ exact, rtol=1e-5, atol=1e-5)
