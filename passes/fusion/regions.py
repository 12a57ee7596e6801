# SPDX-License-Identifier: MIT OR Apache-2.0
"""Moves groups of operations into `xyntra.fused` regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects import FusedOp, Kind
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.block_graph import BlockGraph, Item, is_fill

MAX_LOCATIONS = 16


@dataclass(frozen=True)
class Group:
    """Operations, by index in the block graph, that go into one region."""

    members: tuple[int, ...]
    kind: Kind


def rebuild_block(graph: BlockGraph, order: Sequence[int | Group]) -> None:
    """Put the operations of a block into `order`, groups as `xyntra.fused` regions.

    `order` must hold every operation but the terminator exactly once and be a topological order.
    """
    terminator = graph.items[-1].op
    readers = graph.readers()
    for entry in order:
        if isinstance(entry, Group):
            _build_region(graph, readers, entry, terminator)
        else:
            graph.items[entry].op.move_before(terminator)
    for item in graph.items:
        if item.source and not any(len(list(result.uses)) for result in item.op.results):
            item.op.erase()


def _build_region(
    graph: BlockGraph, readers: list[set[int]], group: Group, terminator: ir.Operation
) -> None:
    members = set(group.members)
    items = [graph.items[index] for index in group.members]
    results = [
        result
        for index in group.members
        if readers[index] - members
        for result in _read_outside(graph, readers, index, members)
    ]
    # Equal fills were merged: their locations name nodes of other regions.
    named = [item for item in items if not is_fill(item.op)] or items
    location = fused_location([item.op.location for item in named])
    with location:
        fused = FusedOp.build(
            [result.type for result in results], group.kind, ip=ir.InsertionPoint(terminator)
        )
    for result, replacement in zip(results, fused.results, strict=True):
        _redirect(graph, members, result, replacement)
    for item in items:
        fused.block.append(item.op)
        _clone_sources(graph, item, fused.block)
    with location:
        fused.finish(results)


def _read_outside(
    graph: BlockGraph, readers: list[set[int]], index: int, members: set[int]
) -> list[ir.Value]:
    numbers = {
        read.result
        for reader in readers[index] - members
        for read in graph.items[reader].reads
        if read.producer == index
    }
    return [graph.items[index].op.results[number] for number in sorted(numbers)]


def _redirect(
    graph: BlockGraph, members: set[int], result: ir.Value, replacement: ir.Value
) -> None:
    """Let every use of `result` outside the group use `replacement`."""
    inside = [
        (item.op, read.operand)
        for item in (graph.items[index] for index in members)
        for read in item.reads
        if read.operand is not None and item.op.operands[read.operand] == result
    ]
    result.replace_all_uses_with(replacement)
    for op, operand in inside:
        op.operands[operand] = result


def _clone_sources(graph: BlockGraph, item: Item, block: ir.Block) -> None:
    for read in item.reads:
        producer = graph.items[read.producer]
        if producer.source and read.operand is not None:
            clone = producer.op.clone(ip=ir.InsertionPoint(item.op))
            item.op.operands[read.operand] = clone.results[0]


def fused_location(locations: Sequence[ir.Location]) -> ir.Location:
    """One location that names all of `locations`, the first ones where there are many."""
    distinct = list(dict.fromkeys(locations))[:MAX_LOCATIONS]
    return (
        distinct[0]
        if len(distinct) == 1
        else ir.Location.fused(distinct, context=distinct[0].context)
    )
