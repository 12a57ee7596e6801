# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports an ONNX graph as linalg on tensors.

Each operator goes straight to linalg (or to a named op of the `xyntra` dialect) through a
numpy-like builder, with every shape static. Values that are known at compile time stay numpy
arrays, so shape arithmetic and static conditions disappear on the way. Weights become arguments of
the function, named by an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, TypeVar

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from torch_mlir import ir

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import item_bytes
from xyntra.errors import ModelError, UnsupportedError, XyntraError
from xyntra.frontends.onnx import ops
from xyntra.frontends.onnx.control.conditions import Conditions
from xyntra.frontends.onnx.control.control_flow import import_control_flow
from xyntra.frontends.onnx.control.requirements import Requirements
from xyntra.frontends.onnx.control.sized import sized_results
from xyntra.frontends.onnx.control.specialised import Specialised, ValueWanted
from xyntra.frontends.onnx.file.names import check_texts
from xyntra.frontends.onnx.folding.fold import fold
from xyntra.frontends.onnx.folding.mask_weights import MaskWeights
from xyntra.frontends.onnx.functions import bound_nodes, deep_recursion, schema_function
from xyntra.frontends.onnx.import_failures import failure_of_import
from xyntra.frontends.onnx.inputs.bound_values import bind_values
from xyntra.frontends.onnx.inputs.input_shapes import bind_inputs
from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.inputs.parts import take_apart
from xyntra.frontends.onnx.inputs.provenance import binding_hint
from xyntra.frontends.onnx.main_function import MainFunction
from xyntra.frontends.onnx.node import Node, find_handler
from xyntra.frontends.onnx.opsets import domain_of, opsets_of
from xyntra.frontends.onnx.order import node_label, sort_nodes
from xyntra.frontends.onnx.scope import Scope
from xyntra.frontends.onnx.signature import check_narrow, check_signature
from xyntra.frontends.onnx.states import LENGTH, States
from xyntra.frontends.onnx.values import Absent, Result, Sized, TensorSequence, Value, part_name

MAX_DEPTH = 32
"""Of graphs in nodes of graphs."""
MAX_CALLS = 500
"""Of functions that call each other, at one time."""
MAX_NODES = 200_000
"""With functions expanded and loops unrolled; functions that call others twice double each time."""
INLINE_BYTES = 1024
"""Constants up to this size live in the IR; larger ones are parameters."""

_Value = TypeVar("_Value")


def import_model(
    skeleton: bytes,
    shapes: Mapping[str, Sequence[int]],
    *,
    context: ir.Context,
    max_tensor_bytes: int,
    dims: Mapping[str, int] | None = None,
    constants: Mapping[str, Mapping[str, Any]] | None = None,
    values: Mapping[str, Mapping[str, Any]] | None = None,
    aliases: Mapping[str, str] | None = None,
    waits: bool = True,
) -> ir.Module:
    """Import a scanned model.

    Args:
        skeleton: a serialized ModelProto whose large tensors carry an `xyntra.weight` marker.
        shapes: sizes of the inputs with free dimensions, by input name.
        context: where to build, with the xyntra dialect loaded.
        max_tensor_bytes: refuse models with a larger intermediate tensor.
        dims: sizes of named dimensions.
        constants: values of inputs, as for `bind_values`; these are no arguments of `main`.
        values: of inputs in calls, which take their place where a shape depends on them.
        aliases: inputs that outputs are written over, by the names of the outputs.
        waits: whether calls wait for their results, and so can fail where a state has no room.

    Returns:
        A module with one function `main`; its arguments carry `xyntra.input` or
        `xyntra.parameter`, its results `xyntra.output`, each with `xyntra.dtype`. The attribute
        `xyntra.fixed_by` of an input says what gave the sizes of its free dimensions.

    Raises:
        ModelError, UnsupportedError, InputError: with the node or value they speak of.
    """
    model = onnx.ModelProto()
    try:
        model.ParseFromString(skeleton)
    except DecodeError as error:
        message = "the file is not an ONNX model"
        raise ModelError("model-not-onnx", message, cause=str(error)) from None
    check_texts(model)
    with deep_recursion(10 * MAX_CALLS):
        used: frozenset[str] = frozenset()
        while True:
            importer = _Importer(model, context, max_tensor_bytes, aliases or {}, waits=waits)
            try:
                return importer.run(shapes, dims or {}, constants or {}, values or {}, used)
            except ValueWanted as wanted:
                used |= wanted.names


