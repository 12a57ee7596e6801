# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates an ONNX model in float64, with or without the roundings of its types and noise.

The evaluator walks nodes itself, bodies of control flow and model-local functions included, so
that every intermediate value can be rounded or disturbed. What one operator computes comes from
`kernels`, from onnx's reference implementation on arrays of float64, or from onnxruntime (for
operators of com.microsoft).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper

from verify.random_graphs.dtypes import DTYPES, elem_of, from_proto_text, is_float, rounded, wide
from verify.random_graphs.reference import foreign, noise
from verify.random_graphs.reference.call import Call, attribute, result_type
from verify.random_graphs.reference.kernels import find

__all__ = ["Mode", "Scope", "Value", "evaluate", "evaluate_node", "value_of"]


@dataclass(frozen=True)
class Value:
    """A wide array and its element type in the model."""

    array: np.ndarray
    elem: int


@dataclass
class Mode:
    """How values between nodes are treated.

    Attributes:
        rounding: whether floats are rounded to the model's type after every node.
        random: disturbs the results of inexact operators by a few units in the last place.
    """

    rounding: bool = True
    random: np.random.Generator | None = None


@dataclass
class Scope:
    """What nodes of one graph see.

    Attributes:
        values: by name; None for an optional input that is left out.
        opsets: version by domain.
        functions: model-local functions by domain and name.
        attributes: those of the call, inside a function.
    """

    values: dict[str, Value | None]
    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str], onnx.FunctionProto]
    attributes: Mapping[str, onnx.AttributeProto]

    def inner(self) -> Scope:
        """A scope for a body, which sees the values around it."""
        return Scope(dict(self.values), self.opsets, self.functions, self.attributes)


def value_of(array: np.ndarray) -> Value:
    """The value that a native array is."""
    return Value(wide(array), elem_of(array.dtype))


def evaluate(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], mode: Mode
) -> dict[str, Value]:
    """The outputs of a model by name, for native arrays by name."""
    opsets = {each.domain: each.version for each in model.opset_import}
    functions = {(each.domain, each.name): each for each in model.functions}
    scope = Scope({}, opsets, functions, {})
    scope.values |= {name: value_of(array) for name, array in inputs.items()}
    with np.errstate(all="ignore"):
        return {
            name: value
            for name, value in _graph(model.graph, scope, mode).items()
            if value is not None
        }


def _graph(graph: onnx.GraphProto, scope: Scope, mode: Mode) -> dict[str, Value | None]:
    for initializer in graph.initializer:
        scope.values[initializer.name] = value_of(numpy_helper.to_array(initializer))
    for node in graph.node:
        evaluate_node(node, scope, mode)
    return {each.name: scope.values[each.name] for each in graph.output}


def evaluate_node(node: onnx.NodeProto, scope: Scope, mode: Mode) -> list[Value]:
    """Evaluate one node and store its outputs in `scope`."""
    node = _with_attributes(node, scope)
    function = scope.functions.get((node.domain, node.op_type))
    arguments = [scope.values[name] if name else None for name in node.input]
    if node.domain == "" and node.op_type in _CONTROL:
        results = _CONTROL[node.op_type](node, arguments, scope, mode)
    elif function is not None:
        results = _call(node, function, arguments, scope, mode)
    else:
        results = _operator(node, arguments, scope, mode)
    for name, value in zip(node.output, results, strict=False):
        if name:
            scope.values[name] = value
    return results


def _with_attributes(node: onnx.NodeProto, scope: Scope) -> onnx.NodeProto:
    if not any(each.ref_attr_name for each in node.attribute):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for each in node.attribute:
        if not each.ref_attr_name:
            copy.attribute.append(each)
        elif each.ref_attr_name in scope.attributes:
            given = onnx.AttributeProto()
            given.CopyFrom(scope.attributes[each.ref_attr_name])
            given.name = each.name
            copy.attribute.append(given)
    return copy


