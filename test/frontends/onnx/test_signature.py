# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nodes are held to their operator's schema."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from refusals import check_invalid

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
