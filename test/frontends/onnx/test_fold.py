# SPDX-License-Identifier: MIT OR Apache-2.0
"""Folding computes what the compiled operator computes, and shapes fold away."""

from __future__ import annotations

from ast import literal_eval
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from harness import Arrays, check, compare, graph_model, node_model, run
from onnx import TensorProto, helper, numpy_helper

from xyntra.errors import ModelError
from xyntra.frontends.onnx.folding.fold import FOLD_LIMIT, fold, folded_operators
from xyntra.frontends.onnx.node import Node

INT = np.array([[-7, 7, -8], [8, 0, 5]], np.int64)
OTHER = np.array([2, -2, 3], np.int64)
REAL = np.array([[-2.5, 0.5, 1.5], [np.nan, np.inf, -0.0]], np.float32)
FLAG = np.array([[True], [False]])

CASES: dict[str, list[tuple[list[np.ndarray], dict[str, Any]]]] = {
    **{op: [([INT, OTHER], {}), ([REAL, REAL[::-1].copy()], {})]
       for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "Equal", "Greater",
                  "Less", "GreaterOrEqual", "LessOrEqual")},
    **{op: [([REAL], {})] for op in ("Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Sqrt", "Exp",
                                     "Log", "Reciprocal", "IsNaN", "Relu")},
    **{op: [([FLAG, ~FLAG.T], {})] for op in ("And", "Or", "Xor")},
    **{op: [([INT, OTHER], {})] for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    **{op: [([REAL, REAL[:, :1], REAL[::-1].copy()], {})] for op in ("Sum", "Mean")},
    "Not": [([FLAG], {})],
    "BitwiseNot": [([INT], {})],
    "Mod": [([INT, OTHER], {"fmod": 0}), ([INT, OTHER], {"fmod": 1}), ([INT, INT * 0], {}),
            ([REAL, REAL + 1], {"fmod": 1})],
    "Pow": [([INT, np.array(3)], {}), ([INT, np.array([2, 0, 1])], {}),
            ([REAL, np.array(2, np.float32)], {}), ([INT, np.array(0.5, np.float32)], {})],
    "Where": [([FLAG, INT, OTHER], {})],
    "Clip": [([REAL, np.array(-1, np.float32), np.array(1, np.float32)], {})],
    "Cast": [([REAL], {"to": TensorProto.INT32}), ([INT], {"to": TensorProto.UINT8}),
             ([REAL], {"to": TensorProto.BOOL}), ([INT], {"to": TensorProto.FLOAT16})],
    "CastLike": [([REAL, OTHER], {})],
    "Reshape": [([INT, np.array([3, -1])], {}), ([INT, np.array([0, 3, 1])], {})],
    "Flatten": [([INT], {"axis": 0})],
    "Squeeze": [([INT[None], np.array([0])], {}), ([FLAG[None]], {})],
    "Unsqueeze": [([INT, np.array([0, -1])], {})],
    "Transpose": [([INT], {}), ([INT], {"perm": [0, 1]})],
    "Expand": [([OTHER, np.array([2, 1])], {}), ([FLAG, np.array([1, 4])], {})],
    "Tile": [([INT, np.array([2, 3])], {})],
    "Concat": [([INT, INT], {"axis": -1}), ([OTHER, OTHER, OTHER], {"axis": 0})],
    "Split": [([INT, np.array([1, 2])], {"axis": 1})],
    "Slice": [([INT, np.array([-1]), np.array([-9]), np.array([1]), np.array([-2])], {}),
              ([OTHER, np.array([-100]), np.array([-200]), np.array([0]), np.array([-1])], {})],
    "Gather": [([INT, np.array([[-1, 0]])], {"axis": 1}), ([OTHER, np.array(2)], {})],
    "Range": [([np.array(5), np.array(-4), np.array(-3)], {}),
              ([np.array(0, np.float32), np.array(1, np.float32), np.array(0.3, np.float32)], {})],
    "ConstantOfShape": [([np.array([2, 3])], {}),
                        ([np.array([2])], {"value": numpy_helper.from_array(np.array([7]))})],
    **{op: [([INT, np.array([0])], {"keepdims": 0}), ([REAL], {}),
            ([np.zeros((0, 2), np.float32), np.array([0])], {})]
       for op in ("ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin")},
    **{op: [([INT, np.array([-1])], {"keepdims": 0}), ([REAL], {})]
       for op in ("ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare")},
    **{op: [([INT], {"axis": 1}), ([INT], {"axis": -1, "keepdims": 0}),
            ([INT * 0], {"select_last_index": 1})] for op in ("ArgMax", "ArgMin")},
    "BitShift": [([np.array([1, 200], np.uint8), np.array([3, 1], np.uint8)],
                  {"direction": direction}) for direction in ("LEFT", "RIGHT")],
    **{op: [([INT, np.array(-1)], {}), ([INT, np.array(0)], {"exclusive": 1, "reverse": 1})]
       for op in ("CumSum", "CumProd")},
    "DepthToSpace": [([np.arange(8).reshape(1, 8, 1, 1).astype(np.float32)],
                      {"blocksize": 2, "mode": mode}) for mode in ("DCR", "CRD")],
    "SpaceToDepth": [([np.arange(8).reshape(1, 2, 2, 2).astype(np.float32)], {"blocksize": 2})],
    "Einsum": [([INT, OTHER], {"equation": "ij,j->i"})],
    "EyeLike": [([INT], {"k": 1}), ([REAL], {"dtype": TensorProto.INT64})],
    "GatherElements": [([INT, np.array([[0, -1]])], {"axis": 1})],
    "GatherND": [([INT, np.array([[-1, 0], [0, 2]])], {}), ([INT, np.array([[1], [0]])], {})],
    "Gemm": [([INT.astype(np.float32), np.ones((2, 3), np.float32)], {"transB": 1, "alpha": 2.0})],
    "Hardmax": [([INT.astype(np.float32)], {"axis": 0})],
    "IsInf": [([REAL], {}), ([-REAL], {"detect_positive": 0})],
    "MatMul": [([INT, OTHER], {}), ([INT.T.copy(), INT], {})],
    "OneHot": [([np.array([0, -1, 9]), np.array(3), np.array([2, 5])], {"axis": 0})],
    "Pad": [([INT, np.array([0, 1, 2, 0]), np.array(7)], {}), ([REAL, np.array([1, 1])],
            {"mode": "edge"})][:1],
    "PRelu": [([REAL, np.array([2, 3, 4], np.float32)], {})],
    "ReverseSequence": [([INT, np.array([2, 1, 2])], {}), ([INT, np.array([3, 2])],
                        {"batch_axis": 0, "time_axis": 1})],
    "ScatterElements": [([INT, np.array([[0, -1]]), np.array([[90, 91]])], {"axis": 1}),
                        ([INT, np.array([[1, 1]]), np.array([[9, 9]])],
                         {"axis": 0, "reduction": "add"})],
    "ScatterND": [([INT, np.array([[-1, 0]]), np.array([90])], {}),
                  ([INT, np.array([[1], [1]]), np.array([[1, 2, 3]] * 2)], {"reduction": "mul"})],
    "TopK": [([INT, np.array([2])], {"largest": 0}), ([OTHER, np.array([3])], {"axis": 0})],
    "Trilu": [([INT], {"upper": 0}), ([INT, np.array(1)], {}), ([INT, np.array(-9)], {})],
}  # fmt: skip


