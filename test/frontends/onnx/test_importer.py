# SPDX-License-Identifier: MIT OR Apache-2.0
"""The importer: interface, parameters, scopes, order, limits and the errors of broken graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from harness import Arrays, check, graph_model, node_model, run
from onnx import TensorProto, helper, numpy_helper
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.errors import InputError, ModelError, UnsupportedError, XyntraError
from xyntra.frontends.onnx.file.container import scan
from xyntra.frontends.onnx.importer import import_model

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def import_text(model: onnx.ModelProto | bytes, **options: Any) -> str:
    """The imported module as text with locations."""
    data = model if isinstance(model, bytes) else model.SerializeToString()
    shapes = options.pop("shapes", {})
    with make_context() as context, ir.Location.unknown():
        module = import_model(
            data, shapes, context=context, **{"max_tensor_bytes": 1 << 20, **options}
        )
        assert module.operation.verify()
        return str(module.operation.get_asm(enable_debug_info=True))


def refuse(
    model: onnx.ModelProto | bytes, code: str, kind: type[XyntraError], **options: Any
) -> str:
    """Import a model that must be refused; returns the message."""
    with pytest.raises(kind) as caught:
        import_text(model, **options)
    assert caught.value.code == code
    return str(caught.value)


def chain(*op_types: str, inputs: Arrays | None = None) -> onnx.ModelProto:
    """A model of unary operators in a row, from `x` to `v<n>`."""
    names = ["x", *(f"v{n}" for n in range(len(op_types)))]
    nodes = [
        helper.make_node(op, [a], [b]) for op, a, b in zip(op_types, names, names[1:], strict=False)
    ]
    return graph_model(nodes, inputs or {"x": X}, [names[-1]])


def test_interface_attributes() -> None:
    text = import_text(chain("Neg", "Abs"))
    assert 'xyntra.dtype = "float32", xyntra.input = "x"' in text
    assert 'xyntra.dtype = "float32", xyntra.output = "v1"' in text


def test_unsigned_dtypes_are_on_the_interface() -> None:
    text = import_text(node_model("Identity", {"x": np.ones(3, np.uint8)}))
    assert 'tensor<3xi8> {xyntra.dtype = "uint8", xyntra.input = "x"}' in text


def test_nodes_are_locations() -> None:
    assert 'loc("it")' in import_text(node_model("Neg", {"x": X}))
    assert 'loc("Neg:v0")' in import_text(chain("Neg"))


def test_large_weights_become_parameters() -> None:
    weight = np.random.default_rng(0).standard_normal((300, 3)).astype(np.float32)
    model = graph_model(
        [helper.make_node("Add", ["x", "w"], ["y"]), helper.make_node("Mul", ["y", "w"], ["z"])],
        {"x": X[:1]}, ["z"], {"w": weight},
    )  # fmt: skip
    text = import_text(scan(model.SerializeToString()).skeleton)
    assert text.count("xyntra.parameter") == 1
    assert 'tensor<300x3xf32> {xyntra.dtype = "float32", xyntra.parameter = "w"}' in text


def test_large_constant_nodes_become_parameters() -> None:
    value = numpy_helper.from_array(np.arange(3000, dtype=np.int64).reshape(1000, 3))
    nodes = [
        helper.make_node("Constant", [], ["c"], value=value),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    scanned = scan(graph_model(nodes, {"x": np.ones(3, np.int64)}, ["y"]).SerializeToString())
    text = import_text(scanned.skeleton)
    (name,) = scanned.weights
    assert f'xyntra.parameter = "{name}"' in text


@pytest.mark.parametrize(
    ("attribute", "value", "wanted"),
    [
        ("value_float", 2.5, np.array(2.5, np.float32)),
        ("value_floats", [1.0, 2.0], np.array([1, 2], np.float32)),
        ("value_int", 7, np.array(7)),
        ("value_ints", [1, 2, 3], np.array([1, 2, 3])),
        ("value", numpy_helper.from_array(np.array([[True]])), np.array([[True]])),
    ],
)
def test_constant_nodes(attribute: str, value: object, wanted: np.ndarray) -> None:
    model = node_model("Constant", {}, **{attribute: value})
    (found,) = run(model, {})
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_constants_that_are_refused() -> None:
    refuse(node_model("Constant", {}), "node-invalid", ModelError)
    refuse(node_model("Constant", {}, value_int=1, value_float=2.0), "node-invalid", ModelError)
    refuse(node_model("Constant", {}, value_string="a"), "operator-unsupported", UnsupportedError)
    text = numpy_helper.from_array(np.array(["a"], object))
    refuse(node_model("Constant", {}, value=text), "dtype-unsupported", UnsupportedError)


def test_weights_may_be_inputs_as_well() -> None:
    model = node_model("Add", {"x": X}, constants={"w": np.ones(3, np.float32)})
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    np.testing.assert_array_equal(run(model, {"x": X})[0], X + 1)


def test_nodes_in_any_order() -> None:
    model = chain("Neg", "Abs", "Sqrt")
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    np.testing.assert_allclose(run(model, {"x": X})[0], np.sqrt(X), rtol=1e-6)


def test_outputs_may_be_inputs_constants_and_repeated() -> None:
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    model = graph_model(nodes, {"x": X}, ["x", "y", "c", "y"], {"c": np.array([1, 2])})
    found = run(model, {"x": X})
    for array, wanted in zip(found, (X, -X, np.array([1, 2]), -X), strict=True):
        np.testing.assert_array_equal(array, wanted)


def test_unused_nodes_and_outputs() -> None:
    nodes = [helper.make_node("TopK", ["x", "k"], ["values", "places"])]
    check(graph_model(nodes, {"x": X}, ["places"], {"k": np.array([2])}), {"x": X})


def test_free_dimensions_are_bound_by_shapes() -> None:
    model = chain("Neg")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    assert "tensor<5x3xf32>" in import_text(model, shapes={"x": (5, 3)})
    message = refuse(model, "free-dimension", InputError)
    assert "input 'x': [n, 3]" in message
    refuse(model, "shape-mismatch", InputError, shapes={"x": (5, 4)})
    refuse(model, "unknown-input", InputError, shapes={"z": (5, 4)})


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ([("Neg", ["nowhere"], ["y"])], "undefined-value"),
        ([("Neg", ["x"], ["y"]), ("Abs", ["x"], ["y"])], "duplicate-name"),
        ([("Neg", ["x"], ["x"])], "graph-cycle"),
        ([("Neg", ["z"], ["y"]), ("Abs", ["y"], ["z"])], "graph-cycle"),
        ([("Neg", ["x"], ["other"])], "undefined-value"),
    ],
)
def test_broken_graphs(nodes: list[tuple[str, list[str], list[str]]], code: str) -> None:
    made = [helper.make_node(op, inputs, outputs) for op, inputs, outputs in nodes]
    refuse(graph_model(made, {"x": X}, ["y"]), code, ModelError)


def test_a_graph_without_outputs() -> None:
    refuse(
        graph_model([helper.make_node("Neg", ["x"], ["y"])], {"x": X}, []),
        "graph-invalid",
        ModelError,
    )


def test_not_a_model() -> None:
    refuse(b"\xff\xff\xff\xff", "model-not-onnx", ModelError)


def test_operator_sets() -> None:
    refuse(node_model("Neg", {"x": X}, opset=6), "opset-unsupported", UnsupportedError)
    refuse(node_model("Neg", {"x": X}, opset=999), "opset-unsupported", UnsupportedError)
    model = node_model("Neg", {"x": X})
    model.graph.node[0].domain = "ai.onnx"
    np.testing.assert_array_equal(run(model, {"x": X})[0], -X)
    model.graph.node[0].domain = "com.example"
    refuse(model, "opset-missing", ModelError)


def test_an_operator_of_an_unknown_domain() -> None:
    model = node_model("Neg", {"x": X}, domain="com.example")
    message = refuse(model, "operator-unsupported", UnsupportedError)
    assert "com.example::Neg" in message


def test_tensors_above_the_limit() -> None:
    message = refuse(
        node_model("Expand", {"x": X}, constants={"s": np.array([1000, 2, 3])}),
        "tensor-too-large", UnsupportedError, max_tensor_bytes=10_000,
    )  # fmt: skip
    assert "24,000 bytes" in message
    refuse(node_model("Neg", {"x": X}), "tensor-too-large", UnsupportedError, max_tensor_bytes=10)


@pytest.mark.parametrize(
    ("op_type", "constants"),
    [
        ("Expand", {"s": np.array([2**40, 2, 3])}),
        ("Tile", {"r": np.array([2**40, 2**15])}),
        ("Pad", {"p": np.array([2**40, 0, 0, 0])}),
    ],
)
def test_huge_results_are_refused_before_they_are_made(op_type: str, constants: Arrays) -> None:
    model = node_model(op_type, {"x": X}, constants=constants)
    refuse(model, "tensor-too-large", UnsupportedError)
    if op_type == "Pad":
        edge = node_model(op_type, {"x": X}, constants=constants, mode="edge")
        refuse(edge, "operator-unsupported", UnsupportedError)


def test_sparse_initializers_are_refused() -> None:
    model = node_model("Neg", {"x": X})
    model.graph.sparse_initializer.add()
    refuse(model, "dtype-unsupported", UnsupportedError)


def test_data_that_does_not_fit_its_shape() -> None:
    model = node_model("Add", {"x": X}, constants={"w": np.ones(3, np.float32)})
    model.graph.initializer[0].raw_data = b"1234"
    refuse(model, "tensor-size-mismatch", ModelError)


def test_foreign_exceptions_name_the_node() -> None:
    message = refuse(
        node_model("Add", {"x": X, "y": np.ones((5, 5), np.float32)}), "node-invalid", ModelError
    )
    assert "node 'it'" in message
    assert "do not broadcast" in message
