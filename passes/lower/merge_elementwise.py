# SPDX-License-Identifier: MIT OR Apache-2.0
"""`merge-elementwise`: makes one loop nest of a kernel's elementwise operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import Kernel
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.block_graph import BlockGraph, Item
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class MergeElementwise:
    """Merge a kernel that consists of elementwise operations into one linalg.generic.

    Applies to kernels in which every operation runs over one iteration space and reads the
    others' results element by element; intermediate values then stay in registers.
    """

    name: ClassVar[str] = "merge-elementwise"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every kernel function of `module`."""
        for view in module.regions[0].blocks[0].operations:
            op = view.operation
            if op.name == "func.func" and Kernel.of(op) is not None:
                _merge_block(op.regions[0].blocks[0])


def _merge_block(block: ir.Block) -> None:
    graph = BlockGraph.of(block)
    loops = [item for item in graph.items[:-1] if not item.source]
    if len(loops) < 2 or not _is_one_nest(graph, loops):
        return
    results = list(dict.fromkeys(graph.items[-1].op.operands))
    nest = _Nest(loops, results)
    for position, value in enumerate(graph.items[-1].op.operands):
        graph.items[-1].op.operands[position] = nest.replacement(value)
    for item in reversed(loops):
        item.op.erase()


def _is_one_nest(graph: BlockGraph, loops: Sequence[Item]) -> bool:
    domain = loops[0].domain
    if domain is None or any(item.domain != domain for item in loops):
        return False
    produced = {result for item in loops for result in item.op.results}
    if any(value not in produced for value in graph.items[-1].op.operands):
        return False
    return all(
        read.pointwise or graph.items[read.producer].source for item in loops for read in item.reads
    )


class _Nest:
    """The merged operation; bodies move into it in order."""

    def __init__(self, loops: Sequence[Item], results: Sequence[ir.Value]) -> None:
        self.results = list(results)
        self.inputs = self._inputs(loops)
        self.op = self._create(loops[-1].op)
        self.body = self.op.regions[0].blocks[0]
        self.scalars: dict[ir.Value, ir.Value] = {}
        for item in loops:
            self._move_body(item.op)
        with self.op.location:
            ir.Operation.create(
                "linalg.yield",
                operands=[self.scalars[value] for value in self.results],
                ip=ir.InsertionPoint(self.body),
            )

    def replacement(self, value: ir.Value) -> ir.Value:
        """The result of the merged operation that stands for `value`."""
        return self.op.results[self.results.index(value)]

    def _inputs(self, loops: Sequence[Item]) -> dict[tuple[ir.Value, ir.AffineMap], int]:
        produced = {result for item in loops for result in item.op.results}
        inputs: dict[tuple[ir.Value, ir.AffineMap], int] = {}
        for item in loops:
            for value, map_ in _reads(item.op):
                if value not in produced:
                    inputs.setdefault((value, map_), len(inputs))
        return inputs

    def _create(self, last: ir.Operation) -> ir.Operation:
        rank = len(last.attributes["iterator_types"])
        with last.location, ir.InsertionPoint(last):
            inits = [
                ir.Operation.create("tensor.empty", results=[value.type]).results[0]
                for value in self.results
            ]
            identity = ir.AffineMap.get_identity(rank)
            maps = [map_ for _, map_ in self.inputs] + [identity] * len(inits)
            operands = [value for value, _ in self.inputs] + inits
            op = ir.Operation.create(
                "linalg.generic",
                results=[value.type for value in self.results],
                operands=operands,
                attributes={
                    "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
                    "iterator_types": last.attributes["iterator_types"],
                    "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(self.inputs), len(inits)]),
                },
                regions=1,
            )
        types = [ir.RankedTensorType(value.type).element_type for value in operands]
        op.regions[0].blocks.append(*types, arg_locs=[last.location] * len(types))
        return op

    def _move_body(self, op: ir.Operation) -> None:
        block = op.regions[0].blocks[0]
        for argument, (value, map_) in zip(block.arguments, _reads(op), strict=False):
            scalar = self.scalars.get(value)
            if scalar is None:
                scalar = self.body.arguments[self.inputs[value, map_]]
            argument.replace_all_uses_with(scalar)
        operations = [view.operation for view in block.operations]
        for nested in operations[:-1]:
            self.body.append(nested)
        self.scalars.update(zip(op.results, operations[-1].operands, strict=True))


def _reads(op: ir.Operation) -> list[tuple[ir.Value, ir.AffineMap]]:
    """The input operands of a `linalg.generic` with their maps."""
    inputs = len(op.operands) - len(op.results)
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    return list(zip(list(op.operands)[:inputs], maps[:inputs], strict=True))
