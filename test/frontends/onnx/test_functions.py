# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of the model, and the bodies that ONNX defines for operators without an importer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
import pytest
from harness import check, node_model, run
from onnx import helper
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.errors import ModelError, UnsupportedError
from xyntra.frontends.onnx import importer
from xyntra.frontends.onnx.functions import schema_function
from xyntra.frontends.onnx.importer import import_model
from xyntra.frontends.onnx.node import find_handler

X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
DOMAIN = "com.example"


def function_model(
    function: onnx.FunctionProto, *inputs: str, **attributes: object
) -> onnx.ModelProto:
    model = node_model(function.name, {"x": X}, names=list(inputs), domain=DOMAIN, **attributes)
    model.functions.append(function)
    return model


def scaled(*, default: float | None = None) -> onnx.FunctionProto:
    """y = alpha * x, and x itself where the optional second input is given."""
    constant = helper.make_node("Constant", [], ["a"])
    reference = onnx.AttributeProto(
        name="value_float", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT
    )
    constant.attribute.append(reference)
    nodes = [constant, helper.make_node("Mul", ["x", "a"], ["y"])]
    opsets = [helper.make_opsetid("", 20)]
    function = helper.make_function(DOMAIN, "Scaled", ["x", "unused"], ["y"], nodes, opsets)
    if default is None:
        function.attribute.append("alpha")
    else:
        function.attribute_proto.append(helper.make_attribute("alpha", default))
    return function


def test_attributes_of_a_function() -> None:
    check(function_model(scaled(), "x", alpha=2.5), {"x": X})


def test_defaults_of_attributes() -> None:
    check(function_model(scaled(default=3.0), "x"), {"x": X})
    check(function_model(scaled(default=3.0), "x", alpha=0.5), {"x": X})


def test_an_attribute_that_is_not_given_is_left_out() -> None:
    with pytest.raises(ModelError, match="exactly one attribute"):
        run(function_model(scaled(), "x"), {"x": X})


def test_optional_inputs_may_be_left_out() -> None:
    node = helper.make_node("Clip", ["x", "low", "high"], ["y"])
    opsets = [helper.make_opsetid("", 20)]
    function = helper.make_function(DOMAIN, "Limit", ["x", "low", "high"], ["y"], [node], opsets)
    model = function_model(function, "x", "", "h")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(1, np.float32), "h"))
    np.testing.assert_array_equal(run(model, {"x": X})[0], np.minimum(X, 1))
    np.testing.assert_array_equal(run(function_model(function, "x"), {"x": X})[0], X)


def chained(names: list[str]) -> onnx.ModelProto:
    """Functions of which each adds the input of the model to what the next one returns."""
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)]
    functions = []
    for name, following in pairwise(names):
        call = helper.make_node(following, ["x"], ["t"], domain=DOMAIN)
        nodes = [call, helper.make_node("Add", ["t", "x"], ["y"])]
        functions.append(helper.make_function(DOMAIN, name, ["x"], ["y"], nodes, opsets))
    last = [helper.make_node("Identity", ["x"], ["y"])]
    if names[-1] not in names[:-1]:
        functions.append(helper.make_function(DOMAIN, names[-1], ["x"], ["y"], last, opsets))
    model = function_model(functions[0], "x")
    model.functions.extend(functions[1:])
    return model


def test_a_function_that_calls_itself() -> None:
    with pytest.raises(ModelError, match="function 'Again' calls itself"):
        run(chained(["Again", "Again"]), {"x": X})


def test_functions_that_call_each_other_in_a_cycle() -> None:
    with pytest.raises(ModelError, match="calls itself") as caught:
        run(chained(["A", "B", "C", "B"]), {"x": X})
    assert caught.value.cause == "B calls C calls B"


@pytest.mark.parametrize("depth", [41, importer.MAX_CALLS])
def test_functions_that_are_nested_deeply(depth: int) -> None:
    (found,) = run(chained([f"f{i}" for i in range(depth)]), {"x": X})
    np.testing.assert_allclose(found, depth * X, rtol=1e-4)