OPSETS = {"CumProd": 26}


def node_of(
    op_type: str, arrays: list[np.ndarray], attributes: dict[str, Any], outputs: int
) -> Node:
    names = [f"x{n}" for n in range(len(arrays))]
    proto = helper.make_node(op_type, names, [f"y{n}" for n in range(outputs)], **attributes)
    return Node(proto, "it", OPSETS.get(op_type, 20), tuple(arrays), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("op_type", sorted(CASES))
def test_folding_agrees_with_compiling(op_type: str) -> None:
    for arrays, attributes in CASES[op_type]:
        outputs = 2 if op_type in ("Split", "TopK") else 1
        folded = fold(node_of(op_type, arrays, attributes, outputs))
        assert folded is not None
        feeds = {f"x{n}": array for n, array in enumerate(arrays)}
        shaping = {"Reshape": 1, "Squeeze": 1, "Unsqueeze": 1, "Expand": 1, "Tile": 1, "Split": 1,
                   "Slice": 1, "Range": 0, "ConstantOfShape": 0, "CumSum": 1, "CumProd": 1,
                   "TopK": 1, "Pad": 1, "OneHot": 1}.get(op_type, 99)  # fmt: skip
        shaping = 1 if op_type.startswith("Reduce") else shaping
        names = list(feeds)
        constants = {name: feeds.pop(name) for name in names[shaping:]}
        if feeds:
            options = {
                "opset": OPSETS.get(op_type, 20),
                "constants": constants,
                "names": names,
                "outputs": outputs,
                **attributes,
            }
            compare(folded, run(node_model(op_type, feeds, **options), feeds), 1e-6, 1e-12)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_16_bit_floats_are_rounded_once(dtype: type) -> None:
    x = np.random.default_rng(5).standard_normal((2, 7, 4)).astype(dtype)
    many = [x, x[::-1].copy(), x[:, :1].copy(), x[:, ::-1].copy()]
    axis = np.array(1, np.int64)
    nodes: list[tuple[str, list[np.ndarray], dict[str, Any]]] = [
        ("Sum", many, {}), ("Mean", many, {}), ("CumSum", [x, axis], {}),
        ("CumProd", [x, axis], {}),
        ("MatMul", [x, x.transpose(0, 2, 1).copy()], {}), ("ReduceMean", [x, axis[None]], {}),
        ("ReduceL1", [x, axis[None]], {}), ("ReduceL2", [x, axis[None]], {}),
        ("ReduceSumSquare", [x, axis[None]], {}), ("ReduceSum", [x, axis[None]], {}),
        ("Einsum", [x, x], {"equation": "bij,bkj->bik"}),
    ]  # fmt: skip
    for op_type, inputs, attributes in nodes:
        wide = [a if a.dtype == np.int64 else a.astype(np.float32) for a in inputs]
        found, exact = (fold(node_of(op_type, each, attributes, 1)) for each in (inputs, wide))
        assert exact is not None
        if found is not None:
            assert found[0].dtype == dtype
            np.testing.assert_array_equal(
                found[0].astype(float), exact[0].astype(dtype).astype(float), err_msg=op_type
            )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.uint64])
