# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes a failing model smaller, as long as it fails in the same way.

Steps: keep one output; cut the graph after an intermediate value; replace a node's inputs by new
inputs that hold what the reference computes there. Each is tried until none works any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import helper

from verify.random_graphs.dtypes import native
from verify.random_graphs.models.finish import Case
from verify.random_graphs.reference.evaluator import Mode, Scope, evaluate_node, value_of

__all__ = ["shrink"]


def shrink(case: Case, fails: Callable[[Case], bool], tries: int = 120) -> Case:
    """The smallest model found for which `fails` holds, as it does for `case`."""
    done = False
    while not done and tries > 0:
        done = True
        for smaller in _smaller(case):
            tries -= 1
            if tries <= 0:
                break
            if fails(smaller):
                case, done = smaller, False
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    graph = case.model.graph
    if len(graph.output) > 1:
        for output in graph.output:
            yield _rebuilt(case, [output.name], list(graph.node), {})
    values = _values(case)
    if values is None:
        return
    # The first nodes, by halves: what they compute becomes an input.
    count = len(graph.node)
    step = count // 2
    while step >= 1:
        for start in range(0, count, step):
            removed = list(graph.node)[start : start + step]
            kept = [*list(graph.node)[:start], *list(graph.node)[start + step :]]
            if kept:
                yield from _without(case, removed, kept, values)
        step //= 2
    for name in [each.name for each in graph.initializer]:
        if name in values and len(graph.initializer) <= 6:
            yield _rebuilt(
                case, [o.name for o in graph.output], list(graph.node), {name: values[name]}
            )


def _without(
    case: Case,
    removed: list[onnx.NodeProto],
    kept: list[onnx.NodeProto],
    values: dict[str, np.ndarray],
) -> Iterator[Case]:
    made = {name for node in removed for name in node.output if name}
    read = {name for node in kept for name in _reads(node)}
    outputs = [each.name for each in case.model.graph.output if each.name not in made]
    if not outputs:
        remaining = {name for node in kept for name in node.output if name}
        used = {name for node in kept for name in _reads(node)}
        outputs = sorted(remaining - used)[:1]
    if not outputs or any(name not in values for name in made & read):
        return
    yield _rebuilt(case, outputs, kept, {name: values[name] for name in made & read})


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                yield from _reads(inner)
            yield from (each.name for each in attribute.g.output)


def _values(case: Case) -> dict[str, np.ndarray] | None:
    """All values of the main graph, native."""
    model = case.model
    opsets = {each.domain: each.version for each in model.opset_import}
    functions = {(each.domain, each.name): each for each in model.functions}
    scope = Scope({}, opsets, functions, {})
    scope.values |= {name: value_of(array) for name, array in case.inputs.items()}
    for each in model.graph.initializer:
        scope.values[each.name] = value_of(onnx.numpy_helper.to_array(each))
    try:
        with np.errstate(all="ignore"):
            for node in model.graph.node:
                evaluate_node(node, scope, Mode())
    except Exception:
        return None
    return {name: native(v.array, v.elem) for name, v in scope.values.items() if v is not None}


def _rebuilt(
    case: Case, outputs: list[str], nodes: list[onnx.NodeProto], cut: dict[str, np.ndarray]
) -> Case:
    """The model with other nodes and outputs; values in `cut` become inputs."""
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(_reads(node))
    kept.reverse()
    old = case.model.graph
    made = {name for node in kept for name in node.output}
    arrays = {n: a for n, a in case.inputs.items() if n in needed} | {
        n: a for n, a in cut.items() if n in needed and n not in made
    }
    free = {each.name: each for each in old.input}
    inputs = [
        free[name]
        if name in free
        else helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in arrays.items()
    ]
    known = {each.name: each for each in old.output}
    values = None
    results = []
    for name in outputs:
        if name not in known:
            values = values or _values(case) or {}
            array = values[name]
            known[name] = helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
        results.append(known[name])
    initializers = [
        each for each in old.initializer if each.name in needed and each.name not in cut
    ]
    graph = helper.make_graph(kept, "shrunk", inputs, results, initializers)
    model = helper.make_model(
        graph,
        opset_imports=list(case.model.opset_import),
        functions=list(case.model.functions),
        ir_version=case.model.ir_version,
    )
    return Case(model, arrays, case.settings)