def _operator(
    node: onnx.NodeProto, arguments: Sequence[Value | None], scope: Scope, mode: Mode
) -> list[Value | None]:
    elems = [None if each is None else each.elem for each in arguments]
    arrays = [None if each is None else each.array for each in arguments]
    floats = [elem for elem in elems if elem is not None and is_float(elem)]
    random = None if noise.is_exact(node, bool(floats)) else mode.random
    if random is not None:
        arrays = noise.disturbed_inputs(node, arrays, elems, random)
    accuracy = max((noise.accuracy(elem) for elem in floats), default=0.0)
    outputs, kinds = _computed(node, arrays, elems, scope, random, accuracy)
    if random is not None and node.op_type in noise.SUMS and not node.domain:
        sizes = [
            None if array is None else np.abs(array) if is_float(elem) else array
            for array, elem in zip(arrays, elems, strict=True)
        ]
        (size,), _ = _computed(node, sizes, elems, scope, None, 0.0)
        terms = max(array.size for array in arrays if array is not None) / max(size.size, 1)
        error = noise.sum_error(np.where(np.isfinite(size), size, 0), terms, accuracy)
        outputs = [outputs[0] + error * random.uniform(-1, 1, error.shape)]
    return [
        None if array is None else _stored(node, np.asarray(array), kind, arrays, random, mode)
        for array, kind in zip(outputs, kinds, strict=False)
    ]


def _computed(
    node: onnx.NodeProto,
    arrays: Sequence[np.ndarray | None],
    elems: Sequence[int | None],
    scope: Scope,
    random: np.random.Generator | None,
    accuracy: float,
) -> tuple[list[np.ndarray | None], list[int | None]]:
    """The results of one operator, not rounded, and their types."""
    version = scope.opsets[node.domain]
    if node.domain == "com.microsoft":
        found = foreign.onnxruntime_node(node, arrays, elems, scope.opsets)
        values = [None if each is None else value_of(each) for each in found]
        return [None if v is None else v.array for v in values], [
            None if v is None else v.elem for v in values
        ]
    attributes = {each.name: attribute(each) for each in node.attribute}
    kernel = find(node.op_type)
    if kernel is not None:
        given = (node.op_type, attributes, version, arrays, elems, len(node.output))
        outputs = kernel(Call(*given, random, accuracy))
    else:
        outputs = foreign.onnx_node(node, arrays, elems, version)
    listed = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    return listed, result_elems(node, attributes, elems, version, listed)


def _stored(
    node: onnx.NodeProto,
    array: np.ndarray,
    elem: int,
    arrays: Sequence[np.ndarray | None],
    random: np.random.Generator | None,
    mode: Mode,
) -> Value:
    if not is_float(elem):
        if random is not None and noise.may_overflow(elem, arrays):
            array = random.integers(0, 2, array.shape)
        return Value(array.astype(DTYPES[elem]) if array.dtype != DTYPES[elem] else array, elem)
    array = array.astype(np.float64)
    if random is not None:
        array = noise.disturbed_result(node, array, elem, arrays, random)
    return Value(rounded(array, elem) if mode.rounding else array, elem)


def result_elems(
    node: onnx.NodeProto,
    attributes: Mapping[str, object],
    elems: Sequence[int | None],
    version: int,
    outputs: Sequence[np.ndarray | None],
) -> list[int | None]:
    """Element types of the results of a node of the standard domain, by its schema."""
    special = result_type(node.op_type, attributes, elems, outputs)
    schema = onnx.defs.get_schema(node.op_type, version, "")
    bound: dict[str, int] = {}
    for position, elem in enumerate(elems):
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        if elem is not None:
            bound.setdefault(formal.type_str, elem)
    result: list[int | None] = []
    for position in range(len(outputs)):
        formal = schema.outputs[min(position, len(schema.outputs) - 1)]
        elem = special if position == 0 else None
        if elem is None:
            elem = bound.get(formal.type_str) or from_proto_text(formal.type_str)
        if elem is None:
            allowed = next(
                each.allowed_type_strs
                for each in schema.type_constraints
                if each.type_param_str == formal.type_str
            )
            elem = from_proto_text(next(iter(sorted(allowed, key=_preference))))
        result.append(elem)
    return result


def _preference(text: str) -> int:
    return (
        ["tensor(int64)", "tensor(float)", "tensor(bool)"].index(text)
        if text
        in (
            "tensor(int64)",
            "tensor(float)",
            "tensor(bool)",
        )
        else 9
    )