def test_functions_that_are_nested_too_deeply() -> None:
    model = chained([f"f{i}" for i in range(importer.MAX_CALLS + 1)])
    with pytest.raises(UnsupportedError, match=f"more than {importer.MAX_CALLS} deep") as caught:
        run(model, {"x": X})
    assert caught.value.code == "model-too-large"


def test_functions_that_double_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "MAX_NODES", 1000)
    opsets = [helper.make_opsetid(DOMAIN, 1), helper.make_opsetid("", 20)]
    last = helper.make_node("Neg", ["x"], ["y"])
    functions = [helper.make_function(DOMAIN, "F0", ["x"], ["y"], [last], opsets)]
    for number in range(1, 30):
        inner = f"F{number - 1}"
        pair = [helper.make_node(inner, [a], [b], domain=DOMAIN) for a, b in ("xt", "ty")]
        functions.append(helper.make_function(DOMAIN, f"F{number}", ["x"], ["y"], pair, opsets))
    model = function_model(functions[-1], "x")
    model.functions.extend(functions[:-1])
    with pytest.raises(UnsupportedError, match="more than 1,000 nodes"):
        run(model, {"x": X})


def test_attributes_reach_into_subgraphs() -> None:
    constant = helper.make_node("Constant", [], ["a"])
    constant.attribute.append(
        onnx.AttributeProto(
            name="value_float", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT
        )
    )
    outputs = [onnx.ValueInfoProto(name="z")]
    graph = helper.make_graph(
        [constant, helper.make_node("Mul", ["x", "a"], ["z"])], "g", [], outputs
    )
    nodes = [
        helper.make_node(
            "Constant", [], ["yes"], value=onnx.numpy_helper.from_array(np.array(True))
        ),
        helper.make_node("If", ["yes"], ["y"], then_branch=graph, else_branch=graph),
    ]
    opsets = [helper.make_opsetid("", 20)]
    function = helper.make_function(DOMAIN, "Inner", ["x"], ["y"], nodes, opsets, ["alpha"])
    np.testing.assert_array_equal(run(function_model(function, "x", alpha=4.0), {"x": X})[0], X * 4)


@pytest.mark.parametrize("align_corners", [0, 1])
def test_operators_defined_by_onnx(align_corners: int) -> None:
    assert find_handler("", "AffineGrid") is None
    theta = np.random.default_rng(3).standard_normal((2, 2, 3), dtype=np.float32)
    sizes = {"size": np.array([2, 3, 4, 5])}
    model = node_model(
        "AffineGrid", {"theta": theta}, opset=20, constants=sizes, align_corners=align_corners
    )
    check(model, {"theta": theta})


def test_a_body_that_depends_on_the_attributes() -> None:
    assert find_handler("", "CenterCropPad") is None
    model = node_model(
        "CenterCropPad", {"x": X}, opset=18, constants={"s": np.array([5])}, axes=[1]
    )
    check(model, {"x": X})


def test_nodes_of_a_body_are_called_as_the_node() -> None:
    model = node_model("HannWindow", {}, opset=17, constants={"n": np.array(5000)})
    with make_context() as context, ir.Location.unknown():
        module = import_model(
            model.SerializeToString(), {}, context=context, max_tensor_bytes=1 << 20
        )
        text = module.operation.get_asm(enable_debug_info=True)
    assert '#loc1 = loc("it")' in text
    assert "loc(#loc2)" not in text


def test_bodies_are_chosen_by_version() -> None:
    node = helper.make_node("Softmax", ["x"], ["y"])
    for opset, wanted in ((13, 13), (17, 13), (18, 18), (20, 18)):
        function = schema_function(node, "", opset, [X])
        assert function is not None
        assert function.opset_import[0].version == wanted
    assert schema_function(node, "", 11, [X]) is None
    assert schema_function(helper.make_node("Add", ["x", "x"], ["y"]), "", 20, [X, X]) is None
    assert schema_function(helper.make_node("Nothing", ["x"], ["y"]), "", 20, [X]) is None
