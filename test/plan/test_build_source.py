# SPDX-License-Identifier: MIT OR Apache-2.0
"""The graph before fusion has the model's nodes, in order, and who reads whom."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_model
from torch_mlir import ir

from xyntra.compiler.node_types import onnx_op_types
from xyntra.dialects import make_context
from xyntra.frontends.onnx.file.container import scan
from xyntra.frontends.onnx.importer import import_model
from xyntra.plan.build_source import build_source_graph
from xyntra.plan.plan import TensorType
from xyntra.plan.source_graph import SourceGraph

T = "tensor<4xf32>"
SEGMENTS = "array<i32: 1, 0, 0, 0, 0, 0, 0, 0>"


def graph_of(model: onnx.ModelProto) -> SourceGraph:
    skeleton = scan(model.SerializeToString()).skeleton
    with make_context() as context, ir.Location.unknown():
        module = import_model(skeleton, {}, context=context, max_tensor_bytes=1 << 20)
        return build_source_graph(module.operation, onnx_op_types(skeleton))


def graph_of_text(text: str) -> SourceGraph:
    with make_context() as context, ir.Location.unknown():
        return build_source_graph(ir.Module.parse(text, context).operation, {})


def test_a_node_of_several_operations_is_one() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "first"),
        helper.make_node("Softplus", ["r"], ["s"], "second"),
        helper.make_node("Sub", ["s", "x"], ["y"], "third"),
    ]
    graph = graph_of(make_model(nodes, {"x": [2, 3]}, ["y"]))
    assert [node.label for node in graph.nodes] == ["first", "second", "third"]
    assert [node.op for node in graph.nodes] == ["Relu", "Softplus", "Sub"]
    assert [set(node.reads) for node in graph.nodes] == [{-1}, {0}, {1, -1}]
    assert graph.outputs == (2,)
    assert graph.nodes[0].types == (TensorType("float32", (2, 3)),)
    assert "arith.subf" in graph.nodes[2].operations


def test_weights_and_constants_are_left_out() -> None:
    initializers = [helper.make_tensor("w", TensorProto.FLOAT, [600], [1.0] * 600)]
    nodes = [helper.make_node("Add", ["x", "w"], ["y"], "add")]
    model = make_model(nodes, {"x": [600]}, ["y"])
    model.graph.initializer.extend(initializers)
    assert [node.reads for node in graph_of(model).nodes] == [(-1,)]


def test_repeated_names_make_no_cycle() -> None:
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], "same"),
        helper.make_node("Exp", ["a"], ["b"], "other"),
        helper.make_node("Abs", ["b"], ["y"], "same"),
    ]
    graph = graph_of(make_model(nodes, {"x": [4]}, ["y"]))
    assert [node.label for node in graph.nodes] == ["same", "other", "same"]
    assert all(read < index for index, node in enumerate(graph.nodes) for read in node.reads)


def test_outputs_that_are_inputs_and_several_results() -> None:
    nodes = [helper.make_node("Split", ["x"], ["a", "b"], "split", axis=0, num_outputs=2)]
    graph = graph_of(make_model(nodes, {"x": [5]}, ["b", "x", "a"]))
    assert graph.outputs == (0, -1, 0)
    assert set(graph.nodes[0].types) == {TensorType("float32", (s,)) for s in (2, 3)}


def test_mlir_has_its_operations() -> None:
    graph = graph_of_text(f"""func.func @main(%x: {T}) -> {T} {{
  %a = "xyntra.gelu"(%x) {{approximate = "none"}} : ({T}) -> {T} loc("a")
  %e = tensor.empty() : {T}
  %b = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}} ins(%a : {T}) outs(%e : {T}) {{
  ^bb0(%v: f32, %o: f32):
    %n = arith.negf %v : f32
    linalg.yield %n : f32
  }} -> {T} loc(fused["b", "c", "d"])
  return %b : {T}
}}""")
    assert [(node.op, node.label) for node in graph.nodes] == [
        ("gelu", "a"), ("negf", "b and 2 more"),
    ]  # fmt: skip
    assert graph.nodes[1].operations == ("linalg.generic", "arith.negf")


def test_captured_tensors_are_read() -> None:
    graph = graph_of_text(f"""func.func @main(%x: {T}) -> {T} {{
  %a = "xyntra.gelu"(%x) {{approximate = "none"}} : ({T}) -> {T} loc("a")
  %b = "xyntra.fused"() ({{
    %c = "xyntra.gelu"(%a) {{approximate = "none"}} : ({T}) -> {T}
    "xyntra.yield"(%c) {{operandSegmentSizes = {SEGMENTS}}} : ({T}) -> ()
  }}) {{kind = "elementwise", resultSegmentSizes = {SEGMENTS}}} : () -> {T} loc("b")
  return %b : {T}
}}""")
    assert graph.nodes[1].reads == (0,)
    assert graph.nodes[1].operations == ("xyntra.fused", "xyntra.gelu")


def test_bytes_give_the_graph_back() -> None:
    nodes = [helper.make_node("Neg", ["x"], ["y"], "é\u2028</script>")]
    graph = graph_of(make_model(nodes, {"x": [4]}, ["y"]))
    assert SourceGraph.from_bytes(graph.to_bytes()) == graph
    assert SourceGraph.from_bytes(SourceGraph().to_bytes()) == SourceGraph()


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"nodes": [[1]], "outputs": []}', b"\xff"])
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        SourceGraph.from_bytes(data)


def test_operators_of_functions_and_subgraphs_are_known() -> None:
    branch = helper.make_graph([helper.make_node("Exp", ["x"], ["z"], "inner")], "b", [], [])
    node = helper.make_node("If", ["c"], ["y"], "outer", then_branch=branch, else_branch=branch)
    model = make_model([node], {"x": [4]}, ["y"])
    function = helper.make_function(
        "own", "F", ["a"], ["b"], [helper.make_node("Sin", ["a"], ["b"])], []
    )
    model.functions.append(function)
    types = onnx_op_types(model.SerializeToString())
    assert types == {"outer": "If", "inner": "Exp", "Sin:b": "Sin"}
    assert onnx_op_types(b"\xff\xff") == {}
