# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models whose graph is wrong, or holds what is not supported, or fits no shape."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from bad_models import ONE_INPUT, BadFile, edited, model, node
from onnx import TensorProto, helper
from onnx_models import make_model

from xyntra.errors import InputError, ModelError, UnsupportedError


def _type(kind: Callable[..., onnx.TypeProto]) -> Callable[[onnx.ModelProto], object]:
    def edit(proto: onnx.ModelProto) -> None:
        inner = helper.make_tensor_type_proto(1, [2])
        proto.graph.input[0].type.CopyFrom(kind(inner))

    return edit


def _shape(*sizes: int) -> Callable[[onnx.ModelProto], object]:
    def edit(proto: onnx.ModelProto) -> None:
        proto.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", 1, sizes))

    return edit


def _branch(op: str, name: str) -> onnx.GraphProto:
    made = helper.make_node(op, ["x"], [name])
    return helper.make_graph([made], name, [], [onnx.ValueInfoProto(name=name)])


def _if() -> onnx.ModelProto:
    """A choice between results of different shapes."""
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
        helper.make_node("Cast", ["m"], ["c"], to=TensorProto.BOOL),
        helper.make_node(
            "If",
            ["c"],
            ["y"],
            name="it",
            then_branch=_branch("Neg", "a"),
            else_branch=_branch("Transpose", "b"),
        ),
    ]
    return make_model(nodes, ONE_INPUT, ["y"])


def _loop() -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Neg", ["v"], ["w"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", 1, [2, 3]),
        ],
        [onnx.ValueInfoProto(name="d"), onnx.ValueInfoProto(name="w")],
    )
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
        helper.make_node("Cast", ["m"], ["n"], to=TensorProto.INT64),
        helper.make_node("Loop", ["n", "", "x"], ["y"], name="it", body=body),
    ]
    return make_model(nodes, ONE_INPUT, ["y"])


