# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hoist-parts`: lets regions that differ in the parts of tensors that they read be one kernel."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks, weight_positions
from xyntra.passes.analysis.parts import BufferPart, buffer_of, part_of
from xyntra.passes.analysis.states import states_of
from xyntra.passes.analysis.views import RESHAPES, TENSOR_VIEWS
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.fusion.graph.block_graph import is_source
from xyntra.passes.registry import register_pass

_FUSED = "xyntra.fused"
_LEAST = 4
"""Regions that have to become one kernel."""
_PLACES = "static_offsets"


@register_pass
@dataclass(frozen=True)
class HoistParts:
    """Move slices out of xyntra.fused regions where that makes regions equal.

    The steps of a sequence read one tensor each at its own place, and would all be kernels of their
    own. A slice whose elements lie side by side, at a multiple of 64 bytes, is a part of a buffer,
    which a kernel can be called with like any other. It is moved in front of the region where at
    least four regions differ in the places of such slices and in nothing else. Parts of weights, of
    what is computed from weights alone, and of inputs that results are written over stay inside.
    """

    name: ClassVar[str] = "hoist-parts"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            classes: dict[Hashable, list[_Reader]] = {}
            for reader in _readers(block):
                classes.setdefault(_signature(reader), []).append(reader)
            moved = [reader.fused for readers in classes.values() for reader in _hoist(readers)]
            # Not earlier: the bindings may take an operation that is made for one that was erased.
            for fused in moved:
                _erase_unused_views(fused)


@dataclass(frozen=True)
class _Reader:
    """A region that reads parts of tensors.

    Attributes:
        fused: it.
        slices: those of its operations that are parts.
        places: first bytes of these.
    """

    fused: ir.Operation
    slices: tuple[ir.Operation, ...]
    places: tuple[int, ...]


def _readers(block: ir.Block) -> Iterator[_Reader]:
    """Yield the regions of `block` that read parts of tensors that calls compute, or are given."""
    regions = [view.operation for view in block.operations if view.operation.name == _FUSED]
    parts = {op: found for op in regions if (found := _parts(op))}
    if len(parts) < _LEAST:
        return
    fixed = {block.arguments[position] for position in weight_positions(block)}
    fixed.update(states_of(block.owner.operation).values())
    for view in block.operations:
        op = view.operation
        if op.name != _FUSED:
            if fixed.issuperset(map(buffer_of, op.operands)):
                fixed.update(op.results)
            continue
        found = [pair for pair in parts.get(op, []) if _is_outside(pair[0], block, fixed)]
        if found:
            slices, taken = zip(*found, strict=True)
            yield _Reader(op, slices, tuple(part.offset for part in taken))
        if _reads_only(op, block, fixed):
            fixed.update(op.results)


def _parts(fused: ir.Operation) -> list[tuple[ir.Operation, BufferPart]]:
    """Return the slices in a region that are parts of something."""
    members = [view.operation for view in fused.regions[0].blocks[0].operations]
    return [(op, part) for op in members if (part := part_of(op)) is not None]


def _is_outside(op: ir.Operation, block: ir.Block, fixed: set[ir.Value]) -> bool:
    """Tell whether the slice `op` is of a tensor of `block` that may have parts."""
    value = _captured(op.operands[0], op.block)
    origin = buffer_of(value)
    if origin in fixed:
        return False
    owner = origin.owner
    if isinstance(owner, ir.Block):
        return bool(owner == block)
    return bool(owner.operation.block == block and owner.name == _FUSED)


def _captured(value: ir.Value, body: ir.Block) -> ir.Value:
    """Return what `value` is another shape of, as far as `body` has reshaped it."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.block == body:
        if value.owner.name not in RESHAPES:
            break
        value = value.owner.operands[0]
    return value


def _reads_only(fused: ir.Operation, block: ir.Block, fixed: set[ir.Value]) -> bool:
    """Tell whether a region reads nothing of `block` but values of `fixed`, and sources."""
    for op in nested_operations(fused):
        for value in op.operands:
            owner = value.owner
            if isinstance(owner, ir.Block):
                if owner == block and value not in fixed:
                    return False
            elif owner.operation.block == block and not fixed.issuperset([buffer_of(value)]):
                return False
    return True


def _signature(reader: _Reader) -> Hashable:
    """Return what is the same for regions that differ in the places of their parts alone."""
    numbers: dict[ir.Value, int] = {}
    slices = set(reader.slices)
    inside = tuple(_described(op, slices, numbers) for op in nested_operations(reader.fused))
    return str(reader.fused.attributes["kind"]), inside


def _described(
    op: ir.Operation, slices: set[ir.Operation], numbers: dict[ir.Value, int]
) -> Hashable:
    operands = []
    for value in op.operands:
        if value not in numbers:  # of the block around the region
            operands.append(_source(value))
        operands.append(numbers.setdefault(value, len(numbers)))
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                numbers[argument] = len(numbers)
    for result in op.results:
        numbers[result] = len(numbers)
    hidden = _PLACES if op in slices else ""
    attributes = [(name, op.attributes[name]) for name in op.attributes if name != hidden]
    types = [result.type for result in op.results]
    return op.name, tuple(operands), tuple(attributes), tuple(types)


def _source(value: ir.Value) -> Hashable:
    """Return what tells a value around the region from others: its type, or its elements."""
    owner = value.owner
    if isinstance(owner, ir.Block) or not is_source(owner.operation):
        return (value.type,)
    attributes = tuple((name, owner.attributes[name]) for name in owner.attributes)
    return value.type, owner.name, attributes


def _hoist(readers: Sequence[_Reader]) -> Sequence[_Reader]:
    """Move the slices whose places differ in front of their regions; returns whose were moved."""
    if len({reader.places for reader in readers}) < _LEAST:
        return ()
    columns = zip(*(reader.places for reader in readers), strict=True)
    moved = [position for position, places in enumerate(columns) if len(set(places)) > 1]
    for reader in readers:
        for position in moved:
            _move_out(reader.slices[position], reader.fused)
    return readers


def _move_out(op: ir.Operation, fused: ir.Operation) -> None:
    """Move the slice `op` in front of `fused`, with copies of the reshapes that it reads."""
    body, chain = op.block, [op]
    while not isinstance(owner := chain[-1].operands[0].owner, ir.Block):
        if owner.operation.block != body:
            break
        chain.append(owner.operation)
    place = ir.InsertionPoint(fused)
    value = chain[-1].operands[0]
    for each in reversed(chain):
        clone = each.clone(ip=place).operation
        clone.operands[0] = value
        value = clone.results[0]
    op.results[0].replace_all_uses_with(value)


def _erase_unused_views(fused: ir.Operation) -> None:
    for view in reversed(list(fused.regions[0].blocks[0].operations)):
        op = view.operation
        if op.name in TENSOR_VIEWS and next(iter(op.results[0].uses), None) is None:
            op.erase()
