# SPDX-License-Identifier: MIT OR Apache-2.0
"""Graphs as data, which can be built as a module of level 1 and evaluated by numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.fusion import tensors
from verify.fusion.emitters import BODIES
from verify.fusion.level1 import FunctionBuilder
from verify.fusion.scalars import BINARY, COMPARISONS, UNARY, cast, compare, select, wide
from verify.fusion.values import Known, exact
from xyntra.dialects import named
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.convolution import convolve
from xyntra.dialects.tensors.pooling import Windows, slide
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.ops.reductions.arg_extreme import arg_extreme
from xyntra.frontends.onnx.ops.tensors.gather import take

__all__ = ["LEAVES", "Graph", "Node", "build", "evaluate", "refer"]

Array = np.ndarray[Any, Any]
LEAVES = frozenset({"input", "parameter", "constant"})


@dataclass(frozen=True)
class Node:
    """One operation.

    Attributes:
        op: a key of the table below, or one of `LEAVES`.
        operands: positions of earlier nodes.
        attributes: everything else that it needs.
        data: what a leaf holds.
    """

    op: str
    operands: tuple[int, ...] = ()
    attributes: Mapping[str, Any] | None = None
    data: Array | None = None

    def __getitem__(self, name: str) -> Any:
        return (self.attributes or {})[name]


@dataclass(frozen=True)
class Graph:
    """Nodes in order, and the positions of those that are returned."""

    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]

    def leaves(self, kind: str) -> dict[str, Array]:
        """The contents of all leaves of a kind, by name."""
        return {
            f"{kind}{i}": node.data
            for i, node in enumerate(self.nodes)
            if node.op == kind and node.data is not None
        }


@dataclass(frozen=True)
class _Operator:
    build: Callable[[TensorBuilder, Node, Sequence[Tensor]], Tensor]
    refer: Callable[[Node, Sequence[Known]], Known]


def build(graph: Graph, context: ir.Context) -> ir.Module:
    """The graph as a module; node i has location `OP_i` and output k is called `outputk`."""
    function = FunctionBuilder(context)
    values: list[Tensor] = []
    with context:
        for index, node in enumerate(graph.nodes):
            function.name(f"{node.op}_{index}")
            if node.data is None:
                operands = [values[i] for i in node.operands]
                values.append(_OPERATORS[node.op].build(function.b, node, operands))
            elif node.op == "constant":
                values.append(function.b.constant(node.data))
            else:
                name, dtype = f"{node.op}{index}", node.data.dtype.name
                values.append(function.argument(name, node.data.shape, dtype, node.op))
        return function.finish({f"output{k}": values[i] for k, i in enumerate(graph.outputs)})


def evaluate(graph: Graph) -> list[Known]:
    """What every node computes, in float64 with error bounds."""
    values: list[Known] = []
    for node in graph.nodes:
        values.append(refer(node, [values[i] for i in node.operands]))
    return values


def refer(node: Node, operands: Sequence[Known]) -> Known:
    """What one node computes."""
    return exact(node.data) if node.data is not None else _OPERATORS[node.op].refer(node, operands)


def _elementwise() -> dict[str, _Operator]:
    table: dict[str, _Operator] = {}
    for name, operation in (UNARY | BINARY).items():

        def emit(
            b: TensorBuilder, _: Node, x: Sequence[Tensor], body: Any = BODIES[name]
        ) -> Tensor:
            return b.map(body, *x, dtype=x[0].dtype)

        table[name] = _Operator(emit, lambda _, x, known=operation.refer: known(*x))
    for name in COMPARISONS:

        def emit_comparison(
            b: TensorBuilder, _: Node, x: Sequence[Tensor], body: Any = BODIES[name]
        ) -> Tensor:
            return b.map(body, *x, dtype="bool")

        table[name] = _Operator(emit_comparison, lambda _, x, name=name: compare(name, *x))
    return table


def _scalar(b: TensorBuilder, node: Node, x: Sequence[Tensor]) -> Tensor:
    """One operand is a number of the body."""
    number = np.array(node["value"], x[0].dtype)
    return b.map(BODIES[node["name"]], x[0], number, dtype=x[0].dtype)


def _refer_scalar(node: Node, x: Sequence[Known]) -> Known:
    return BINARY[node["name"]].refer(x[0], exact(np.array(node["value"], x[0].dtype)))


def _pad(v: Array, node: Node, value: Any) -> Array:
    widths = list(zip(node["low"], node["high"], strict=True))
    return np.pad(v, widths, constant_values=value)


def _refer_pad(node: Node, x: Sequence[Known]) -> Known:
    return Known(x[0].dtype, _pad(x[0].value, node, node["value"]), _pad(x[0].error, node, 0.0))


def _slice(node: Node, v: Array) -> Array:
    starts, sizes, steps = node["starts"], node["sizes"], node["steps"]
    for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        v = np.take(v, [start + i * step for i in range(size)], axis)
    return v


def _refer_concatenation(node: Node, x: Sequence[Known]) -> Known:
    values = [part.value for part in x]
    errors = [part.error for part in x]
    axis = node["axis"]
    return Known(x[0].dtype, np.concatenate(values, axis), np.concatenate(errors, axis))


def _refer_gather(node: Node, x: Sequence[Known]) -> Known:
    return x[0].move(lambda v: np.take(v, x[1].value, node["axis"], mode="wrap"))


def _view(
    build: Callable[[TensorBuilder, Node, Tensor], Tensor], move: Callable[[Node, Array], Array]
) -> _Operator:
    return _Operator(
        lambda b, node, x: build(b, node, x[0]), lambda node, x: x[0].move(lambda v: move(node, v))
    )


def _pool(b: TensorBuilder, node: Node, x: Sequence[Tensor]) -> Tensor:
    kernel, strides = node["kernel"], node["strides"]
    spatial = zip(x[0].shape[2:], kernel, strides, strict=True)
    output = [(n - k) // step + 1 for n, k, step in spatial]
    windows, kind = Windows(kernel, strides, [1, 1], output), node["kind"]
    return _narrow(b, slide(b, x[0], windows, kind, accumulator=wide(x[0].dtype)), x[0])


def _convolve(b: TensorBuilder, node: Node, x: Sequence[Tensor]) -> Tensor:
    result = convolve(
        b,
        x[0],
        x[1],
        strides=node["strides"],
        dilations=[1, 1],
        groups=node["groups"],
        accumulator=wide(x[0].dtype),
    )
    return _narrow(b, result, x[0])


def _reduce(b: TensorBuilder, node: Node, x: Sequence[Tensor]) -> Tensor:
    axes, kind, dtype = node["axes"], node["kind"], wide(x[0].dtype)
    result = b.reduce(x[0], axes, kind, keepdims=node["keepdims"], accumulator=dtype)
    return _narrow(b, result, x[0])


def _einsum(b: TensorBuilder, node: Node, x: Sequence[Tensor]) -> Tensor:
    return _narrow(b, b.einsum(node["equation"], *x, accumulator=wide(x[0].dtype)), x[0])


def _narrow(b: TensorBuilder, result: Tensor, x: Tensor) -> Tensor:
    """Round what was accumulated in float32 to the dtype of `x`, as frontends do."""
    if result.dtype == x.dtype:
        return result
    return b.map(lambda v: v.cast(x.dtype), result, dtype=x.dtype)


def _refer_wide(function: Callable[..., Known], *operands: Known) -> Known:
    dtype = operands[0].dtype
    return cast(function(*(cast(x, wide(dtype)) for x in operands)), dtype)


def _named(b: TensorBuilder, node: Node, x: Sequence[Tensor]) -> Tensor:
    name, function = node["name"], getattr(named, node["name"])
    if name in ("gelu", "silu"):
        result = function(b, x[0])
    elif name in ("softmax", "log_softmax"):
        result = function(b, x[0], node["axis"])
    else:
        result = function(b, x[0], node["axis"], node["epsilon"], *x[1:])
    found: Tensor = result
    return found


_OPERATORS: dict[str, _Operator] = _elementwise() | {
    "scalar": _Operator(_scalar, _refer_scalar),
    "select": _Operator(
        lambda b, _, x: b.map(lambda c, u, v: c.select(u, v), *x, dtype=x[1].dtype),
        lambda _, x: select(*x),
    ),
    "cast": _Operator(
        lambda b, n, x: b.map(lambda v: v.cast(n["dtype"]), x[0], dtype=n["dtype"]),
        lambda n, x: cast(x[0], n["dtype"]),
    ),
    "transpose": _view(
        lambda b, n, x: b.transpose(x, n["permutation"]),
        lambda n, v: v.transpose(n["permutation"]),
    ),
    "reshape": _view(lambda b, n, x: b.reshape(x, n["shape"]), lambda n, v: v.reshape(n["shape"])),
    "expand": _view(
        lambda b, n, x: b.broadcast_to(x, n["shape"]),
        lambda n, v: np.broadcast_to(v, n["shape"]),
    ),
    "slice": _view(lambda b, n, x: b.slice(x, n["starts"], n["sizes"], n["steps"]), _slice),
    "pad": _Operator(lambda b, n, x: b.pad(x[0], n["low"], n["high"], n["value"]), _refer_pad),
    "concatenation": _Operator(lambda b, n, x: concatenate(b, x, n["axis"]), _refer_concatenation),
    "gather": _Operator(lambda b, n, x: take(b, x[0], x[1], n["axis"]), _refer_gather),
    "reduction": _Operator(
        _reduce,
        lambda n, x: _refer_wide(
            lambda v: tensors.reduce(v, n["kind"], tuple(n["axes"]), n["keepdims"]), *x
        ),
    ),
    "arg_max": _Operator(
        lambda b, n, x: arg_extreme(b, x[0], n["axis"], largest=True),
        lambda n, x: tensors.arg_max(x[0], n["axis"]),
    ),
    "einsum": _Operator(
        _einsum,
        lambda n, x: _refer_wide(lambda v, w: tensors.contract(n["equation"], v, w), *x),
    ),
    "convolution": _Operator(
        _convolve,
        lambda n, x: _refer_wide(
            lambda v, w: tensors.convolve(v, w, n["strides"], n["groups"]), *x
        ),
    ),
    "pool": _Operator(
        _pool,
        lambda n, x: _refer_wide(
            lambda v: tensors.pool(v, n["kernel"], n["strides"], n["kind"]), *x
        ),
    ),
    "named": _Operator(
        _named,
        lambda n, x: tensors.named(
            n["name"], x, n.attributes.get("axis"), n.attributes.get("epsilon")
        ),
    ),
}
