# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random programs of what moves data and what reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from hypothesis import strategies as st
from linalg_interpreter import run
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.dialects.tensors.slices import concatenate
from xyntra.passes.manager import run_pipeline
from xyntra.passes.views.movers import moving_map
from xyntra.passes.views.structured import Interned

Shape = tuple[int, ...]
Emit = Callable[[TensorBuilder, list[Tensor]], Tensor]


@dataclass(frozen=True)
class Program:
    """Inputs by shape, steps that each append one tensor, and the tensors that are returned."""

    inputs: list[Shape]
    steps: list[Emit]
    results: list[int]

    def module(self) -> ir.Module:
        """The program as the function `main`."""
        module = ir.Module.create()
        location = ir.Location.current
        types = [ir.RankedTensorType.get(shape, ir.F32Type.get()) for shape in self.inputs]
        function = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get("main"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            },
            regions=1,
            ip=ir.InsertionPoint(module.body),
        )
        block = function.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
        builder = TensorBuilder(ir.InsertionPoint(block), location)
        values = [Tensor(argument, "float32") for argument in block.arguments]
        for step in self.steps:
            values.append(step(builder, values))
        returned = [values[index].value for index in self.results]
        builder.emit("func.return", returned, [])
        signature = ir.FunctionType.get(types, [value.type for value in returned])
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
        assert module.operation.verify()
        return module

    def arrays(self, seed: int) -> list[np.ndarray]:
        """Inputs of small integers, on which most of what programs do is exact."""
        generator = np.random.default_rng(seed)
        return [generator.integers(-3, 4, shape).astype(np.float32) for shape in self.inputs]


@st.composite
def programs(draw: st.DrawFn, max_steps: int = 12, kinds: tuple[str, ...] = ()) -> Program:
    """A program in which mostly the last values are read.

    Where `kinds` are given, a chain of steps of these kinds, of which only the last is returned.
    """
    sizes = st.sampled_from([1, 2, 3, 4, 6])
    inputs = draw(
        st.lists(st.lists(sizes, min_size=1, max_size=4).map(tuple), min_size=1, max_size=3)
    )
    shapes: list[Shape] = list(inputs)
    steps: list[Emit] = []
    for _ in range(draw(st.integers(1, max_steps))):
        index = max(draw(st.integers(0, len(shapes) - 1)), draw(st.integers(0, len(shapes) - 1)))
        index = len(shapes) - 1 if kinds else index
        emit, shape = draw(step_of(index, shapes, *kinds))
        if prod(shape) <= 600:
            steps.append(emit)
            shapes.append(shape)
    others = draw(st.lists(st.integers(0, len(shapes) - 1), max_size=0 if kinds else 2))
    return Program(list(inputs), steps, sorted({*others, len(shapes) - 1}))


def step_of(index: int, shapes: list[Shape], *kinds: str) -> st.SearchStrategy[tuple[Emit, Shape]]:
    """A step that reads value `index`, of one of the `kinds` or of any, with its shape."""
    makers = {
        "transpose": _transpose,
        "reshape": _reshape,
        "slice": _slice,
        "unary": _unary,
        "binary": _binary,
        "reduce": _reduce,
        "matmul": _matmul,
        "softmax": _softmax,
        "layer_norm": _layer_norm,
        "repeat": _repeat,
        "broadcast": _broadcast,
        "concatenate": _concatenate,
        "gather": _gather,
        "shift": _shift,
    }
    often = ["transpose", "reshape", "binary"]
    names = st.sampled_from(kinds or [*makers, *often])
    return names.flatmap(lambda name: makers[name](index, shapes))