class _Importer:
    def __init__(
        self,
        model: onnx.ModelProto,
        context: ir.Context,
        max_tensor_bytes: int,
        aliases: Mapping[str, str],
        *,
        waits: bool = True,
    ) -> None:
        self.states, self.waits = States(aliases), waits
        self.model = model
        self.context = context
        self.max_tensor_bytes = max_tensor_bytes
        self.opsets = opsets_of(model)
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.parameters: dict[str, Tensor] = {}
        self.calls: list[tuple[str, str]] = []
        self.nodes = 0
        self.conditions = Conditions()
        self.main = MainFunction(context)
        self.b = self.main.b
        self.masks = MaskWeights(model.graph)

    def run(
        self,
        shapes: Mapping[str, Sequence[int]],
        dims: Mapping[str, int],
        constants: Mapping[str, Mapping[str, Any]],
        values: Mapping[str, Mapping[str, Any]],
        used: frozenset[str],
    ) -> ir.Module:
        graph = self.model.graph
        self.requirements = Requirements(self.b)
        self.states.requirements = self.requirements if self.waits else None
        scope = Scope()
        given = {value.name for value in graph.initializer}
        declared = [value for value in graph.input if value.name not in given]
        inputs, composites, shapes = take_apart(declared, shapes)
        found: dict[str, Value] = {}
        bound = bind_values(inputs, constants)
        will_be = bind_values(inputs, values)
        self.specialised = Specialised(will_be, used)
        given_values = {**bound, **will_be}
        shapes = {**shapes, **{name: array.shape for name, array in given_values.items()}}
        for name, dtype, shape, fixed_by in bind_inputs(inputs, shapes, dims):
            self._check_bytes(shape, dtype, f"input '{name}'")
            value: Value | None = bound.get(name)
            if value is None:
                tensor = self.main.argument("input", name, shape, dtype, fixed_by)
                self.conditions.name(tensor, name)
                self.states.note(name, tensor)
                value = self.specialised.value(name)
                if value is None:
                    value = tensor
                else:
                    self.specialised.require(self.requirements, self.b, tensor, name)
            found[name] = value
        found |= {each.name: each.value(found) for each in composites}
        for entry in declared:
            scope.define(entry.name, found[entry.name], f"input '{entry.name}'")
        self._declare_length(graph)
        self._graph(graph, scope, depth=0)
        self._finish(scope)
        return self.main.module

    def _declare_length(self, graph: onnx.GraphProto) -> None:
        """Add the input that says how long caches are which a Concat appends to."""
        self.states.note_joins(graph.node)
        joined = [v for v, name in self.states.values.items() if name in self.states.joined]
        if joined and any(value.name == LENGTH for value in graph.input):
            raise UnsupportedError(
                "input-name", f"an input that is not the length of caches is called '{LENGTH}'"
            )
        if joined:
            batch = ir.RankedTensorType(joined[0].type).shape[0]
            self.states.length = self.main.argument("input", LENGTH, [batch], "int64")

    def _finish(self, scope: Scope) -> None:
        graph = self.model.graph
        if not graph.output:
            raise ModelError("graph-invalid", "the graph has no outputs")
        results: list[tuple[str, Tensor | Sized]] = []
        for value in graph.output:
            operand = scope.require(value.name, f"output '{value.name}'")
            results += self._parts(str(value.name), operand)
        self.main.finish(results, self.requirements)
        self.main.say_filled(self.states.joined, LENGTH)

    def _parts(self, name: str, value: Value) -> list[tuple[str, Tensor | Sized]]:
        """The results of `main` that an output is: one, those of a sequence, or none."""
        match value:
            case Sized():
                return [(name, value)]
            case Absent():
                return []
            case TensorSequence():
                parts = enumerate(map(self.b.tensor, value.items))
                return [(part_name(name, number), each) for number, each in parts]
        return [(name, self.b.tensor(value))]

    def _graph(self, graph: onnx.GraphProto, scope: Scope, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ModelError("graph-invalid", f"graphs are nested more than {MAX_DEPTH} deep")
        if graph.sparse_initializer:
            raise UnsupportedError("dtype-unsupported", "sparse initializers are not supported")
        for tensor in graph.initializer:
            place = f"initializer '{tensor.name}'"
            scope.define(tensor.name, self._initializer(tensor, place), place)
        for node in sort_nodes(graph.node):
            self._node(node, scope, depth)

    def _initializer(self, tensor: onnx.TensorProto, place: str) -> Operand:
        weight = next((e.value for e in tensor.external_data if e.key == "xyntra.weight"), None)
        dtype = dtype_name(tensor.data_type, place)
        if weight is None:
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                # The onnx package would read the file, wherever it is; only the scanner may.
                raise ModelError(
                    "external-data-invalid", "external data is not allowed here", place=place
                )
            try:
                return onnx.numpy_helper.to_array(tensor)
            except (ValueError, TypeError, OverflowError) as error:
                raise ModelError(
                    "tensor-size-mismatch",
                    "the data does not fit the shape",
                    place=place,
                    cause=str(error),
                ) from None
        if weight not in self.parameters:
            self._check_bytes(tensor.dims, dtype, place)
            if weight in self.masks:
                return self.masks.tensor(weight, self.b)
            self.parameters[weight] = self.main.argument("parameter", weight, tensor.dims, dtype)
        return self.parameters[weight]

    def _node(
        self, proto: onnx.NodeProto, scope: Scope, depth: int, label: str | None = None
    ) -> None:
        label = label or node_label(proto)
        place = f"node '{label}' ({proto.op_type})"
        self._count_node(place)
        self.b.location = ir.Location.name(label, context=self.context)
        operands: tuple[Result, ...] = tuple(
            scope.find(name, place) if name else None for name in proto.input
        )
        domain = domain_of(proto.domain)
        if domain not in self.opsets:
            raise ModelError(
                "opset-missing", f"the model does not import operator set '{domain}'", place=place
            )
        results = self._results(proto, domain, operands, scope, depth, label)
        if not domain:
            self.conditions.note(proto.op_type, operands, results)
        for name, result in zip(proto.output, results, strict=False):
            if not name:
                continue
            if result is None:
                raise UnsupportedError(
                    "operator-unsupported",
                    f"{proto.op_type}: output '{name}' is not supported",
                    place=place,
                )
            if isinstance(result, (Tensor, Sized)):
                shape = result.largest if isinstance(result, Sized) else result.shape
                self._check_bytes(shape, result.dtype, place)
            scope.define(name, result, place)

    def _count_node(self, place: str) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise UnsupportedError(
                "model-too-large",
                f"with functions and loops expanded, the model has more than {MAX_NODES:,} nodes",
                place=place,
                hint="compile it in parts",
            )

    def _results(
        self,
        proto: onnx.NodeProto,
        domain: str,
        operands: tuple[Result, ...],
        scope: Scope,
        depth: int,
        label: str,
    ) -> Sequence[Result]:
        function = self.functions.get((domain, proto.op_type))
        if function is not None:
            return self._call(function, proto, operands, depth, None)
        dtypes = [
            None if op is None or isinstance(op, Absent) else str(op.dtype) for op in operands
        ]
        check_signature(proto, domain, self.opsets[domain], dtypes, label)
        check_narrow(proto, domain, dtypes, label)
        if proto.op_type == "Constant" and not domain:
            return [self._constant(proto, f"node '{label}'")]
        node = Node(
            proto,
            label,
            self.opsets[domain],
            operands,
            self.b,
            self._binding_hint,
            self._want,
            self.states,
        )
        if proto.op_type in ("If", "Loop", "Scan") and not domain:
            run = partial(self._subgraph, scope, depth)
            known = (self.requirements, self.conditions)
            return self._guarded(lambda outer: import_control_flow(outer, run, *known), node)
        sized = self._guarded(sized_results, node)
        if sized is not None:
            return sized
        if not domain and all(op is None or isinstance(op, np.ndarray) for op in operands):
            folded = self._guarded(fold, node)
            if folded is not None:
                return folded
        handler = find_handler(domain, proto.op_type)
        if handler is not None:
            return _as_list(self._guarded(handler, node))
        function = schema_function(proto, domain, self.opsets[domain], operands)
        if function is not None:
            return self._call(function, proto, operands, depth, label)
        raise ops.unknown_operator(domain, proto.op_type, self.opsets[domain], f"node '{label}'")

    def _constant(self, proto: onnx.NodeProto, place: str) -> Operand:
        """The value of a Constant node; a large one is a marker and becomes a parameter."""
        if len(proto.attribute) != 1:
            raise ModelError(
                "node-invalid", "Constant: it needs exactly one attribute", place=place
            )
        attribute = proto.attribute[0]
        value = onnx.helper.get_attribute_value(attribute)
        match attribute.name:
            case "value":
                return self._initializer(value, place)
            case "value_float" | "value_floats":
                return np.array(value, np.float32)
            case "value_int" | "value_ints":
                return np.array(value, np.int64)
        raise UnsupportedError(
            "operator-unsupported", f"Constant: '{attribute.name}' is not supported", place=place
        )

    def _guarded(self, function: Callable[[Node], _Value], node: Node) -> _Value:
        """`function(node)`, where any foreign exception becomes an error about the node."""
        try:
            return function(node)
        except (XyntraError, ValueWanted):
            raise
        except Exception as error:
            raise failure_of_import(node, error) from error

    def _subgraph(
        self, scope: Scope, depth: int, graph: onnx.GraphProto, inputs: Sequence[Result]
    ) -> list[Value]:
        """Import a graph inside `scope` and return its outputs."""
        place = f"graph '{graph.name}'"
        inner = Scope(parent=scope)
        for value, operand in zip(graph.input, inputs, strict=True):
            inner.define(value.name, operand, place)
        self._graph(graph, inner, depth + 1)
        return [inner.require(value.name, place) for value in graph.output]

    def _call(
        self,
        function: onnx.FunctionProto,
        caller: onnx.NodeProto,
        operands: tuple[Result, ...],
        depth: int,
        label: str | None,
    ) -> Sequence[Result]:
        """Import the body of a function; its nodes are called `label`, or by their own names."""
        place = f"function '{function.name}'"
        self._check_call(function, place)
        scope = Scope()
        for name, operand in zip(function.input, operands, strict=False):
            scope.define(name, operand, place)
        for name in function.input[len(operands) :]:
            scope.define(name, None, place)
        outer, self.opsets = self.opsets, self.opsets | opsets_of(function)
        self.calls.append((function.domain, function.name))
        try:
            for node in sort_nodes(bound_nodes(function, caller)):
                self._node(node, scope, depth, label)
        finally:  # a branch that fails is left, and the model imported without it
            self.calls.pop()
            self.opsets = outer
        wanted = zip(function.output, caller.output, strict=False)
        return [scope.find(name, place) if out else None for name, out in wanted]

    def _binding_hint(self, tensor: Tensor) -> str | None:
        """How to bind the inputs that `tensor` is computed from; None where it is from none."""
        return binding_hint(self.model.graph, self.main.behind(tensor, "input"))

    def _want(self, tensor: Tensor) -> None:
        """Ask for the values of inputs that `tensor` is computed from, if it is from them alone."""
        if not self.main.behind(tensor, "parameter"):
            self.specialised.want(self.main.behind(tensor, "input"))

    def _check_call(self, function: onnx.FunctionProto, place: str) -> None:
        """Refuse a function that is on its own call stack, and one too deep in others."""
        key = (function.domain, function.name)
        if key in self.calls:
            cycle = [*(name for _, name in self.calls[self.calls.index(key) :]), function.name]
            raise ModelError(
                "graph-invalid",
                f"{place} calls itself",
                cause=" calls ".join(cycle[:8]) + (" calls …" if len(cycle) > 8 else ""),
                hint="ONNX has no recursion: use a Loop",
            )
        if len(self.calls) >= MAX_CALLS:
            raise UnsupportedError(
                "model-too-large",
                f"functions call each other more than {MAX_CALLS} deep",
                place=place,
                hint="inline some of them, with onnx.inliner",
            )

    def _check_bytes(self, shape: Sequence[int], dtype: str, place: str) -> None:
        size = prod(shape) * item_bytes(dtype)
        if size > self.max_tensor_bytes:
            raise UnsupportedError(
                "tensor-too-large",
                f"a tensor of shape {tuple(shape)} and {dtype} takes {size:,} bytes",
                place=place,
                cause=f"the limit is {self.max_tensor_bytes:,} bytes",
                hint="raise max_tensor_bytes if the model really needs it",
            )


def _as_list(result: Result | Sequence[Result]) -> Sequence[Result]:
    single = (Tensor, Sized, TensorSequence, Absent, np.ndarray)
    if result is None or isinstance(result, single):
        return [result]
    return list(result)
