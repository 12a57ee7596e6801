# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makers of If, Loop, Scan and model-local functions, with bodies of random operators."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from verify.random_graphs.models.builder import Builder, Ref, Reject
from verify.random_graphs.reference.evaluator import Value
from verify.random_graphs.models.pointwise import broadcast_partner, unary
from verify.random_graphs.models.registry import maker

__all__: list[str] = []

_STEPS = ("Tanh", "Sigmoid", "Relu", "Abs", "Neg", "Sin", "Softsign", "Sqrt")


def _body(g: Builder, *, captures: bool) -> Builder:
    """A builder of a body, which sees the values around it."""
    inner = Builder(g.rng, g.style, g.scope.inner(), prefix=f"{g.prefix}b{g.counter}_", closed=True)
    g.counter += 1
    if captures:
        inner.refs = [ref for ref in g.refs if ref.array.size < 5000]
    return inner


def _steps(g: Builder, x: Ref, count: int) -> Ref:
    """A chain that keeps the shape and the type."""
    for _ in range(count):
        if g.chance(0.5):
            y = broadcast_partner(g, x, (x.elem,), one_way=True)
            x = g.node(g.choice(("Add", "Mul", "Sub", "Max")), [x, y])[0]
        else:
            op = g.choice(_STEPS)
            x = unary(g, op, x) if x.elem in g.allowed(op, 0) else x
    return x


def _named(ref: Ref, name: str | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name or ref.name, ref.elem, list(ref.shape))


def _graph(inner: Builder, name: str, inputs: list[Ref], outputs: list[Ref]) -> onnx.GraphProto:
    from verify.random_graphs.models.finish import initializers_of

    fresh: list[Ref] = []
    for ref in outputs:
        # A body's outputs are made in it, each one once.
        fresh.append(inner.node("Identity", [ref])[0])
    return helper.make_graph(
        inner.nodes,
        name,
        [_named(ref) for ref in inputs],
        [_named(ref) for ref in fresh],
        initializers_of(inner),
    )


def _argument(inner: Builder, array: np.ndarray, elem: int) -> Ref:
    ref = Ref(inner.name(), elem, array)
    inner.refs.append(ref)
    inner.scope.values[ref.name] = Value(array, elem)
    return ref


@maker("if", 0.8)
def _if(g: Builder) -> None:
    x = g.pick((g.style.float_type,), where=lambda r: bool(r.array.size))
    branches = []
    for name in ("then", "else"):
        inner = _body(g, captures=True)
        results = [_steps(inner, x, inner.integer(0, 4)) for _ in range(1)]
        branches.append(_graph(inner, name, [], results))
    if g.chance(0.3):
        condition = g.constant(np.array(g.chance(0.5)), TensorProto.BOOL)
    else:
        condition = g.input((), TensorProto.BOOL)
    g.node("If", [condition], then_branch=branches[0], else_branch=branches[1])


@maker("loop", 0.8)
def _loop(g: Builder) -> None:
    x = g.pick((g.style.float_type,), where=lambda r: bool(r.array.size))
    inner = _body(g, captures=True)
    step = _argument(inner, np.array(0, np.int64), TensorProto.INT64)
    go = _argument(inner, np.array(True), TensorProto.BOOL)
    carried = _argument(inner, x.array, x.elem)
    result = _steps(inner, carried, inner.integer(1, 4))
    if inner.chance(0.4):
        number = inner.node("Cast", [step], to=x.elem)[0]
        result = inner.node("Add", [result, number])[0]
    outputs = [go, result]
    if inner.chance(0.5):
        outputs.append(_steps(inner, result, 1))
    body = _graph(inner, "body", [step, go, carried], outputs)
    count = g.integers(g.integer(1, 4))
    go_on = g.constant(np.array(True), TensorProto.BOOL) if g.chance(0.5) else None
    g.node("Loop", [count, go_on, x], len(outputs) - 1, body=body)


@maker("scan", 0.8)
def _scan(g: Builder) -> None:
    if g.opset < 9:
        raise Reject("the old Scan")
    x = g.pick((g.style.float_type,), 1, 4, lambda r: bool(r.array.size) and min(r.shape) < 9)
    axis = g.choice([i for i, n in enumerate(x.shape) if n < 9])
    inner = _body(g, captures=g.chance(0.5))
    part = np.take(x.array, 0, axis)
    state = g.weight(part.shape, x.elem)
    carried = _argument(inner, state.array, x.elem)
    piece = _argument(inner, part, x.elem)
    inner.refs = [ref for ref in inner.refs if ref.name in inner.scope.values]
    total = inner.node(inner.choice(("Add", "Mul", "Max", "Sub")), [carried, piece])[0]
    total = _steps(inner, total, inner.integer(0, 2))
    outputs = [total]
    if inner.chance(0.7):
        outputs.append(_steps(inner, piece if inner.chance(0.3) else total, 1))
    body = _graph(inner, "body", [carried, piece], outputs)
    found: dict[str, object] = {"scan_input_axes": [axis], "num_scan_inputs": 1}
    if g.chance(0.3):
        found["scan_input_directions"] = [1]
    if len(outputs) > 1 and g.chance(0.3):
        found["scan_output_directions"] = [1]
    if len(outputs) > 1 and g.chance(0.3):
        found["scan_output_axes"] = [g.integer(0, part.ndim)]
    g.node("Scan", [state, x], len(outputs), body=body, **found)


def _reference(name: str, outer: str) -> onnx.AttributeProto:
    """An attribute of a node of a function that takes a float attribute of the call."""
    return onnx.AttributeProto(
        name=name, ref_attr_name=outer, type=onnx.AttributeProto.AttributeType.FLOAT
    )


@maker("function", 1)
def _function(g: Builder) -> None:
    """A model-local function with an attribute, called once or more."""
    if g.prefix or g.opset < 10:
        raise Reject("functions are made in the main graph")
    x = g.pick((TensorProto.FLOAT, TensorProto.DOUBLE), fresh=0.1)
    inner = Builder(g.rng, g.style, g.scope.inner(), prefix="f_", closed=True)
    first = _argument(inner, x.array, x.elem)
    second = _argument(inner, x.array, x.elem)
    result = _steps(inner, first, inner.integer(1, 4))
    result = inner.node(inner.choice(("Add", "Mul", "Sub")), [result, second])[0]
    nodes = list(inner.nodes)
    if inner.initializers:
        raise Reject("functions have no initializers")
    attributes = []
    if g.chance(0.5):
        leaky = helper.make_node("LeakyRelu", [result.name], ["f_result"])
        leaky.attribute.append(_reference("alpha", "slope"))
        nodes.append(leaky)
        attributes = ["slope"]
    else:
        nodes.append(helper.make_node("Identity", [result.name], ["f_result"]))
    name = f"Local{len(g.scope.functions)}"
    function = helper.make_function(
        "local",
        name,
        [first.name, second.name],
        ["f_result"],
        nodes,
        [helper.make_opsetid("", g.opset)],
        attributes,
    )
    g.functions.append(function)
    dict_of = g.scope.functions
    assert isinstance(dict_of, dict)
    dict_of["local", name] = function
    for _ in range(g.integer(1, 2)):
        y = broadcast_partner(g, x, (x.elem,), one_way=True)
        found = {"slope": g.real(-1, 1)} if attributes else {}
        x = g.node(name, [x, y], domain="local", **found)[0]
