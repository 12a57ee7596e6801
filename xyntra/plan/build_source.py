# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the source graph from the imported module.

Operations that follow one another and carry the same name are one node: an importer emits a node's
operations together. A node then only reads nodes before it, whatever names the model repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from torch_mlir import ir

from xyntra.dialects import KernelFacts
from xyntra.dialects.dtypes import ELEMENT_TYPES, default_dtype
from xyntra.dialects.requires import requirements_of
from xyntra.dialects.result_sizes import sizes_of
from xyntra.passes.analysis.functions import weight_positions
from xyntra.passes.analysis.locations import source_nodes
from xyntra.plan.plan import TensorType
from xyntra.plan.source_graph import SourceGraph, SourceNode

_SKIPPED = frozenset({"arith.constant", "tensor.empty"})
_SCALAR = ("arith.", "math.", "linalg.yield", "linalg.index")
_KNOWN_TYPES = frozenset(ELEMENT_TYPES.values())


def build_source_graph(module: ir.Operation, op_types: Mapping[str, str]) -> SourceGraph:
    """The graph of the function that is no kernel.

    Args:
        module: the module as it was imported.
        op_types: operators of the model's nodes by name, where they are known.
    """
    for view in module.regions[0].blocks[0].operations:
        function = view.operation
        if function.name != "func.func":
            continue
        if KernelFacts.of(function) is None and len(function.regions[0].blocks):
            return _Builder(function).build(op_types)
    return SourceGraph()


@dataclass
class _Draft:
    names: tuple[str, ...]
    operations: dict[str, None] = field(default_factory=dict)
    types: dict[ir.Value, TensorType] = field(default_factory=dict)
    reads: dict[int, None] = field(default_factory=dict)


class _Builder:
    def __init__(self, function: ir.Operation) -> None:
        self.drafts: list[_Draft] = []
        self.homes: dict[ir.Value, int] = {}
        self.outputs: list[int | None] = []
        self.block = function.regions[0].blocks[0]
        self.flags = dict([*requirements_of(function), *sizes_of(function)])
        inputs = 0
        weights = weight_positions(self.block)
        for position, argument in enumerate(self.block.arguments):
            if position not in weights:
                inputs += 1
                self.homes[argument] = -inputs

    def build(self, op_types: Mapping[str, str]) -> SourceGraph:
        for view in self.block.operations:
            op = view.operation
            if op.name == "func.return":
                read = map(self._read, op.operands)
                self.outputs = [each for n, each in enumerate(read) if n not in self.flags]
            elif op.name not in _SKIPPED:
                self._operation(op)
        return SourceGraph(
            tuple(_node(draft, op_types) for draft in self.drafts), tuple(self.outputs)
        )

    def _operation(self, op: ir.Operation) -> None:
        names = tuple(source_nodes(op.location))
        if not self.drafts or not names or self.drafts[-1].names != names:
            self.drafts.append(_Draft(names))
        index = len(self.drafts) - 1
        draft = self.drafts[index]
        draft.operations[op.name] = None
        for value in _operands(op, draft):
            home = self.homes.get(value)
            if home is not None and home != index:
                draft.reads[home] = None
                self._read(value)
        self.homes.update(dict.fromkeys(op.results, index))

    def _read(self, value: ir.Value) -> int | None:
        home = self.homes.get(value)
        if home is not None and home >= 0 and value not in self.drafts[home].types:
            type_ = _tensor_type(value.type)
            if type_ is not None:
                self.drafts[home].types[value] = type_
        return home


def _operands(op: ir.Operation, draft: _Draft) -> Iterator[ir.Value]:
    """What `op` uses, its regions included; their operations count as the node's."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                nested = view.operation
                name = nested.name
                if not name.endswith(".yield"):
                    draft.operations[name] = None
                # Scalar arithmetic reads no tensor.
                if not name.startswith(_SCALAR):
                    yield from _operands(nested, draft)


def _tensor_type(type_: ir.Type) -> TensorType | None:
    if not isinstance(type_, ir.RankedTensorType):
        return None
    if not type_.has_static_shape or str(type_.element_type) not in _KNOWN_TYPES:
        return None
    return TensorType(default_dtype(type_.element_type), tuple(type_.shape))


def _node(draft: _Draft, op_types: Mapping[str, str]) -> SourceNode:
    operations = tuple(draft.operations)
    known = [op_types[name] for name in draft.names if name in op_types]
    return SourceNode(
        draft.names,
        known[0] if known else _operation_name(operations),
        operations,
        tuple(dict.fromkeys(draft.types.values())),
        tuple(draft.reads),
    )


def _operation_name(operations: tuple[str, ...]) -> str:
    """Return what to call a node without an operator: `addf` for a generic that adds."""
    named = [name for name in operations if name != "linalg.generic"]
    return named[-1].partition(".")[2] if named else "copy"
