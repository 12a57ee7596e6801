# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random graphs: fusion keeps the numbers and the order, and joins what it can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from torch_mlir import ir

import xyntra
from xyntra.dialects import KernelFacts, make_context
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.passes.manager import run_pipeline
from xyntra.passes.pipelines import fusion_pipeline

Emit = Callable[[TensorBuilder, list[Tensor]], Tensor]
Compute = Callable[[list[np.ndarray]], np.ndarray]

SHAPES = [(4, 6), (6, 4), (4, 1), (6,), (), (4, 6, 2), (1, 6)]
# On small integers all of these are exact in float32, so that results can be compared bit by bit.
UNARY: list[tuple[Callable[..., Scalar], Callable[..., np.ndarray]]] = [
    (lambda x: -x, np.negative),
    (lambda x: x.absolute(), np.abs),
    (lambda x: x + 1, lambda x: x + 1),
]
BINARY: list[tuple[Callable[..., Scalar], Callable[..., np.ndarray]]] = [
    (lambda x, y: x + y, np.add),
    (lambda x, y: x - y, np.subtract),
    (lambda x, y: x.maximum(y), np.maximum),
    (lambda x, y: x.minimum(y), np.minimum),
]


@dataclass(frozen=True)
class Step:
    """One operation of a program, built in IR and computed with numpy."""

    operands: tuple[int, ...]
    emit: Emit
    compute: Compute


