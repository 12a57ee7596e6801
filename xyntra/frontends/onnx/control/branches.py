# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operator If.

A condition that is known while importing takes its branch. One that depends on the data becomes a
selection between the results of both branches; where one of them cannot be compiled, for the given
shapes for example, it becomes the other branch, and calls are required to take that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx

from xyntra.dialects.builder import Operand, Tensor
from xyntra.errors import CompileError, UnsupportedError, XyntraError
from xyntra.frontends.onnx.control.conditions import Condition, Conditions
from xyntra.frontends.onnx.control.requirements import Requirements
from xyntra.frontends.onnx.inputs.provenance import binding_to
from xyntra.frontends.onnx.node import Node
from xyntra.frontends.onnx.values import Result, TensorSequence, Value

__all__ = ["RunGraph", "import_if"]

RunGraph = Callable[[onnx.GraphProto, Sequence[Result]], list[Value]]
"""Imports a graph with the given inputs and returns its outputs."""

_NAMES = {True: "then_branch", False: "else_branch"}
_WRONG = frozenset(
    {"duplicate-name", "graph-invalid", "model-too-large", "opset-missing", "undefined-value"}
)
"""Codes of errors about the model itself: no other shapes would help."""


def import_if(
    node: Node, run: RunGraph, requirements: Requirements, conditions: Conditions
) -> list[Result]:
    """The outputs of an If node.

    Args:
        node: the node.
        run: imports a branch.
        requirements: takes what is required where one branch cannot be compiled.
        conditions: what is known of the model's booleans.
    """
    condition = node.operand(0)
    if int(np.prod(condition.shape)) != 1:
        raise node.invalid("the condition must be one boolean")
    branches = {holds: node.required(name) for holds, name in _NAMES.items()}
    if isinstance(condition, np.ndarray):
        return list(run(branches[bool(condition.item())], []))
    taken = node.b.reshape(condition, [])
    location = node.b.location
    results: dict[bool, list[Value]] = {}
    causes: dict[bool, str] = {}
    for holds, branch in branches.items():
        first = requirements.count
        try:
            results[holds] = run(branch, [])
        except XyntraError as error:
            if error.code in _WRONG or isinstance(error, CompileError):
                raise
            requirements.drop(first)
            causes[holds] = f"{error.place}: {error.message}" if error.place else error.message
        node.b.location = location
        if requirements.count > first:
            requirements.weaken(first, unless=_flag(node, taken, not holds))
    if not results:
        node.want(condition)
        raise _no_branch(node, causes)
    if causes:
        ((failed, cause),) = causes.items()
        texts = _texts(node, failed, cause, conditions.of(condition))
        requirements.add(_flag(node, taken, not failed), texts)
        return list(results[not failed])
    return [_select(node, taken, a, b) for a, b in zip(*results.values(), strict=True)]


def _flag(node: Node, taken: Tensor, holds: bool) -> Tensor:
    """Tell whether the condition `taken` is `holds`."""
    return taken if holds else node.b.map(lambda c: ~c, taken, dtype="bool")


def _texts(node: Node, failed: bool, cause: str, known: Condition | None) -> Mapping[str, str]:
    """The error of a call that takes the branch `failed`.

    Args:
        node: the If node.
        failed: whether it is that of a condition that holds.
        cause: why it cannot be compiled.
        known: what it means that the condition holds, where that is known.
    """
    name = _NAMES[failed]
    known = known if failed or known is None else known.negated
    reason = "" if known is None else f", as {known}"
    binding = _exact(known) or node.binding_hint(node.tensor(0))
    again = f" and {binding}" if binding else ""
    other = None if known is None else known.negated
    given = "other values" if other is None else f"values for which {other}"
    bound = f", or bind it: {_exact(other)}" if _exact(other) else ""
    return {
        "code": "branch-not-compiled",
        "message": f"If: this call takes its {name}{reason}; only the other branch was compiled",
        "place": f"node '{node.label}'",
        "cause": f"its {name} cannot be compiled for these shapes: {cause}",
        "hint": f"for the branch that was compiled, give {given}{bound}\n"
        f"for this one, compile the model with shapes that fit it{again}",
    }


def _exact(condition: Condition | None) -> str | None:
    """How to bind the one value that a condition leaves an input; None where there are several."""
    if condition is None or not condition.is_equality:
        return None
    return binding_to({condition.name: condition.value})


def _no_branch(node: Node, causes: Mapping[bool, str]) -> UnsupportedError:
    return UnsupportedError(
        "if-branch",
        "If: neither of its branches can be compiled for these shapes",
        place=f"node '{node.label}'",
        cause="\n".join(f"{_NAMES[holds]}: {cause}" for holds, cause in causes.items()),
        hint="give other shapes, where the model leaves them free",
    )


def _select(node: Node, condition: Tensor, if_true: Value, if_false: Value) -> Result:
    if isinstance(if_true, TensorSequence) and isinstance(if_false, TensorSequence):
        return _select_items(node, condition, if_true, if_false)
    plain = (Tensor, np.ndarray)
    if not isinstance(if_true, plain) or not isinstance(if_false, plain):
        node.want(condition)
        raise node.unsupported(
            "the condition depends on the data and a branch gives no tensor of one shape",
            hint=node.binding_hint(condition),
        )
    return _select_tensor(node, condition, if_true, if_false)


def _select_items(
    node: Node, condition: Tensor, if_true: TensorSequence, if_false: TensorSequence
) -> Result:
    if len(if_true.items) != len(if_false.items):
        node.want(condition)
        raise node.unsupported(
            "the condition depends on the data and the branches give sequences of other lengths",
            hint=node.binding_hint(condition),
        )
    pairs = zip(if_true.items, if_false.items, strict=True)
    items = [_select_tensor(node, condition, a, b) for a, b in pairs]
    return TensorSequence(tuple(items), if_true.element)


def _select_tensor(node: Node, condition: Tensor, if_true: Operand, if_false: Operand) -> Tensor:
    if if_true.shape != if_false.shape or str(if_true.dtype) != str(if_false.dtype):
        node.want(condition)
        raise node.unsupported(
            "the condition depends on the data and the branches give different shapes or types",
            hint=node.binding_hint(condition)
            or "only conditions that are constant for the given shapes may do so",
        )
    operands, dtype = (condition, if_true, if_false), str(if_true.dtype)
    return node.b.map(lambda c, x, y: c.select(x, y), *operands, dtype=dtype, shape=if_true.shape)