def _sparse() -> onnx.ModelProto:
    values = helper.make_tensor("k", 1, [1], [5.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [2])
    sparse = helper.make_sparse_tensor(values, indices, [3])
    return make_model([("Add", ["x", "k"], ["y"])], ONE_INPUT, ["y"], sparse_initializer=[sparse])


def _free(x: list[Any], y: list[Any]) -> Callable[[Path], Path]:
    return model(make_model([("Add", ["x", "y"], ["z"])], {"x": x, "y": y}, ["z"]))


def _repeat_weight(proto: onnx.ModelProto) -> None:
    proto.graph.initializer.append(proto.graph.initializer[0])


_I64 = {name: np.array(value) for name, value in {"s": [4, 4], "a": [5], "r": [2, 0, 1]}.items()}

BAD_GRAPHS = {
    "unknown operator": BadFile(
        node("Frobnicate", "x"), UnsupportedError, "operator-unsupported", "Frobnicate"
    ),
    "unknown domain": BadFile(
        edited(
            lambda m: (
                m.graph.node[0].MergeFrom(helper.make_node("Gadget", [], [], domain="com.example")),
                m.opset_import.add(domain="com.example", version=1),
            )
        ),
        UnsupportedError,
        "operator-unsupported",
        "com.example",
    ),
    "domain without opset": BadFile(
        node("Gelu", "x", domain="com.microsoft"), ModelError, "opset-missing", "'it"
    ),
    "cycle": BadFile(
        model(make_model([("Add", ["x", "b"], ["a"]), ("Neg", ["a"], ["b"])], ONE_INPUT, ["b"])),
        ModelError,
        "graph-cycle",
        "a",
    ),
    "a value defined twice": BadFile(
        model(make_model([("Neg", ["x"], ["y"]), ("Abs", ["x"], ["y"])], ONE_INPUT, ["y"])),
        ModelError,
        "duplicate-name",
        "'y'",
    ),
    "an input defined again": BadFile(
        model(make_model([("Neg", ["y"], ["x"]), ("Abs", ["x"], ["y"])], ONE_INPUT, ["x"])),
        ModelError,
        "graph-cycle",
        "x",
    ),
    "a node that reads itself": BadFile(
        model(make_model([("Neg", ["y"], ["y"])], ONE_INPUT, ["y"])),
        ModelError,
        "graph-cycle",
        "Neg",
    ),
    "a weight twice": BadFile(edited(_repeat_weight), ModelError, "duplicate-name", "'two'"),
    "an input twice": BadFile(
        edited(lambda m: m.graph.input.append(m.graph.input[0])),
        ModelError,
        "duplicate-name",
        "'x'",
    ),
    "an undefined input": BadFile(
        node("Add", "x", "ghost"), ModelError, "undefined-value", "ghost"
    ),
    "an undefined output": BadFile(
        model(make_model([("Neg", ["x"], ["y"])], ONE_INPUT, ["y", "ghost"])),
        ModelError,
        "undefined-value",
        "ghost",
    ),
    "no outputs": BadFile(
        edited(lambda m: m.graph.ClearField("output")), ModelError, "graph-invalid", "output"
    ),
    "a negative size": BadFile(edited(_shape(-2, 3)), InputError, "free-dimension", "'x': [?, 3]"),
    "an absurd size": BadFile(edited(_shape(2**50, 3)), ModelError, "shape-invalid", "'x'"),
    "an absurd product": BadFile(
        edited(_shape(2**39, 2**39)), UnsupportedError, "tensor-too-large", "'x'"
    ),
    "a tensor above the limit": BadFile(
        node("Neg", "x", shapes={"x": [1 << 20]}),
        UnsupportedError,
        "tensor-too-large",
        "it",
        config={"max_tensor_bytes": 1 << 20},
    ),
    "a result above the limit": BadFile(
        node("Expand", "x", "s", shapes={"x": [1]}, weights={"s": np.array([1 << 20])}),
        UnsupportedError,
        "tensor-too-large",
        "it",
        config={"max_tensor_bytes": 1 << 20},
    ),
    "strings": BadFile(
        node("Identity", "x", dtype=TensorProto.STRING),
        UnsupportedError,
        "dtype-unsupported",
        "'x'",
    ),
    "a sequence": BadFile(
        edited(_type(helper.make_sequence_type_proto)), ModelError, "node-invalid", "seq(float32)"
    ),
    "an optional": BadFile(
        edited(_type(helper.make_optional_type_proto)), ModelError, "node-invalid", "input 0"
    ),
    "no type": BadFile(
        edited(lambda m: m.graph.input[0].ClearField("type")),
        UnsupportedError,
        "type-unsupported",
        "'x'",
    ),
    "a sparse weight": BadFile(model(_sparse()), UnsupportedError, "dtype-unsupported", "sparse"),
    "attribute of another type": BadFile(
        node("Softmax", "x", axis=1.5), ModelError, "node-invalid", "axis"
    ),
    "attribute missing": BadFile(node("Concat", "x", "x"), ModelError, "node-invalid", "axis"),
    "attribute unknown": BadFile(node("Neg", "x", colour=3), ModelError, "node-invalid", "colour"),
    "input missing": BadFile(node("Add", "x"), ModelError, "node-invalid", "it"),
    "input left out": BadFile(node("Add", "x", ""), ModelError, "node-invalid", "it"),
    "input too many": BadFile(node("Neg", "x", "x"), ModelError, "node-invalid", "it"),
    "axis too large": BadFile(node("Softmax", "x", axis=2), ModelError, "node-invalid", "it"),
    "axis too small": BadFile(node("Concat", "x", "x", axis=-3), ModelError, "node-invalid", "it"),
    "axis of a reduction": BadFile(
        node("ReduceSum", "x", "a", weights=_I64), ModelError, "node-invalid", "it"
    ),
    "a permutation of another rank": BadFile(
        node("Transpose", "x", perm=[2, 0, 1]), ModelError, "node-invalid", "it"
    ),
    "a permutation that repeats": BadFile(
        node("Transpose", "x", perm=[0, 0]), ModelError, "node-invalid", "it"
    ),
    "shapes that do not broadcast": BadFile(
        node("Add", "x", "y0", shapes={"x": [2, 3], "y0": [2, 4]}), ModelError, "node-invalid", "it"
    ),
    "a product of other sizes": BadFile(
        node("MatMul", "x", "y0", shapes={"x": [2, 3], "y0": [4, 2]}),
        ModelError,
        "node-invalid",
        "it",
    ),
    "a product with a scalar": BadFile(
        node("MatMul", "x", "y0", shapes={"x": [2, 3], "y0": []}), ModelError, "node-invalid", "it"
    ),
    "a reshape to another size": BadFile(
        node("Reshape", "x", "s", weights=_I64), ModelError, "node-invalid", "it"
    ),
    "a reshape by an input": BadFile(
        node("Reshape", "x", "x", dtype=TensorProto.INT64),
        UnsupportedError,
        "operator-unsupported",
        "it",
    ),
    "types that differ": BadFile(
        node("Add", "x", "s", weights={"s": np.ones((2, 3))}), ModelError, "node-invalid", "it"
    ),
    "a type without the operator": BadFile(
        node("Sin", "x", dtype=TensorProto.BOOL), ModelError, "node-invalid", "it"
    ),
    "a convolution of other channels": BadFile(
        node("Conv", "x", "w0", shapes={"x": [1, 3, 5, 5], "w0": [2, 4, 3, 3]}),
        ModelError,
        "node-invalid",
        "it",
    ),
    "a window larger than the image": BadFile(
        node("MaxPool", "x", shapes={"x": [1, 1, 2, 2]}, kernel_shape=[4, 4]),
        ModelError,
        "node-invalid",
        "it",
    ),
    "a branch on data": BadFile(model(_if()), UnsupportedError, "operator-unsupported", "it"),
    "a loop of unknown length": BadFile(
        model(_loop()), UnsupportedError, "operator-unsupported", "it"
    ),
    "a free dimension": BadFile(_free(["n", 3], ["n", 3]), InputError, "free-dimension", "n"),
    "a dimension without a name": BadFile(
        _free([None, 3], [1, 3]), InputError, "free-dimension", "'x'"
    ),
    "no rank": BadFile(node("Neg", "x", shapes={"x": None}), InputError, "free-dimension", "'x'"),
    "sizes that disagree": BadFile(
        _free(["n", 3], ["n", 3]),
        InputError,
        "shape-mismatch",
        "n",
        shapes={"x": (2, 3), "y": (4, 3)},
    ),
    "a size that is fixed": BadFile(
        _free(["n", 3], ["n", 3]), InputError, "shape-mismatch", "'x'", shapes={"x": (2, 4)}
    ),
    "an unknown input": BadFile(
        _free(["n", 3], ["n", 3]), InputError, "unknown-input", "ghost", shapes={"ghost": (2, 3)}
    ),
    "a shape of another rank": BadFile(
        _free(["n", 3], ["n", 3]), InputError, "shape-mismatch", "'x'", shapes={"x": (2, 3, 1)}
    ),
    "a shape that is negative": BadFile(
        _free(["n", 3], ["n", 3]), InputError, "shape-mismatch", "x", shapes={"x": (-2, 3)}
    ),
}
