# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluation by ONNX's reference implementation, of operators that have no rule of their own.

These are what exporters compute shapes and indices with beyond the elementwise operators. What it
cannot evaluate stays in the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

import numpy as np
import onnx

from xyntra.frontends.onnx.folding.fold import TooLargeError, bounded, folds
from xyntra.frontends.onnx.node import Node
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of


def _inputs(node: Node) -> list[np.ndarray]:
    return [op for op in node.operands if isinstance(op, np.ndarray)]


def _outer(node: Node) -> int:
    """A contraction gives no more elements than an outer product."""
    return prod(array.size for array in _inputs(node))


def _padded(node: Node) -> int:
    pads = node.integers("pads", 1) or [0]
    return prod(size + sum(abs(pad) for pad in pads) for size in node.constant(0).shape)


_OPERATORS: dict[str, Callable[[Node], int] | None] = {
    "ArgMax": None, "ArgMin": None, "BitShift": None, "Compress": None, "CumProd": None,
    "CumSum": None, "DepthToSpace": None, "Einsum": _outer, "EyeLike": None,
    "GatherND": _outer, "Gemm": _outer, "Hardmax": None, "IsInf": None,
    "MatMul": _outer,
    "OneHot": lambda node: node.constant(0).size * abs(int(node.constant(1).item())),
    "Pad": _padded, "PRelu": _outer, "ReduceL1": None, "ReduceL2": None, "ReduceMean": None,
    "ReduceSumSquare": None, "ReverseSequence": None, "ScatterElements": None, "ScatterND": None,
    "Scatter": None, "SpaceToDepth": None, "TopK": None, "Trilu": None, "Unique": None,
}  # fmt: skip
"""With a bound of the elements of each output, where it may have more than the inputs."""

_OTHER_TYPES = frozenset({"ArgMax", "ArgMin", "EyeLike", "IsInf"})
"""Those whose result does not have the type of what they are computed from."""


@folds(*_OPERATORS)
def evaluate(node: Node) -> list[np.ndarray]:
    """The node's outputs."""
    bound = _OPERATORS[node.op_type]
    if bound is not None:
        bounded([bound(node)])
    if _differs(node):
        raise TooLargeError
    try:
        results = _run(node)
    except Exception:  # whatever it is, the importer of the operator has a better message
        raise TooLargeError from None
    for array in results:
        bounded(array.shape)
    return _typed(node, results)


def _typed(node: Node, results: list[np.ndarray]) -> list[np.ndarray]:
    """`results` with the first one in its type: sums of int32 come as int64 from numpy."""
    if node.op_type in _OTHER_TYPES:
        return results
    source = node.constant(2 if node.op_type == "OneHot" else 0)
    return [results[0].astype(source.dtype, copy=False), *results[1:]]


def _differs(node: Node) -> bool:
    """Tell whether the reference does not do what the operator's specification and importer do.

    It sorts NaN as the largest of numbers, compares indices that are no integers as they are, which
    OneHot casts first, and knows Hardmax of one axis alone, not of all from one on.
    """
    x = node.constant(0)
    if node.op_type == "TopK":
        return bool((x != x).any())
    if node.op_type == "OneHot":
        return x.dtype.kind not in "iu"
    return node.op_type == "Hardmax" and node.opset < 13


def _run(node: Node) -> list[np.ndarray]:
    from onnx.reference import ReferenceEvaluator  # takes long to load, and few models need it

    found = {f"x{i}": op for i, op in enumerate(node.operands) if isinstance(op, np.ndarray)}
    given = found if _has_f32(found.values()) else {n: _widened(a) for n, a in found.items()}
    names = [f"x{i}" if op is not None else "" for i, op in enumerate(node.operands)]
    outputs = [f"y{i}" for i in range(len(node.proto.output))]
    proto = onnx.NodeProto(op_type=node.op_type, input=names, output=outputs)
    proto.attribute.extend(node.proto.attribute)
    graph = onnx.GraphProto(
        node=[proto],
        input=[onnx.ValueInfoProto(name=name) for name in given],
        output=[onnx.ValueInfoProto(name=name) for name in outputs],
    )
    opsets = [onnx.helper.make_opsetid("", node.opset)]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    results = [np.asarray(array) for array in ReferenceEvaluator(model).run(None, given)]
    narrow = next((a.dtype for name, a in found.items() if a.dtype != given[name].dtype), None)
    return [
        array.astype(narrow) if narrow and array.dtype == np.float32 else array for array in results
    ]


def _has_f32(arrays: Iterable[np.ndarray]) -> bool:
    """Of these operators, OneHot alone has floats of several widths; it computes nothing."""
    return any(array.dtype == np.float32 for array in arrays)


def _widened(array: np.ndarray) -> np.ndarray:
    """16-bit floats as float32: the reference would round after every step."""
    return array.astype(accumulator_of(array.dtype.name))
