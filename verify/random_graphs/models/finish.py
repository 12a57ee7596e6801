# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns a builder into a model, with outputs, free dimensions and other variations of form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

from verify.random_graphs.models.builder import Builder, Ref
from verify.random_graphs.dtypes import native
from verify.random_graphs.reference.evaluator import Scope

__all__ = ["Case", "finish", "initializers_of"]


@dataclass(frozen=True)
class Case:
    """A model, its inputs by name, and the settings that it is compiled with."""

    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    settings: dict[str, object]


def initializers_of(g: Builder) -> list[onnx.TensorProto]:
    """The initializers that nodes read, or that are outputs."""
    return [
        numpy_helper.from_array(native(ref.array, ref.elem), name)
        for name, ref in g.initializers.items()
    ]


def _outputs(g: Builder) -> list[Ref]:
    made = [ref for ref in g.refs if ref.name not in g.inputs and ref.name not in g.initializers]
    found = [ref for ref in made if not ref.uses and g.chance(0.9)]
    found += [ref for ref in made if ref.uses and g.chance(0.12)]
    if g.chance(0.06):
        found += [g.choice(list(g.inputs.values()))] if g.inputs else []
    if g.chance(0.04):
        found += [g.choice(list(g.initializers.values()))] if g.initializers else []
    if not found:
        found = made[-1:]
    return g.shuffled(list({ref.name: ref for ref in found}.values()))


def finish(g: Builder, settings: dict[str, object]) -> Case:
    """The model that a builder has grown."""
    outputs = _outputs(g)
    free = g.chance(0.12)
    names: dict[int, str] = {}

    def dims(ref: Ref) -> list[int | str]:
        if not free:
            return list(ref.shape)
        return [names.setdefault(n, f"N{n}") if g.chance(0.5) else n for n in ref.shape]

    inputs = [
        helper.make_tensor_value_info(ref.name, ref.elem, dims(ref)) for ref in g.inputs.values()
    ]
    stated = g.chance(0.5) and not free
    results = [
        helper.make_tensor_value_info(
            ref.name, ref.elem, list(ref.shape) if stated else [None] * ref.rank
        )
        for ref in outputs
    ]
    graph = helper.make_graph(g.nodes, "random", inputs, results, initializers_of(g))
    imports = [helper.make_opsetid("", g.opset)]
    domains = {node.domain for node in g.nodes}
    if "com.microsoft" in domains:
        imports.append(helper.make_opsetid("com.microsoft", 1))
    if g.functions:
        imports.append(helper.make_opsetid("local", 1))
    used = [f for f in g.functions if any(n.op_type == f.name for n in g.nodes)]
    model = helper.make_model(graph, opset_imports=imports, functions=used, ir_version=10)
    arrays = {name: native(ref.array, ref.elem) for name, ref in g.inputs.items()}
    return Case(model, arrays, settings)


def scope_for(opset: int) -> Scope:
    """An empty scope of an operator set."""
    return Scope({}, {"": opset, "com.microsoft": 1, "local": 1}, {}, {})
