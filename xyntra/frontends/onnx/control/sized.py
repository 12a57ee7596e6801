# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports nodes that read tensors whose size the data decides.

They are computed on the largest size, which is right where no element depends on one behind the
real size. The operators of which that is so are listed here, with the sizes of their results;
all others are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.tensors.slices import concatenate
from xyntra.errors import UnsupportedError
from xyntra.frontends.onnx.node import Node, find_handler
from xyntra.frontends.onnx.values import Result, Sized

__all__ = ["sized_results"]

Sizes = Mapping[int, Tensor]

_ELEMENTWISE = frozenset(
    """
    Abs Add And Cast Ceil Clip Cos Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual
    HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Min Mish Mul
    Neg Not Or Pow
    Reciprocal Relu Round Sigmoid Sign Sin Softplus Sqrt Sub Sum Tanh Where Xor
    """.split()
)


def sized_results(node: Node) -> list[Result] | None:
    """The outputs of a node with inputs whose size the data decides; None where it has none.

    Raises:
        UnsupportedError: the node cannot be computed on the largest size.
    """
    if not any(isinstance(operand, Sized) for operand in node.operands):
        return None
    if node.proto.domain in ("", "ai.onnx") and node.op_type == "Shape":
        return [_shape(node)]
    sizes = _sizes_of_result(node)
    handler = find_handler("", node.op_type)
    if handler is None:
        raise _unsupported(node)
    whole = tuple(each.tensor if isinstance(each, Sized) else each for each in node.operands)
    result = handler(replace(node, operands=whole))
    if not isinstance(result, (Tensor, np.ndarray)):
        raise _unsupported(node)
    return [Sized(node.b.tensor(result), sizes)]


def _sizes_of_result(node: Node) -> Sizes:
    rule: Callable[[Node], Sizes] | None = _RULES.get(node.op_type)
    if node.op_type in _ELEMENTWISE:
        rule = _broadcast
    if rule is None or node.proto.domain not in ("", "ai.onnx"):
        raise _unsupported(node)
    return rule(node)


def _unsupported(node: Node, why: str = "") -> UnsupportedError:
    return node.unsupported(
        why or "the data decides the size of its input, and it has no form for that",
        hint="cut the model before this node and do the rest on the host, or compile a second "
        "model for the rest, with the sizes found",
    )


def _only(node: Node, position: int) -> Sized:
    """Input `position`, which must be the only one whose size the data decides."""
    found = [n for n, each in enumerate(node.operands) if isinstance(each, Sized)]
    operand = node.operands[position]
    if found != [position] or not isinstance(operand, Sized):
        raise _unsupported(node)
    return operand


def _shape_of(operand: Result) -> tuple[int, ...]:
    if isinstance(operand, Sized):
        return operand.largest
    return tuple(operand.shape) if isinstance(operand, (Tensor, np.ndarray)) else ()


def _broadcast(node: Node) -> Sizes:
    """Return the sizes of an elementwise result: other inputs repeat along these, or share them."""
    divisor = node.operands[1] if node.op_type == "Div" else None
    if isinstance(divisor, Sized) and not is_float(divisor.dtype):
        raise _unsupported(node, "zeros may lie behind the size of what it divides by")
    rank = max(len(_shape_of(each)) for each in node.operands)
    found: dict[int, Tensor] = {}
    for each in node.operands:
        if isinstance(each, Sized):
            for dimension, size in each.sizes.items():
                at = dimension + rank - len(each.largest)
                if found.setdefault(at, size).value != size.value:
                    raise _unsupported(node, "two of its inputs have sizes that may differ")
    for each in node.operands:
        shape = (1,) * (rank - len(_shape_of(each))) + _shape_of(each)
        own = {} if not isinstance(each, Sized) else each.sizes
        for at in found:
            if at - rank + len(_shape_of(each)) not in own and shape[at] != 1:
                raise _unsupported(node, f"{shape[at]} elements meet a size that the data decides")
    return found


def _transpose(node: Node) -> Sizes:
    x = _only(node, 0)
    rank = len(x.largest)
    order = node.attribute("perm", list(range(rank))[::-1])
    return {at: x.sizes[axis] for at, axis in enumerate(order) if axis in x.sizes}


def _unsqueeze(node: Node) -> Sizes:
    x, axes = _only(node, 0), node.integers("axes", 1) or []
    rank = len(x.largest) + len(axes)
    added = node.axes(axes, rank)
    kept = [d for d in range(rank) if d not in added]
    return {at: x.sizes[axis] for axis, at in enumerate(kept) if axis in x.sizes}


def _squeeze(node: Node) -> Sizes:
    x, axes = _only(node, 0), node.integers("axes", 1)
    removed = [] if axes is None else node.axes(axes, len(x.largest))
    if axes is None or any(axis in x.sizes for axis in removed):
        raise _unsupported(node, "it would remove a dimension whose size the data decides")
    kept = [d for d in range(len(x.largest)) if d not in removed]
    return {at: x.sizes[axis] for at, axis in enumerate(kept) if axis in x.sizes}


def _gather(node: Node) -> Sizes:
    data = node.operands[0]
    axis = node.axis(int(node.attribute("axis", 0)), len(_shape_of(data)))
    if not isinstance(data, Sized):
        return {axis + d: size for d, size in _only(node, 1).sizes.items()}
    data = _only(node, 0)
    if axis in data.sizes:
        raise _unsupported(node, "it counts from the end of what the data decides")
    more = len(_shape_of(node.operands[1])) - 1
    return {d if d < axis else d + more: size for d, size in data.sizes.items()}


def _gather_nd(node: Node) -> Sizes:
    indices = _only(node, 1)
    last = len(indices.largest) - 1
    if last in indices.sizes or node.attribute("batch_dims", 0):
        raise _unsupported(node)
    return indices.sizes


def _slice(node: Node) -> Sizes:
    x = _only(node, 0)
    axes = node.integers("axes", 3)
    starts = node.integers("starts", 1) or []
    named = node.axes(range(len(starts)) if axes is None else axes, len(x.largest))
    if any(axis in x.sizes for axis in named):
        raise _unsupported(node, "it would cut a dimension whose size the data decides")
    return x.sizes


def _concat(node: Node) -> Sizes:
    parts = [each for each in node.operands if isinstance(each, Sized)]
    sizes = parts[0].sizes
    axis = node.axis(int(node.required("axis")), len(parts[0].largest))
    same = all({d: s.value for d, s in each.sizes.items()} == _values(sizes) for each in parts)
    if len(parts) < len(node.operands) or axis in sizes or not same:
        raise _unsupported(node)
    return sizes


def _values(sizes: Sizes) -> dict[int, object]:
    return {dimension: size.value for dimension, size in sizes.items()}


_RULES: dict[str, Callable[[Node], Sizes]] = {
    "Concat": _concat,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}


def _shape(node: Node) -> Operand:
    """The real shape: a vector in which some numbers are known, and others computed."""
    x, b = _only(node, 0), node.b
    rank = len(x.largest)
    first, last, _ = slice(node.attribute("start", 0), node.attribute("end")).indices(rank)
    parts = [
        b.reshape(x.sizes[d], [1]) if d in x.sizes else b.constant(np.array([n], np.int64))
        for d, n in list(enumerate(x.largest))[first:last]
    ]
    return concatenate(b, parts, 0) if parts else np.zeros(0, np.int64)
