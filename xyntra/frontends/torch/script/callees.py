# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the graph of a function, or of a method of a class, that a node calls."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["callee_graph"]


def callee_graph(node: Any, known: dict[str, Any]) -> Any:
    """Return the graph that a node calls, with the calls in it inlined.

    Args:
        node: `prim::CallFunction`, or `prim::CallMethod` of what is no module.
        known: graphs by name, of this module; the one that is found is added.
    """
    receiver = next(iter(node.inputs()))
    method = node.s("name") if node.kind() == "prim::CallMethod" else ""
    name = f"{receiver.type().annotation_str}:{method}"
    if name not in known:
        known[name] = _inlined(node)
    return known[name]


def _inlined(node: Any) -> Any:
    """Return a graph that does what one call does; the compiler has no other way to look it up."""
    graph = torch._C.Graph()
    values: dict[str, Any] = {}
    for value in node.inputs():
        if value.type().kind() == "FunctionType":
            constant = graph.insertNode(graph.createClone(value.node(), lambda each: each))
            values[value.debugName()] = constant.output()
            continue
        # Each place gets an input of its own, even where one value is given twice.
        argument = graph.addInput()
        argument.setType(value.type())
        values[value.debugName()] = argument
    call = graph.insertNode(graph.createClone(node, lambda each: values[each.debugName()]))
    for output in call.outputs():
        graph.registerOutput(output)
    torch._C._jit_pass_inline(graph)
    return graph