@dataclass(frozen=True)
class Program:
    """Operations on the values before them; the first values are inputs of these shapes."""

    inputs: list[tuple[int, ...]]
    steps: list[Step]
    results: list[int]

    def module(self) -> ir.Module:
        """The program as a function on tensors."""
        module = ir.Module.create()
        location = ir.Location.current
        types = [ir.RankedTensorType.get(shape, ir.F32Type.get()) for shape in self.inputs]
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
                },
                regions=1,
            )
        block = function.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
        builder = TensorBuilder(ir.InsertionPoint(block), location)
        values = [Tensor(argument, "float32") for argument in block.arguments]
        for step in self.steps:
            values.append(step.emit(builder, [values[index] for index in step.operands]))
        returned = [values[index].value for index in self.results]
        builder.emit("func.return", returned, [])
        type_ = ir.FunctionType.get(types, [value.type for value in returned])
        function.attributes["function_type"] = ir.TypeAttr.get(type_)
        assert module.operation.verify()
        return module

    def compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The results in double precision."""
        values = [array.astype(np.float64) for array in inputs]
        for step in self.steps:
            values.append(np.asarray(step.compute([values[index] for index in step.operands])))
        return [values[index] for index in self.results]


def _map(body: Callable[..., object]) -> Emit:
    return lambda b, operands: b.map(body, *operands, dtype="float32")  # type: ignore[arg-type]


def _broadcasts(*shapes: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


@st.composite
def programs(draw: st.DrawFn) -> Program:
    inputs = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
    shapes = list(inputs)
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 14))):
        # Mostly recent values, so that chains grow; old ones too, so that they meet again.
        index = max(draw(st.integers(0, len(shapes) - 1)), draw(st.integers(0, len(shapes) - 1)))
        step, shape = draw(_steps(index, shapes))
        steps.append(step)
        shapes.append(shape)
    computed = range(len(inputs), len(shapes))
    results = draw(st.lists(st.sampled_from(computed), max_size=3, unique=True))
    last = len(shapes) - 1
    return Program(list(inputs), steps, sorted({*results, last}))


@st.composite
def _steps(
    draw: st.DrawFn, index: int, shapes: list[tuple[int, ...]]
) -> tuple[Step, tuple[int, ...]]:
    shape = shapes[index]
    kind = draw(st.sampled_from(["unary", "binary", "binary", "binary", "transpose", "reduce"]))
    if kind == "binary":
        fitting = [i for i, other in enumerate(shapes) if _broadcasts(shape, other)]
        other = draw(st.sampled_from(fitting))
        body, numpy = draw(st.sampled_from(BINARY))
        step = Step((index, other), _map(body), lambda values: numpy(*values))
        return step, np.broadcast_shapes(shape, shapes[other])
    if kind == "transpose" and len(shape) > 1:
        order = draw(st.permutations(range(len(shape))))
        step = Step(
            (index,),
            lambda b, values: b.transpose(values[0], order),
            lambda values: values[0].transpose(order),
        )
        return step, tuple(shape[axis] for axis in order)
    if kind == "reduce" and shape:
        step = Step(
            (index,),
            lambda b, values: b.reduce(values[0], [len(shape) - 1], "max"),
            lambda values: values[0].max(-1, keepdims=True),
        )
        return step, (*shape[:-1], 1)
    body, numpy = draw(st.sampled_from(UNARY))
    return Step((index,), _map(body), lambda values: numpy(values[0])), shape


CI = hypothesis_settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@CI
@given(programs())
def test_the_ir_stays_valid(program: Program) -> None:
    with make_context(), ir.Location.unknown():
        module = program.module()
        # Every step verifies: a cycle between groups would break dominance.
        run_pipeline(module, "prepare")
        run_pipeline(module, "fuse")
        main = module.body.operations[0].operation
        regions = [op for op in _operations(main) if op.name == "xyntra.fused"]
        run_pipeline(module, "kernels")
        assert module.operation.verify()
        functions = [view.operation for view in module.body.operations]
        kernels = [op for op in functions if KernelFacts.of(op) is not None]
        (main,) = (op for op in functions if KernelFacts.of(op) is None)
        calls = [op for op in _operations(main) if op.name == "func.call"]
        assert len(calls) == len(regions)
        assert {ir.FlatSymbolRefAttr(call.attributes["callee"]).value for call in calls} == {
            ir.StringAttr(kernel.attributes["sym_name"]).value for kernel in kernels
        }
        others = {op.name for op in _operations(main)} - {"func.call", "func.return"}
        assert others <= {"tensor.collapse_shape", "tensor.expand_shape", "arith.constant"}


def _operations(function: ir.Operation) -> list[ir.Operation]:
    return [view.operation for view in function.regions[0].blocks[0].operations]


# Few: the random graphs of test/bench/fusion are compared in the same way.
@hypothesis_settings(CI, max_examples=15)
@given(program=programs(), seed=st.integers(0, 2**32))
def test_the_numbers_stay(settings: dict[str, object], program: Program, seed: int) -> None:
    generator = np.random.default_rng(seed)
    inputs = [generator.integers(-3, 4, shape).astype(np.float32) for shape in program.inputs]
    with make_context(), ir.Location.unknown():
        text = str(program.module())
    wanted = program.compute(inputs)
    for fuse in (True, False):
        compiled = xyntra.compile(text, config={**settings, "fuse": fuse, "opt_level": 0})
        found = compiled(*inputs)
        for mine, reference in zip(found if len(wanted) > 1 else [found], wanted, strict=True):
            assert mine.shape == reference.shape
            np.testing.assert_array_equal(mine, reference)


def kernels_of(steps: list[Step], inputs: list[tuple[int, ...]], results: list[int]) -> int:
    """The number of kernels of a program."""
    with make_context(), ir.Location.unknown():
        module = Program(inputs, steps, results).module()
        for pipeline in ("prepare", fusion_pipeline(egraph=False, fast_math=False)):
            run_pipeline(module, pipeline)
        main = module.body.operations[0].operation
        return sum(op.name == "xyntra.fused" for op in _operations(main))


def unary(index: int, choice: int = 0) -> Step:
    return Step((index,), _map(UNARY[choice][0]), lambda values: UNARY[choice][1](values[0]))


def binary(one: int, other: int) -> Step:
    return Step((one, other), _map(BINARY[0][0]), lambda values: np.add(*values))


def transposed(index: int) -> Step:
    return Step(
        (index,), lambda b, values: b.transpose(values[0], [1, 0]), lambda values: values[0].T
    )


def row_maximum(index: int) -> Step:
    return Step(
        (index,),
        lambda b, values: b.reduce(values[0], [1], "max"),
        lambda values: values[0].max(1, keepdims=True),
    )


S = (4, 6)
EXPECTED: dict[str, tuple[list[Step], list[tuple[int, ...]], list[int], int]] = {
    "a chain": ([unary(0), unary(1, 1), unary(2, 2)], [S], [3], 1),
    "a diamond": ([unary(0), unary(1, 1), unary(1, 2), binary(2, 3)], [S], [4], 1),
    "every value returned": ([unary(0, 2), unary(1, 1), unary(2, 2)], [S], [1, 2, 3], 1),
    "a broadcast operand": ([binary(0, 1), unary(2)], [S, (6,)], [3], 1),
    "small siblings of two shapes": ([unary(0, 1), unary(1, 1)], [S, (6,)], [2, 3], 1),
    "siblings without a producer": ([unary(0, 1), unary(0, 2)], [S], [1, 2], 1),
    "around a reduction": ([unary(0), row_maximum(1), binary(1, 2)], [S], [3], 1),
    "around a small transposition": ([unary(0), transposed(1), unary(2, 1)], [S], [3], 1),
}


@pytest.mark.parametrize(("steps", "inputs", "results", "count"), EXPECTED.values(), ids=EXPECTED)
def test_what_joins(
    steps: list[Step], inputs: list[tuple[int, ...]], results: list[int], count: int
) -> None:
    assert kernels_of(steps, inputs, results) == count


def test_a_region_has_a_largest_size() -> None:
    steps = [unary(index, index % 2 + 1) for index in range(300)]
    assert kernels_of(steps, [S], [300]) == 2
