# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans: built from the kernel level, written as JSON and read again."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.errors import CompileError, UnsupportedError
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.manager import run_pipeline
from xyntra.plan.build import build_plan, constant_bytes
from xyntra.plan.plan import Buffer, KernelCode, Plan, Port, Step

T = "tensor<4x8xf32>"
KERNEL = f"""
#id = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: {T}) -> {T}
    attributes {{xyntra.kernel = #xyntra.kernel<{{kind = "elementwise"}}>}} {{
  %e = tensor.empty() : {T}
  %y = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%x : {T}) outs(%e : {T}) {{
  ^bb0(%v: f32, %o: f32):
    %n = arith.negf %v : f32
    linalg.yield %n : f32
  }} -> {T}
  return %y : {T}
}}
"""


def plan_of(text: str) -> Plan:
    with make_context() as context, ir.Location.unknown():
        return build_plan(ir.Module.parse(text, context).operation, operations=3)


def main(body: str, arguments: str = f"%x: {T}", result: str = T) -> str:
    return f"{KERNEL}\nfunc.func @main({arguments}) -> {result} {{\n{body}\n}}"


def test_a_call_is_a_step() -> None:
    plan = plan_of(
        main(
            f'  %y = call @k(%x) : ({T}) -> {T} loc(fused["a", "b", "a"])\n  return %y : {T}',
            f'%x: {T} {{xyntra.input = "in", xyntra.dtype = "float32"}}',
            f'({T} {{xyntra.output = "out"}})',
        )
    )
    assert plan.inputs == (Port("in", "float32", (4, 8), 0),)
    assert plan.outputs == (Port("out", "float32", (4, 8), 1),)
    assert plan.buffers == (Buffer("input", 128), Buffer("output", 128))
    assert plan.steps == (Step("k", (0,), (1,), ("a", "b"), once=False),)
    assert plan.kernels["k"].kind == "elementwise"
    assert plan.step_bytes(plan.steps[0]) == 256


def test_views_share_the_buffer() -> None:
    flat = "tensor<32xf32>"
    plan = plan_of(
        main(
            f"""  %a = call @k(%x) : ({T}) -> {T}
  %f = tensor.collapse_shape %a [[0, 1]] : {T} into {flat}
  %b = tensor.expand_shape %f [[0, 1]] output_shape [4, 8] : {flat} into {T}
  %c = call @k(%b) : ({T}) -> {T}
  %g = tensor.collapse_shape %c [[0, 1]] : {T} into {flat}
  return %g : {flat}""",
            result=flat,
        )
    )
    assert [(step.inputs, step.outputs) for step in plan.steps] == [((0,), (1,)), ((1,), (2,))]
    assert [buffer.kind for buffer in plan.buffers] == ["input", "temporary", "output"]
    assert plan.outputs == (Port("output0", "float32", (32,), 2),)


def test_what_depends_on_weights_alone_is_computed_once() -> None:
    plan = plan_of(
        main(
            f"""  %a = call @k(%w) : ({T}) -> {T}
  %b = call @k(%a) : ({T}) -> {T}
  %k = arith.constant dense<2.0> : {T}
  %c = call @k(%k) : ({T}) -> {T}
  %y = call @k(%x) : ({T}) -> {T}
  return %y : {T}""",
            f'%x: {T}, %w: {T} {{xyntra.parameter = "w"}}',
        )
    )
    assert [step.once for step in plan.steps] == [True, True, True, False]
    assert [buffer.kind for buffer in plan.buffers] == [
        "input", "parameter", "prepared", "prepared", "constant", "prepared", "output",
    ]  # fmt: skip
    assert plan.parameters == ["w"]
    assert [port.name for port in plan.inputs] == ["input0"]


def test_a_result_is_never_computed_once() -> None:
    plan = plan_of(
        main(
            f"  %y = call @k(%w) : ({T}) -> {T}\n  return %y : {T}",
            f'%w: {T} {{xyntra.parameter = "w"}}',
        )
    )
    assert [step.once for step in plan.steps] == [False]
    assert [buffer.kind for buffer in plan.buffers] == ["parameter", "output"]