def _call(
    node: onnx.NodeProto,
    function: onnx.FunctionProto,
    arguments: Sequence[Value | None],
    scope: Scope,
    mode: Mode,
) -> list[Value]:
    attributes = {each.name: each for each in function.attribute_proto}
    attributes |= {each.name: each for each in node.attribute}
    opsets = {each.domain: each.version for each in function.opset_import}
    padded = [*arguments, *[None] * (len(function.input) - len(arguments))]
    values = dict(zip(function.input, padded, strict=True))
    inner = Scope(values, opsets, scope.functions, attributes)
    for each in function.node:
        evaluate_node(each, inner, mode)
    return [inner.values[name] for name in function.output]


def _attribute(node: onnx.NodeProto, name: str, default: object = None) -> object:
    for each in node.attribute:
        if each.name == name:
            return onnx.helper.get_attribute_value(each)
    return default


def _if(node: onnx.NodeProto, arguments: list[Value | None], scope: Scope, mode: Mode) -> list:
    taken = bool(arguments[0].array.reshape(-1)[0])
    body = _attribute(node, "then_branch" if taken else "else_branch")
    return list(_graph(body, scope.inner(), mode).values())


def _ordered(body: onnx.GraphProto, scope: Scope, mode: Mode) -> list[Value]:
    found = _graph(body, scope, mode)
    return [found[each.name] for each in body.output]


def _loop(node: onnx.NodeProto, arguments: list[Value | None], scope: Scope, mode: Mode) -> list:
    body = _attribute(node, "body")
    most = None if arguments[0] is None else int(arguments[0].array.reshape(-1)[0])
    go = True if len(arguments) < 2 or arguments[1] is None else bool(arguments[1].array.all())
    carried, count = list(arguments[2:]), 0
    scans: list[list[Value]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    while go and (most is None or count < most):
        inner = scope.inner()
        first = [Value(np.array(count, np.int64), 7), Value(np.array(go), 9), *carried]
        inner.values |= {each.name: v for each, v in zip(body.input, first, strict=True)}
        condition, *rest = _ordered(body, inner, mode)
        go, carried = bool(condition.array.all()), rest[: len(carried)]
        for found, value in zip(scans, rest[len(carried) :], strict=True):
            found.append(value)
        count += 1
        if count > 1000:
            raise ValueError("a loop does not end")
    if any(not each for each in scans):
        raise ValueError("no iteration says what a scan's result looks like")
    return carried + [Value(np.stack([v.array for v in each]), each[0].elem) for each in scans]


def _scan(node: onnx.NodeProto, arguments: list[Value | None], scope: Scope, mode: Mode) -> list:
    body, count = _attribute(node, "body"), int(_attribute(node, "num_scan_inputs"))
    states, scanned = list(arguments[:-count]), arguments[-count:]
    axes = _attribute(node, "scan_input_axes") or [0] * count
    backwards = _attribute(node, "scan_input_directions") or [0] * count
    outputs = len(body.output) - len(states)
    out_axes = _attribute(node, "scan_output_axes") or [0] * outputs
    out_backwards = _attribute(node, "scan_output_directions") or [0] * outputs
    moved = [np.moveaxis(v.array, axis, 0) for v, axis in zip(scanned, axes, strict=True)]
    moved = [m[::-1] if flag else m for m, flag in zip(moved, backwards, strict=True)]
    found: list[list[Value]] = [[] for _ in range(outputs)]
    for step in range(len(moved[0])):
        inner = scope.inner()
        parts = [Value(m[step], v.elem) for m, v in zip(moved, scanned, strict=True)]
        names = [each.name for each in body.input]
        inner.values |= dict(zip(names, [*states, *parts], strict=True))
        results = _ordered(body, inner, mode)
        states = results[: len(states)]
        for each, value in zip(found, results[len(states) :], strict=True):
            each.append(value)
    if any(not each for each in found):
        raise ValueError("no iteration says what a scan's result looks like")
    stacked = []
    for each, axis, flag in zip(found, out_axes, out_backwards, strict=True):
        arrays = [value.array for value in (reversed(each) if flag else each)]
        stacked.append(Value(np.stack(arrays, axis), each[0].elem))
    return [*states, *stacked]


_CONTROL = {"If": _if, "Loop": _loop, "Scan": _scan}
