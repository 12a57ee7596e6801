# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that hold graphs: If, Loop and Scan.

Everything is decided while the model is imported: loops are unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.control.branches import RunGraph, import_if
from xyntra.frontends.onnx.control.conditions import Conditions
from xyntra.frontends.onnx.control.requirements import Requirements
from xyntra.frontends.onnx.node import Node
from xyntra.frontends.onnx.values import Result, Value

MAX_UNROLLED_NODES = 10_000
"""Loops that would become more nodes than this are refused."""


def import_control_flow(
    node: Node, run: RunGraph, requirements: Requirements, conditions: Conditions
) -> list[Result]:
    """The outputs of an If, Loop or Scan node; the arguments are those of `import_if`."""
    match node.op_type:
        case "If":
            return import_if(node, run, requirements, conditions)
        case "Loop":
            return _loop(node, run)
        case _:
            return _scan(node, run)


def _loop(node: Node, run: RunGraph) -> list[Result]:
    body: onnx.GraphProto = node.required("body")
    limit = int(node.constant(0).item()) if node.has(0) else None
    running: Value = node.operand(1) if node.has(1) else np.array(True)
    carried: list[Result] = list(node.operands[2:])
    if len(body.input) != len(carried) + 2 or len(body.output) < len(carried) + 1:
        raise node.invalid("the body does not have the inputs and outputs of the loop")
    if limit is None and not node.has(1):
        raise node.unsupported("the loop has neither a trip count nor a condition")
    collected: list[list[Value]] = [[] for _ in body.output[len(carried) + 1 :]]
    step = 0
    while (limit is None or step < limit) and _known_condition(node, running):
        _check_size(node, body, step + 1)
        inputs = [np.array(step, np.int64), running, *carried]
        running, *rest = run(body, inputs)
        carried, outputs = list(rest[: len(carried)]), rest[len(carried) :]
        for values, value in zip(collected, outputs, strict=True):
            values.append(value)
        step += 1
    return [*carried, *(_stacked(node, values, 0) for values in collected)]


def _known_condition(node: Node, condition: Value) -> bool:
    if isinstance(condition, Tensor):
        node.want(condition)
        raise node.unsupported(
            "whether the loop goes on depends on the data",
            hint=node.binding_hint(condition)
            or "only loops whose condition is constant for the given shapes are supported",
        )
    if not isinstance(condition, np.ndarray):
        raise node.invalid("the condition is not one boolean")
    return bool(condition.item())


def _check_size(node: Node, body: onnx.GraphProto, steps: int) -> None:
    if steps * max(len(body.node), 1) > MAX_UNROLLED_NODES:
        raise node.unsupported(
            f"unrolled, the loop would be more than {MAX_UNROLLED_NODES} nodes",
            hint="export the model with fewer steps",
        )


def _stacked(node: Node, found: Sequence[Value], axis: int) -> Operand:
    """Values of one shape along a new dimension `axis`; known where all of them are."""
    values = [each for each in found if isinstance(each, (Tensor, np.ndarray))]
    if len(values) < len(found):
        raise node.unsupported("what the loop collects are no tensors whose shape is known")
    if not values:
        raise node.unsupported("the loop collects the results of no steps at all")
    known = [value for value in values if isinstance(value, np.ndarray)]
    if len(known) == len(values):
        if len({(array.shape, array.dtype) for array in known}) > 1:
            raise node.invalid("what the loop collects changes its shape or type")
        return np.stack(known, axis)
    tensors = [node.b.tensor(value) for value in values]
    if any(tensor.value.type != tensors[0].value.type for tensor in tensors):
        raise node.invalid("what the loop collects changes its shape or type")
    shape = tensors[0].shape
    slices = [node.b.reshape(t, [*shape[:axis], 1, *shape[axis:]]) for t in tensors]
    return concatenate(node.b, slices, axis)


def _scan(node: Node, run: RunGraph) -> list[Result]:
    if node.opset < 9:
        raise node.unsupported(f"Scan of operator set {node.opset} is not supported")
    body: onnx.GraphProto = node.required("body")
    count = int(node.required("num_scan_inputs"))
    states: list[Result] = list(node.operands[: len(node.operands) - count])
    sequences = [node.operand(len(states) + position) for position in range(count)]
    outputs = len(body.output) - len(states)
    axes = _numbers(node, "scan_input_axes", count)
    axes = [node.axis(axis, len(x.shape)) for axis, x in zip(axes, sequences, strict=True)]
    backward = _numbers(node, "scan_input_directions", count)
    lengths = {x.shape[axis] for axis, x in zip(axes, sequences, strict=True)}
    if len(lengths) != 1 or len(body.input) != len(node.operands) or outputs < 0:
        raise node.invalid("the sequences differ in length, or do not fit the body")
    (length,) = lengths
    _check_size(node, body, length)
    collected: list[list[Value]] = [[] for _ in range(outputs)]
    for step in range(length):
        spans = zip(sequences, axes, backward, strict=True)
        elements = [
            _element(node, x, axis, length - 1 - step if back else step) for x, axis, back in spans
        ]
        results = run(body, [*states, *elements])
        states = list(results[: len(states)])
        for values, value in zip(collected, results[len(states) :], strict=True):
            values.append(value)
    return [*states, *_scan_outputs(node, collected)]


def _scan_outputs(node: Node, collected: Sequence[list[Value]]) -> list[Operand]:
    axes = _numbers(node, "scan_output_axes", len(collected))
    backward = _numbers(node, "scan_output_directions", len(collected))
    results = []
    for values, axis, back in zip(collected, axes, backward, strict=True):
        rank = len(node.shape_of(values[0])) if values else 0
        at = node.axis(axis, rank, insert=True)
        results.append(_stacked(node, values[::-1] if back else values, at))
    return results


def _numbers(node: Node, name: str, count: int) -> list[int]:
    values = [int(value) for value in node.attribute(name, [0] * count)]
    if len(values) != count:
        raise node.invalid(f"attribute '{name}' must have {count} values")
    return values


def _element(node: Node, x: Operand, axis: int, position: int) -> Operand:
    if isinstance(x, np.ndarray):
        return np.asarray(np.take(x, position, axis))
    starts = [position if d == axis else 0 for d in range(x.rank)]
    sizes = [1 if d == axis else n for d, n in enumerate(x.shape)]
    element = node.b.slice(x, starts, sizes, [1] * x.rank)
    return node.b.reshape(element, [*x.shape[:axis], *x.shape[axis + 1 :]])
