# SPDX-License-Identifier: MIT OR Apache-2.0
"""`merge-reductions`: what a reduction alone reads is computed in its loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.tensor.pointwise_groups import PointwiseNode, analyse
from xyntra.passes.registry import register_pass

_MOST_INPUTS = 8  # of the merged operation: more streams than a core prefetches do not pay


@register_pass
@dataclass(frozen=True)
class MergeReductions:
    """Move an elementwise operation into the body of the reduction that reads its result.

    Applies where nothing else reads the result, and the reduction reads every element once, in the
    order of its loops; after `merge-elementwise`.
    """

    name: ClassVar[str] = "merge-reductions"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every kernel function of `module`."""
        for view in module.regions[0].blocks[0].operations:
            op = view.operation
            if op.name == "func.func" and KernelFacts.of(op) is not None:
                _merge_block(op.regions[0].blocks[0])


def _merge_block(block: ir.Block) -> None:
    nodes = {node.op.results[0]: node for node in analyse(block) if node.domain is not None}
    replaced: list[ir.Operation] = []
    for view in list(block.operations):
        op = view.operation
        position = _mergeable(op, nodes)
        if position is None:
            continue
        producer = op.operands[position].owner.operation
        _build(op, position, producer)
        replaced += [op, producer]
    for op in replaced:
        op.erase()


def _mergeable(op: ir.Operation, nodes: dict[ir.Value, PointwiseNode]) -> int | None:
    """The operand of a reduction that can be computed in its body, or None."""
    if op.name != "linalg.generic" or "reduction" not in str(op.attributes["iterator_types"]):
        return None
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    identity = ir.AffineMap.get_identity(maps[0].n_dims, op.context)
    inputs = len(op.operands) - len(op.results)
    for position in range(inputs):
        node = nodes.get(op.operands[position])
        if node is None or node.is_indexed or maps[position] != identity:
            continue
        uses = list(op.operands[position].uses)
        count = len(node.op.operands) - len(node.op.results)
        is_alone = len(uses) == 1 and len(node.op.results) == 1
        rest = [map_ for other, map_ in enumerate(maps) if other != position]
        streams = [each.value for each in node.op.attributes["indexing_maps"]][:count]
        if not _give_all_extents([*rest, *streams]):
            continue
        if is_alone and count > 0 and inputs - 1 + count <= _MOST_INPUTS:
            return position
    return None


def _give_all_extents(maps: list[ir.AffineMap]) -> bool:
    """Whether every loop indexes a dimension by itself somewhere, so that its extent is known."""
    plain = {
        expression.position
        for map_ in maps
        for expression in map_.results
        if isinstance(expression, ir.AffineDimExpr)
    }
    return len(plain) == int(maps[0].n_dims)


def _build(op: ir.Operation, position: int, producer: ir.Operation) -> None:
    """Create the merged operation before `op`, and let it take the place of `op`."""
    outputs, count = len(op.results), len(producer.operands) - 1
    maps, streams = list(op.attributes["indexing_maps"]), list(producer.attributes["indexing_maps"])
    operands = list(op.operands)
    maps[position : position + 1] = streams[:count]
    operands[position : position + 1] = list(producer.operands)[:count]
    attributes = {
        "indexing_maps": ir.ArrayAttr.get(maps),
        "iterator_types": op.attributes["iterator_types"],
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands) - outputs, outputs]),
    }
    with op.location, ir.InsertionPoint(op):
        merged = ir.Operation.create(
            "linalg.generic",
            results=[result.type for result in op.results],
            operands=operands,
            attributes=attributes,
            regions=1,
        )
        kinds = [ir.RankedTensorType(value.type).element_type for value in operands]
        body = merged.regions[0].blocks.append(*kinds, arg_locs=[op.location] * len(kinds))
    element = _move_body(producer, body, list(body.arguments)[position : position + count])
    arguments = list(body.arguments)
    arguments[position : position + count] = [element]
    source = op.regions[0].blocks[0]
    for old, new in zip(source.arguments, arguments, strict=True):
        old.replace_all_uses_with(new)
    for view in list(source.operations):
        body.append(view.operation)
    for old, new in zip(op.results, merged.results, strict=True):
        old.replace_all_uses_with(new)


def _move_body(producer: ir.Operation, body: ir.Block, arguments: list[ir.Value]) -> ir.Value:
    """Move the body of `producer` but for its end; returns what it yields."""
    source = producer.regions[0].blocks[0]
    for old, new in zip(source.arguments, arguments, strict=False):
        old.replace_all_uses_with(new)
    operations = [view.operation for view in source.operations]
    for op in operations[:-1]:
        body.append(op)
    yielded: ir.Value = operations[-1].operands[0]
    return yielded