def test_a_kernel_may_write_into_its_argument() -> None:
    text = main(
        f"""  %a = call @k(%x) : ({T}) -> {T}
  %b = call @k(%a) : ({T}) -> {T}
  %c = call @k(%b) : ({T}) -> {T}
  return %c : {T}"""
    )
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse(text, context)
        run_pipeline(module, "reuse-buffers")
        plan = build_plan(module.operation, operations=3)
    assert plan.steps[1].inputs == plan.steps[1].outputs
    assert plan.step_bytes(plan.steps[1]) == plan.step_bytes(plan.steps[0]) == 256
    assert plan.kernels[plan.steps[1].kernel].inplace == ((0, 0),)
    assert [buffer.kind for buffer in plan.buffers] == ["input", "temporary", "output"]


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        (KERNEL, CompileError, "no-main"),
        (main(f"  return %x : {T}"), CompileError, "result-not-written"),
        (
            main(
                f"  %y = call @k(%x) : ({T}) -> {T}\n  return %y, %y : {T}, {T}",
                result=f"({T}, {T})",
            ),
            CompileError,
            "result-not-written",
        ),
        (
            main(f"  %y = linalg.negf ins(%x : {T}) outs(%x : {T}) -> {T}\n  return %y : {T}"),
            CompileError,
            "not-a-kernel",
        ),
        (
            main(f"  %y = call @main(%x) : ({T}) -> {T}\n  return %y : {T}"),
            CompileError,
            "not-a-kernel",
        ),
        (
            main(f"  cf.br ^a\n^a:\n  %y = call @k(%x) : ({T}) -> {T}\n  return %y : {T}"),
            UnsupportedError,
            "control-flow-unsupported",
        ),
    ],
    ids=["no main", "an argument returned", "returned twice", "no kernel", "no callee", "branches"],
)
def test_what_is_no_plan_is_refused(text: str, kind: type[Exception], code: str) -> None:
    with pytest.raises(kind) as caught:
        plan_of(text)
    assert getattr(caught.value, "code", None) == code


CONSTANTS = {
    "float32": np.array([[1.5, -0.0, 3e-40], [np.inf, 2, 3]], np.float32),
    "float64": np.array([0.1, 1e300]),
    "float16": np.array([1.5, 65504, 6e-8], np.float16),
    "bfloat16": np.array([1.5, 3e38, -0.0, np.inf], ml_dtypes.bfloat16),
    "splat": np.full((3, 2), 2.5, ml_dtypes.bfloat16),
    "nan": np.array([np.nan, 1], ml_dtypes.bfloat16),
    "int64": np.array([-(2**63), 2**63 - 1]),
    "int8": np.arange(-3, 3, dtype=np.int8),
    "bool": np.array([True, False, True, True, False, False, True, False, True]),
    "true": np.full(9, True),
    "scalar": np.array(7, np.int32),
    "empty": np.empty((0, 3), np.float32),
}


@pytest.mark.parametrize("array", CONSTANTS.values(), ids=CONSTANTS)
def test_constants_keep_every_bit(array: np.ndarray) -> None:
    from xyntra.dialects.builder import TensorBuilder

    with make_context(), ir.Location.unknown() as location:
        module = ir.Module.create()
        builder = TensorBuilder(ir.InsertionPoint(module.body), location)
        attribute = builder.constant(array).value.owner.attributes["value"]
        assert constant_bytes(attribute) == array.tobytes()
        again = ir.Attribute.parse(str(attribute))
        assert constant_bytes(again) == array.tobytes()


def test_nodes_of_a_location() -> None:
    with make_context():
        named = [ir.Location.name(name) for name in ("a", "b", "a")]
        inner = ir.Location.fused(named[:2])
        assert source_nodes(ir.Location.fused([inner, named[2]])) == ["a", "b"]
        assert source_nodes(ir.Location.unknown()) == []
        assert source_nodes(ir.Location.file("f", 1, 2)) == ["line 1"]


def test_json_gives_the_plan_back() -> None:
    plan = Plan(
        inputs=(Port("x", "bfloat16", (2, 0), 0),),
        outputs=(Port("y", "bool", (), 3),),
        buffers=(
            Buffer("input", 0),
            Buffer("parameter", 8, name="w"),
            Buffer("constant", 3, data=b"\x00\xff\n"),
            Buffer("output", 1),
        ),
        steps=(Step("k", (0, 1, 2), (3,), ("é", "b"), once=True),),
        kernels={"k": KernelCode("row", 10, 64, ((0, 1),), "func", schedules=("s",))},
        operations=5,
        parameter_file="m.onnx",
    )
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert plan.inputs[0].nbytes == 0
    assert plan.outputs[0].nbytes == 1
