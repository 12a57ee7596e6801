# SPDX-License-Identifier: MIT OR Apache-2.0
"""The reduced graph is a valid ONNX model with one node a kernel and a type on every value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from hostile_model import EVIL, evil_model
from onnx import helper, numpy_helper

from xyntra.observe.reduced_onnx import WeightRange, reduced_model
from xyntra.plan.plan import Buffer, KernelCode, Plan, Port, Step, TensorType

F32 = TensorType("float32", (250,))
WEIGHTS = {"w": F32}


def attributes(node: onnx.NodeProto) -> dict[str, object]:
    return {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}


def check(model: onnx.ModelProto) -> None:
    onnx.checker.check_model(model, full_check=True)
    typed = {value.name for value in (*model.graph.input, *model.graph.value_info)}
    typed |= {value.name for value in model.graph.output}
    typed |= {tensor.name for tensor in model.graph.initializer}
    for node in model.graph.node:
        assert {*node.input, *node.output} <= typed
        assert node.domain == "xyntra"


def test_a_node_a_kernel(costed: Plan) -> None:
    model = reduced_model(costed, WEIGHTS, {}, "m")
    check(model)
    nodes = model.graph.node
    assert [node.op_type for node in nodes] == ["data_1", "dot_1", "row_1", "dot_1", "row_1"]
    assert [list(node.input) for node in nodes] == [
        ["w"], ["x", "kernel_L0"], ["kernel_0"], ["kernel_1", "kernel_L0"], ["kernel_2"],
    ]  # fmt: skip
    assert [list(node.output) for node in nodes][-1] == ["y"]
    assert {(o.domain, o.version) for o in model.opset_import} == {("", 20), ("xyntra", 1)}
    found = attributes(nodes[2])
    assert found["kind"] == b"row"
    assert found["nodes"] == [b"/l/0/soft"]
    assert found["mlir"] == b"func @row_1"
    assert found["bound"] == b"memory"
    assert found["predicted_ns"] == 1000.0
    assert found["at_load"] == 0
    assert found["boundaries"][0].startswith(b"/l/0/add -> /l/0/soft: both kernels")  # type: ignore[index]
    assert attributes(nodes[0])["at_load"] == 1


def test_what_is_not_known_is_left_out(costed: Plan) -> None:
    steps = tuple(replace(step, cost=None, boundaries=None) for step in costed.steps)
    model = reduced_model(replace(costed, steps=steps), WEIGHTS, {})
    check(model)
    assert not {"predicted_ns", "bound", "boundaries"} & set(attributes(model.graph.node[1]))


def test_weights_stay_in_their_file(costed: Plan, tmp_path: Path) -> None:
    values = np.arange(250, dtype=np.float32)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "w.bin").write_bytes(b"head" + values.tobytes())
    stored = {"w": WeightRange("below/w.bin", 4, 1000)}
    path = tmp_path / "m.onnx"
    path.write_bytes(reduced_model(costed, WEIGHTS, stored).SerializeToString())
    assert path.stat().st_size < 4000
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(path)
    assert [value.name for value in model.graph.input] == ["x"]
    np.testing.assert_array_equal(numpy_helper.to_array(model.graph.initializer[0]), values)


def test_weights_without_a_file_are_inputs(costed: Plan) -> None:
    model = reduced_model(costed, WEIGHTS, {})
    assert [value.name for value in model.graph.input] == ["x", "w"]
    assert len(model.graph.initializer) == 0


def test_a_buffer_in_place_has_a_name_for_every_writer() -> None:
    flat, square = TensorType("float32", (4,)), TensorType("float32", (2, 2))
    plan = Plan(
        inputs=(Port("x", "float32", (4,), 0),),
        outputs=(Port("kernel_0", "float32", (2, 2), 2),),
        buffers=(
            Buffer("input", 16),
            Buffer("constant", 2, data=b"\x01\x00"),
            Buffer("output", 16),
        ),
        steps=(
            Step("a", (0, 1), (2,), ("n",), once=False),
            Step("b", (2,), (2,), ("m",), once=False),
        ),
        kernels={
            "a": KernelCode("row", 1, 0, (), "", (flat, TensorType("bool", (2,))), (flat,)),
            "b": KernelCode("row", 1, 0, ((0, 0),), "", (square,), (square,)),
        },
    )
    model = reduced_model(plan, {}, {})
    check(model)
    first, second = model.graph.node
    # The output has the name that the first kernel's value would have had.
    assert list(second.output) == ["kernel_0"]
    assert list(first.output) == list(second.input) == ["kernel_0_2"]
    (constant,) = model.graph.initializer
    assert numpy_helper.to_array(constant).tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint64", "bool", "float64"])
def test_element_types(costed: Plan, dtype: str) -> None:
    model = reduced_model(costed, {"w": TensorType(dtype, ())}, {})
    check(model)
    type_ = model.graph.input[1].type.tensor_type
    assert helper.tensor_dtype_to_np_dtype(type_.elem_type).name == dtype
    assert type_.HasField("shape")


def test_odd_names_stay_valid(costed: Plan) -> None:
    plan, _ = evil_model(costed)
    model = reduced_model(plan, WEIGHTS, {}, "\ud800")
    check(onnx.ModelProto.FromString(model.SerializeToString()))
    assert [value.name for value in (*model.graph.input, *model.graph.output)] == [
        EVIL, "w", f"{EVIL}_2",
    ]  # fmt: skip
    nameless = replace(costed, inputs=(replace(costed.inputs[0], name=""),))
    check(reduced_model(nameless, WEIGHTS, {}))