def test_integers_keep_their_type(dtype: type) -> None:
    x, axis = np.array([[7, 0, 100], [3, 1, 2]], dtype), np.array([1])
    nodes: list[tuple[str, list[np.ndarray], dict[str, Any]]] = [
        (op, [x, axis], {}) for op in folded_operators() if op.startswith("Reduce")
    ]
    nodes += [("CumSum", [x, axis[0]], {}), ("CumProd", [x, axis[0]], {})]
    nodes += [("Einsum", [x, x], {"equation": "ij,kj->ik"}), ("MatMul", [x, x.T.copy()], {})]
    nodes += [("OneHot", [np.arange(3), np.array(3), np.array([0, 5], dtype)], {})]
    for op_type, inputs, attributes in nodes:
        found = fold(node_of(op_type, inputs, attributes, 1))
        if found is not None:
            assert found[0].dtype == dtype, op_type


def test_every_rule_is_tested() -> None:
    # The first four have no importer to compare with; Scatter is ScatterElements of old.
    others = {"NonZero", "Unique", "Compress", "Scatter"}
    assert set(folded_operators()) == {*CASES, *others}


def test_non_zero() -> None:
    (found,) = fold(node_of("NonZero", [INT], {}, 1)) or []
    np.testing.assert_array_equal(found, np.nonzero(INT))