@st.composite
def _transpose(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    order = draw(st.permutations(range(len(shapes[index]))))
    shape = tuple(shapes[index][axis] for axis in order)
    return lambda b, values: b.transpose(values[index], order), shape


@st.composite
def _reshape(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    """Joins and splits dimensions, and adds and drops those of size 1."""
    shape = list(shapes[index])
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(shape) - 1))
        kind = draw(st.sampled_from(["join", "split", "unit"]))
        if kind == "join" and at:
            shape[at - 1 : at + 1] = [shape[at - 1] * shape[at]]
        elif kind == "split" and len(shape) < 5:
            factor = draw(
                st.sampled_from([d for d in range(1, shape[at] + 1) if shape[at] % d == 0])
            )
            shape[at : at + 1] = [factor, shape[at] // factor]
        elif len(shape) < 5:
            shape.insert(at, 1)
    return lambda b, values: b.reshape(values[index], shape), tuple(shape)


@st.composite
def _slice(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    shape = shapes[index]
    starts = [draw(st.integers(0, size - 1)) for size in shape]
    steps = [draw(st.sampled_from([1, 1, 2, -1])) for _ in shape]
    sizes = [_room(*span) for span in zip(starts, shape, steps, strict=True)]
    return lambda b, values: b.slice(values[index], starts, sizes, steps), tuple(sizes)


def _room(start: int, size: int, step: int) -> int:
    return start + 1 if step < 0 else (size - start + step - 1) // step


@st.composite
def _unary(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    body = draw(st.sampled_from([lambda x: -x, lambda x: x + 1.0]))
    return lambda b, values: b.map(body, values[index], dtype="float32"), shapes[index]


@st.composite
def _binary(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    fitting = [i for i, shape in enumerate(shapes) if _broadcast_of(shape, shapes[index])]
    other = draw(st.sampled_from(fitting))
    body = draw(
        st.sampled_from([lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x.maximum(y)])
    )
    pair = draw(st.permutations([index, other]))
    shape = broadcast_shapes(shapes[index], shapes[other])
    return lambda b, values: b.map(body, *(values[i] for i in pair), dtype="float32"), shape


def _broadcast_of(one: Shape, other: Shape) -> bool:
    try:
        return bool(broadcast_shapes(one, other))
    except ValueError:
        return False


@st.composite
def _broadcast(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    shape = [draw(st.sampled_from([2, 3])) if size == 1 else size for size in shapes[index]]
    shape = [*draw(st.sampled_from([[], [2]])), *shape]
    return lambda b, values: b.broadcast_to(values[index], shape), tuple(shape)


@st.composite
def _reduce(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    axis = draw(st.integers(0, len(shapes[index]) - 1))
    keep = draw(st.booleans()) or len(shapes[index]) == 1
    shape = list(shapes[index])
    shape[axis : axis + 1] = [1] if keep else []
    kind = draw(st.sampled_from(["sum", "max"]))
    return lambda b, values: b.reduce(values[index], [axis], kind, keepdims=keep), tuple(shape)


@st.composite
def _matmul(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    """The last dimension of one tensor against one of another that has two."""
    size = shapes[index][-1]
    pairs = [(i, d) for i, s in enumerate(shapes) if len(s) == 2 for d in (0, 1) if s[d] == size]
    if not pairs:
        return draw(_unary(index, shapes))
    other, axis = draw(st.sampled_from(pairs))
    letters = "abcde"[: len(shapes[index]) - 1]
    right = "kn" if axis == 0 else "nk"
    equation = f"{letters}k,{right}->{letters}n"
    shape = (*shapes[index][:-1], shapes[other][1 - axis])
    return lambda b, values: b.einsum(equation, values[index], values[other]), shape


@st.composite
def _softmax(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    axis = draw(st.integers(0, len(shapes[index]) - 1))
    return lambda b, values: _named(b, "xyntra.softmax", values[index], axis), shapes[index]


@st.composite
def _layer_norm(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    axis = draw(st.integers(0, len(shapes[index]) - 1))
    return lambda b, values: _named(b, "xyntra.layer_norm", values[index], axis), shapes[index]


def _named(b: TensorBuilder, name: str, x: Tensor, axis: int) -> Tensor:
    attributes: dict[str, ir.Attribute] = {
        "axis": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis)
    }
    if name == "xyntra.layer_norm":
        attributes["epsilon"] = ir.FloatAttr.get(ir.F32Type.get(), 1.0)
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 0, 0])
    return Tensor(b.emit(name, [x.value], [x.value.type], attributes).results[0], "float32")


@st.composite
def _concatenate(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    axis = draw(st.integers(0, len(shapes[index]) - 1))
    rest = [shape[:axis] + shape[axis + 1 :] for shape in shapes]
    ranks = [len(shape) for shape in shapes]
    here = rest[index], ranks[index]
    other = draw(
        st.sampled_from([i for i, pair in enumerate(zip(rest, ranks, strict=True)) if pair == here])
    )
    shape = list(shapes[index])
    shape[axis] += shapes[other][axis]
    return lambda b, v: concatenate(b, [v[index], v[other]], axis), tuple(shape)


@st.composite
def _repeat(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    """Every element of one dimension twice, as a nearest-neighbour resize does."""
    axis = draw(st.integers(0, len(shapes[index]) - 1))
    shape = list(shapes[index])
    shape[axis] *= 2

    def positions(*loops: ir.AffineExpr) -> list[ir.AffineExpr]:
        return [
            ir.AffineExpr.get_floor_div(loop, 2) if d == axis else loop
            for d, loop in enumerate(loops)
        ]

    return lambda b, values: b.view(values[index], shape, positions), tuple(shape)


@st.composite
def _gather(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    """Elements of a tensor at positions that another one holds."""
    other = draw(st.integers(0, len(shapes) - 1))

    def emit(b: TensorBuilder, values: list[Tensor]) -> Tensor:
        def body(x: Scalar, _: Scalar) -> Scalar:
            bounded = x.maximum(0.0).minimum(9.0).value
            i64 = ir.IntegerType.get_signless(64)
            op = ir.Operation.create("arith.fptosi", results=[i64], operands=[bounded])
            number = Scalar(op.results[0], "int64")
            at = [number.minimum(n - 1).cast("index") for n in values[index].shape]
            return b.extract(values[index], at)

        where = values[other], b.identity(len(shapes[other]))
        output = b.empty(shapes[other], "float32"), "float32", where[1]
        return b.generic([where], [output], ["parallel"] * len(shapes[other]), body)[0]

    return emit, shapes[other]


@st.composite
def _shift(draw: st.DrawFn, index: int, shapes: list[Shape]) -> tuple[Emit, Shape]:
    """The next element along one dimension, read at a computed position."""
    shape = shapes[index]
    axis = draw(st.integers(0, len(shape) - 1))

    def emit(b: TensorBuilder, values: list[Tensor]) -> Tensor:
        def body(*_: Scalar) -> Scalar:
            where = [b.index(d) for d in range(len(shape))]
            where[axis] = (where[axis] + 1).minimum(shape[axis] - 1)
            return b.extract(values[index], where)

        output = b.empty(shape, "float32"), "float32", b.identity(len(shape))
        return b.generic([], [output], ["parallel"] * len(shape), body)[0]

    return emit, shape


def copies(module: ir.Module) -> int:
    """Operations that only move data."""
    interned = Interned()
    block = module.body.operations[0].operation.regions[0].blocks[0]
    return sum(moving_map(view.operation, interned) is not None for view in block.operations)


def check(program: Program, seed: int, passes: list[str]) -> tuple[int, int]:
    """Compare the numbers before and after `passes`; the copies that there were and are."""
    arrays = program.arrays(seed)
    with make_context(), ir.Location.unknown():
        module = program.module()
        # What nothing reads disappears first: it would count as a copy.
        run_pipeline(module, ["canonicalize", "cse"])
        before, wanted = copies(module), run(module, arrays)
        run_pipeline(module, passes)
        for mine, reference in zip(run(module, arrays), wanted, strict=True):
            np.testing.assert_allclose(mine, reference, rtol=1e-5, atol=1e-5)
        return before, copies(module)
