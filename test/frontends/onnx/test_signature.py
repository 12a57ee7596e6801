# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nodes are held to their operator's schema."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper
from refusals import check_invalid

import xyntra
from xyntra.errors import ModelError
from xyntra.frontends.onnx.signature import check_signature

X = np.ones((2, 3), np.float32)


def test_arity() -> None:
    check_invalid("Neg", {"x": X, "y": X}, "2 inputs, the operator takes 1")
    check_invalid("Clip", {"x": X}, "0 inputs, the operator takes 1 to 3", names=[])
    check_invalid("Neg", {"x": X}, "2 outputs, the operator has 1", outputs=2)
    check_invalid("Add", {"x": X}, "input 'A' is missing", names=["", "x"])


def test_types() -> None:
    check_invalid("Sqrt", {"x": X.astype(np.int64)}, "input 'X' cannot be int64")
    check_invalid("Concat", {"x": X, "y": X.astype(np.float64)}, "float64 where another", axis=0)
    check_invalid("Gather", {"x": X, "i": X}, "cannot be float32")


def test_attributes() -> None:
    check_invalid("Neg", {"x": X}, "no attribute 'axis'", axis=1)
    check_invalid("Concat", {"x": X}, "attribute 'axis' is missing")
    check_invalid("Concat", {"x": X}, "'axis' has the wrong type", axis="one")


@pytest.mark.parametrize(
    ("op_type", "dtypes", "attributes"),
    [
        ("Where", ["bool", "float32", "float32"], {}),
        ("Clip", ["float32", None, "float32"], {}),
        (
            "Loop",
            ["int64", "bool", "float32", "int8", "bool"],
            {"body": helper.make_graph([], "b", [], [])},
        ),
        ("Sum", ["float64"] * 7, {}),
        ("NoSuchOperator", ["float32", "int8"], {"anything": 1}),
    ],
)
def test_valid_nodes(op_type: str, dtypes: list[str | None], attributes: dict[str, object]) -> None:
    names = ["" if dtype is None else f"x{n}" for n, dtype in enumerate(dtypes)]
    node = helper.make_node(op_type, names, ["y"], **attributes)
    check_signature(node, "", 20, dtypes, "it")


def test_the_version_matters() -> None:
    node = helper.make_node("Max", ["a", "b"], ["y"])
    check_signature(node, "", 13, ["int32", "int32"], "it")
    with pytest.raises(ModelError, match="cannot be int32") as caught:
        check_signature(node, "", 8, ["int32", "int32"], "it")
    assert caught.value.place == "node 'it'"


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes", "reference"),
    [
        ("Elu", [(3, 5)], {}, lambda x: np.where(x < 0, np.expm1(x), x)),
        ("Sin", [(3, 5)], {}, np.sin),
        ("MaxPool", [(1, 2, 7)], {"kernel_shape": [7]}, lambda x: x.max(-1, keepdims=True)),
        (
            "Conv",
            [(2, 3, 9), (4, 3, 9)],
            {},
            lambda x, w: np.einsum("ncl,kcl->nk", x, w)[..., None],
        ),
    ],
)
def test_bfloat16_before_schemas_had_it(
    op_type: str,
    shapes: list[tuple[int, ...]],
    attributes: dict[str, object],
    reference: Callable[..., np.ndarray],
) -> None:
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes]
    names = [f"x{index}" for index in range(len(arrays))]
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.BFLOAT16, shape)
        for name, shape in zip(names, shapes, strict=True)
    ]
    expected = reference(*(each.astype(np.float64) for each in arrays))
    output = helper.make_tensor_value_info("y", onnx.TensorProto.BFLOAT16, expected.shape)
    node = helper.make_node(op_type, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    found = xyntra.compile(model)(*arrays)
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=2**-7, atol=2**-7)
