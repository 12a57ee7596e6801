# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds what fusion leaves alone, so that passes can say so."""

from __future__ import annotations

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.dialects.purity import impurity, is_harmless
from xyntra.passes.analysis.functions import functions
from xyntra.passes.analysis.walking import outside_bodies
from xyntra.passes.diagnostics import remark_at
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import KernelRole

__all__ = ["remark_branches", "remark_dynamic", "remark_nested", "side_effect"]

_FREE = frozenset({"func.return", "xyntra.fused", "xyntra.yield"})


def remark_dynamic(graph: FusionGraph) -> None:
    """Remark every operation that stays alone because a tensor of it has a dynamic shape."""
    for node in graph.nodes[:-1]:
        if node.role is KernelRole.OPAQUE:
            type_ = _dynamic_type(node.op)
            if type_ is not None:
                text = f"'{node.op.name}' has the dynamic shape {type_}; it is left as it is"
                remark_at(node.op, text)


def remark_nested(graph: FusionGraph) -> None:
    """Remark loops and branches, in which nothing is fused."""
    for node in graph.nodes[:-1]:
        if node.op.name.startswith(("scf.", "affine.")):
            text = f"what is inside of '{node.op.name}' is not fused"
            remark_at(node.op, text)


def remark_branches(module: ir.Operation) -> None:
    """Remark functions of several blocks, in which nothing is fused."""
    for function in functions(module):
        if len(function.regions[0].blocks) > 1:
            name = ir.StringAttr(function.attributes["sym_name"]).value
            remark_at(function, f"function '{name}' has several blocks and is not fused")


def _dynamic_type(op: ir.Operation) -> ir.Type | None:
    for value in (*op.results, *op.operands):
        if isinstance(value.type, ir.RankedTensorType) and not value.type.has_static_shape:
            return value.type
        if isinstance(value.type, ir.UnrankedTensorType):
            return value.type
    return None


def side_effect(block: ir.Block) -> ir.Operation | None:
    """The first operation of a function that is not known to have no side effects.

    Regions are built in the order of tensors alone; what reads and writes memory has another.
    """
    for op in outside_bodies(block.owner):
        known = is_harmless(op.name) or op.name in _FREE or _calls_kernel(op)
        if not known and impurity(op) is not None:
            return op
    return None


def _calls_kernel(op: ir.Operation) -> bool:
    if op.name != "func.call":
        return False
    callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    module = op
    while module.name != "builtin.module" and module.parent is not None:
        module = module.parent.operation
    symbols = ir.SymbolTable(module)
    return callee in symbols and KernelFacts.of(symbols[callee].operation) is not None