def test_selections_whose_size_the_data_decides() -> None:
    values, *counts = fold(node_of("Unique", [np.array([5, 2, 5])], {}, 4)) or []
    np.testing.assert_array_equal(values, [2, 5])
    for found, wanted in zip(counts, ([1, 0], [1, 0, 1], [1, 2]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    (kept,) = fold(node_of("Compress", [OTHER, np.array([True, False])], {}, 1)) or []
    np.testing.assert_array_equal(kept, OTHER[:1])


def test_what_the_reference_cannot_evaluate_stays_in_the_program() -> None:
    assert fold(node_of("Einsum", [INT, INT], {"equation": "ij,jk->ik"}, 1)) is None
    assert fold(node_of("TopK", [REAL, np.array([1])], {}, 2)) is None
    assert fold(node_of("OneHot", [OTHER, np.array(10**9), OTHER[:2]], {}, 1)) is None
    assert fold(node_of("Pad", [OTHER, np.array([0, 10**9])], {}, 1)) is None
    # The reference does not cast indices first, as the operator says, and knows no old Hardmax.
    assert fold(node_of("OneHot", [REAL[:1], np.array(3), OTHER[:2]], {}, 1)) is None
    assert fold(replace(node_of("Hardmax", [REAL[:1]], {}, 1), opset=11)) is None
    row = np.zeros((FOLD_LIMIT // 2, 1))
    assert fold(node_of("MatMul", [row, row.T], {}, 1)) is None


SHAPES_OF_EXPORTERS: dict[str, list[tuple[str, list[str], dict[str, Any]]]] = {
    "scattered (torch's index_put)": [
        ("ScatterND", ["shape", "[[0]]", "[-1]"], {}), ("ScatterElements", ["@", "[1]", "[1]"], {}),
    ],
    "gathered": [("GatherND", ["shape", "[[1],[0]]"], {}), ("GatherElements", ["@", "[1,0]"], {})],
    "cumulated": [("CumSum", ["shape", "0"], {}), ("Sub", ["@", "[0,3]"], {})],
    "chosen": [("TopK", ["shape", "[2]"], {}), ("Compress", ["@", "[True,True]"], {})],
    "unique": [("Unique", ["shape"], {})],
    "multiplied": [("MatMul", ["shape", "[[1,0],[0,1]]"], {}), ("Pad", ["@", "[0,1]", "1"], {})],
    "one of several": [("OneHot", ["[1]", "2", "[1,12]"], {}), ("Squeeze", ["@", "[0]"], {})],
    "compared": [("ArgMax", ["shape"], {}), ("Mul", ["@", "3"], {}), ("Add", ["@", "[9]"], {})],
    "triangular": [("Trilu", ["[[4,3],[9,1]]"], {}), ("ReduceMax", ["@", "[0]"], {"keepdims": 0})],
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES_OF_EXPORTERS)
def test_shapes_that_exporters_compute(name: str) -> None:
    """Each chain starts at the shape of the input, [3, 4], and ends as the shape of a Reshape."""
    x, constants, nodes = np.arange(12, dtype=np.float32).reshape(3, 4), {}, []
    nodes.append(helper.make_node("Shape", ["x"], ["shape"]))
    for step, (op_type, inputs, attributes) in enumerate(SHAPES_OF_EXPORTERS[name]):
        names = [f"t{step - 1}" if given == "@" else given for given in inputs]
        constants |= {n: np.array(literal_eval(n)) for n in names if n[0] in "[-0123456789"}
        outputs = [f"t{step}", "places"] if op_type == "TopK" else [f"t{step}"]
        nodes.append(helper.make_node(op_type, names, outputs, **attributes))
    nodes.append(helper.make_node("Reshape", ["x", f"t{step}"], ["y"]))
    check(graph_model(nodes, {"x": x}, ["y"], constants), {"x": x})


def test_large_arrays_stay_in_the_program() -> None:
    large = np.zeros(FOLD_LIMIT + 1, np.float32)
    assert fold(node_of("Neg", [large], {}, 1)) is None
    line = np.zeros((FOLD_LIMIT // 2, 1), np.float32)
    assert fold(node_of("Add", [line, line.T], {}, 1)) is None
    assert fold(node_of("Expand", [large[:1], np.array([10**9, 10**9])], {}, 1)) is None
    assert fold(node_of("Tile", [large[:9], np.array([10**9])], {}, 1)) is None
    assert fold(node_of("Range", [np.array(0), np.array(10**12), np.array(1)], {}, 1)) is None
    assert fold(node_of("ConstantOfShape", [np.array([10**6, 10**6])], {}, 1)) is None
    assert fold(node_of("Gather", [line, np.zeros((64, 64), np.int64)], {"axis": 1}, 1)) is None
    assert fold(node_of("Conv", [large[:1], large[:1]], {}, 1)) is None


def test_wrong_nodes_are_refused_while_folding() -> None:
    for op_type, arrays, attributes in (
        ("Gather", [OTHER, np.array(3)], {}),
        ("Concat", [INT, OTHER], {"axis": 0}),
        ("Range", [np.array(0), np.array(3), np.array(0)], {}),
        ("Reshape", [INT, np.array([4])], {}),
        ("ConstantOfShape", [np.array([-1])], {}),
    ):
        with pytest.raises(ModelError) as caught:
            fold(node_of(op_type, arrays, attributes, 1))
        assert caught.value.code == "node-invalid"


def test_shape_arithmetic_folds_away() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["batch"], axis=0),
        helper.make_node("Unsqueeze", ["batch", "zero1"], ["batch1"]),
        helper.make_node("Mul", ["batch1", "two"], ["twice"]),
        helper.make_node("Concat", ["twice", "minus"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    constants: Arrays = {
        "zero": np.array(0), "zero1": np.array([0]), "two": np.array([2]), "minus": np.array([-1])
    }  # fmt: skip
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    check(graph_model(nodes, {"x": x}, ["y"], constants), {"x": x})


def test_expand_to_a_computed_shape() -> None:
    nodes = [
        helper.make_node(
            "ConstantOfShape", ["n"], ["ones"], value=numpy_helper.from_array(np.array([1]))
        ),
        helper.make_node("Equal", ["wanted", "minus"], ["free"]),
        helper.make_node("Where", ["free", "ones", "wanted"], ["shape"]),
        helper.make_node("Expand", ["x", "shape"], ["y"]),
    ]
    constants: Arrays = {"n": np.array([2]), "wanted": np.array([3, -1]), "minus": np.array([-1])}
    x = np.ones((1, 4), np.float32)
    check(graph_model(nodes, {"x": x}, ["y"], constants), {"x": x})
