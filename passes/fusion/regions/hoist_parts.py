# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hoist-parts`: lets regions that differ in the parts of tensors that they read be one kernel."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from xyntra.dialects.builder import TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks, weight_positions
from xyntra.passes.analysis.parts import buffer_of
from xyntra.passes.analysis.states import states_of
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.fusion.graph.block_graph import is_source
from xyntra.passes.fusion.regions.viewed_parts import ViewedPart, viewed_part
from xyntra.passes.registry import register_pass

_FUSED = "xyntra.fused"
_LEAST = 4
"""Regions that have to become one kernel."""


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
        parts: those of its operations that are parts.
    """

    fused: ir.Operation
    parts: tuple[ViewedPart, ...]

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The first elements of its parts."""
        return tuple(part.start for part in self.parts)


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
        found = [part for part in parts.get(op, []) if _may_have_parts(part.base, block, fixed)]
        if found:
            yield _Reader(op, tuple(found))
        if _reads_only(op, block, fixed):
            fixed.update(op.results)


def _parts(fused: ir.Operation) -> list[ViewedPart]:
    """Return the slices in a region that are parts of what lies around it."""
    members = [view.operation for view in fused.regions[0].blocks[0].operations]
    return [part for op in members if (part := viewed_part(op)) is not None]


def _may_have_parts(value: ir.Value, block: ir.Block, fixed: set[ir.Value]) -> bool:
    """Tell whether `value`, of `block`, lies in a buffer that kernels may be given parts of."""
    origin = buffer_of(value)
    owner = origin.owner
    if isinstance(owner, ir.Block):
        return bool(owner == block and origin not in fixed)
    return bool(origin not in fixed and owner.operation.block == block and owner.name == _FUSED)


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
    slices = {part.op for part in reader.parts}
    needless = _needless(reader.fused, slices)
    inside = tuple(
        _described(op, numbers, is_part=op in slices)
        for op in nested_operations(reader.fused)
        if op not in needless
    )
    return str(reader.fused.attributes["kind"]), inside


def _needless(fused: ir.Operation, slices: set[ir.Operation]) -> set[ir.Operation]:
    """Return the views that nothing in a region reads but slices that are parts."""
    found: set[ir.Operation] = set()
    for view in reversed(list(fused.regions[0].blocks[0].operations)):
        op = view.operation
        if op.name in TENSOR_VIEWS and op not in slices:
            readers = {use.owner.operation for use in op.results[0].uses}
            if readers <= slices | found:
                found.add(op)
    return found


def _described(op: ir.Operation, numbers: dict[ir.Value, int], *, is_part: bool) -> Hashable:
    operands = []
    for value in () if is_part else op.operands:
        if value not in numbers:  # of the block around the region
            operands.append(_source(value))
        operands.append(numbers.setdefault(value, len(numbers)))
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                numbers[argument] = len(numbers)
    for result in op.results:
        numbers[result] = len(numbers)
    attributes = [] if is_part else [(name, op.attributes[name]) for name in op.attributes]
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
            part = reader.parts[position]
            builder = TensorBuilder(ir.InsertionPoint(reader.fused), part.op.location)
            part.op.results[0].replace_all_uses_with(part.make(builder))
    return readers


def _erase_unused_views(fused: ir.Operation) -> None:
    for view in reversed(list(fused.regions[0].blocks[0].operations)):
        op = view.operation
        if op.name in TENSOR_VIEWS and next(iter(op.results[0].uses), None) is None:
            op.erase()
