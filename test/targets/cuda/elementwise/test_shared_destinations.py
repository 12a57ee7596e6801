# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results that are built on one another, or begin alike, in one kernel."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import run_artifact
from onnx import NodeProto, helper
from onnx_models import make_model

import xyntra

SHAPE = (3, 5)
X, Y, Z = (
    np.random.default_rng(seed).standard_normal(SHAPE, dtype=np.float32) for seed in (1, 2, 3)
)


def concat(inputs: str, output: str, axis: int) -> NodeProto:
    return helper.make_node("Concat", list(inputs), [output], axis=axis)


def joined(parts: str, axis: int) -> np.ndarray:
    return np.concatenate([{"x": X, "y": Y, "z": Z}[each] for each in parts], axis)


def check(nodes: list[NodeProto], expected: dict[str, np.ndarray], target: str) -> None:
    model = make_model(nodes, dict.fromkeys("xyz", SHAPE), list(expected))
    settings = {"isolate": False, "jobs": 1, "cache": False}
    exe = xyntra.compile(model, target=target, config=settings)
    assert len(exe.kernels) == 1
    found = exe(X, Y, Z) if target == "cpu" else run_artifact(exe.artifact, [X, Y, Z], {})
    for array, wanted in zip(found, expected.values(), strict=True):
        np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "parts", [["xy", "xz"], ["xyz", "xyx", "xzy"], ["xxx", "xxy"], ["xyz", "xy"], ["xy", "xyz"]]
)
def test_concatenations_that_begin_alike(parts: list[str], axis: int, target: str) -> None:
    nodes = [concat(each, f"o{i}", axis) for i, each in enumerate(parts)]
    check(nodes, {f"o{i}": joined(each, axis) for i, each in enumerate(parts)}, target)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a"])
def test_a_result_that_another_one_continues(target: str) -> None:
    """What is computed between them reads the first before it is continued."""
    nodes = [
        concat("xy", "a", 1),
        helper.make_node("Exp", ["a"], ["e"]),
        helper.make_node("Concat", ["x", "y", "z"], ["b"], axis=1),
        helper.make_node("Neg", ["b"], ["n"]),
    ]
    a, b = joined("xy", 1), joined("xyz", 1)
    model = make_model(nodes, dict.fromkeys("xyz", SHAPE), ["n", "b", "e", "a"])
    settings = {"isolate": False, "jobs": 1, "cache": False}
    exe = xyntra.compile(model, target=target, config=settings)
    found = exe(X, Y, Z) if target == "cpu" else run_artifact(exe.artifact, [X, Y, Z], {})
    for array, wanted in zip(found, [-b, b, np.exp(a.astype(float)), a], strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a"])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("operands", [["p", "c"], ["c", "p"], ["c", "p", "c"]])
def test_sums_of_products_within_a_concatenation(
    operands: list[str], dtype: type, target: str
) -> None:
    """What is copied beside the sums is nothing that follows them, though in the same memory."""
    rng = np.random.default_rng(4)
    shapes = {"a": (7, 6, 5, 9), "b": (9, 5, 6, 7), "c": (9, 5, 2)}
    arrays = {name: rng.integers(-9, 9, shape).astype(dtype) for name, shape in shapes.items()}
    equation = "abcd,dcba->dca"
    nodes = [
        helper.make_node("Einsum", ["a", "b"], ["p"], equation=equation),
        helper.make_node("Concat", operands, ["y"], axis=2),
    ]
    model = make_model(nodes, shapes, ["y"])
    for each in model.graph.input:
        each.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    settings = {"isolate": False, "jobs": 1, "cache": False}
    exe = xyntra.compile(model, target=target, config=settings)
    given = list(arrays.values())
    found = exe(*given) if target == "cpu" else run_artifact(exe.artifact, given, {})[0]
    parts = {"p": np.einsum(equation, *given[:2]), "c": arrays["c"]}
    np.testing.assert_array_equal(found, np.concatenate([parts[each] for each in operands], 2))
