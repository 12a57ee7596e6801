# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations with indexing maps, read into plain integers and rewritten in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.views.computed_reads import rename_indices

Item: TypeAlias = "int | ir.AffineExpr | None"
"""A position of an indexing map: a loop, another expression, or None for the constant 0."""

Map = tuple[Item, ...]


@dataclass(frozen=True)
class Maps:
    """The indexing maps of an operation and the number of loops that they are over."""

    loops: int
    items: tuple[Map, ...]
    simple: bool
    """Whether all positions are loops or 0, no loop twice in a map."""
    moving: bool
    """Whether there are two tensors, the second of which has the order of the loops."""


@dataclass
class Interned:
    """Attributes that many operations share, read once."""

    maps: dict[ir.Attribute, Maps] = field(default_factory=dict)
    iterators: dict[ir.Attribute, tuple[bool, ...]] = field(default_factory=dict)
    shapes: dict[ir.Type, tuple[int, ...] | None] = field(default_factory=dict)

    def shape_of(self, value: ir.Value) -> tuple[int, ...] | None:
        """The shape of a tensor that is static and not empty, of elements that we know."""
        type_ = value.type
        if type_ not in self.shapes:
            self.shapes[type_] = _shape(type_)
        return self.shapes[type_]

    def maps_of(self, op: ir.Operation) -> Maps:
        """The indexing maps of `op`."""
        attribute = op.attributes["indexing_maps"]
        found = self.maps.get(attribute)
        if found is None:
            found = self.maps[attribute] = _read_maps(attribute)
        return found

    def reductions_of(self, op: ir.Operation) -> tuple[bool, ...]:
        """For every loop of `op`, whether it is a reduction (or anything but parallel)."""
        attribute = op.attributes["iterator_types"]
        found = self.iterators.get(attribute)
        if found is None:
            found = tuple("parallel" not in str(kind) for kind in attribute)
            self.iterators[attribute] = found
        return found


def _read_maps(attribute: ir.ArrayAttr) -> Maps:
    maps = [entry.value for entry in attribute]
    items = tuple(tuple(map(_item, map_.results)) for map_ in maps)
    loops = maps[0].n_dims if maps else 0
    plain = identity(loops)
    moving = len(items) == 2 and items[1] == plain
    return Maps(loops, items, all(map(_is_simple, items)), moving)


def _item(expression: ir.AffineExpr) -> Item:
    if isinstance(expression, ir.AffineDimExpr):
        return int(expression.position)
    if isinstance(expression, ir.AffineConstantExpr) and expression.value == 0:
        return None
    return expression


def _is_simple(items: Map) -> bool:
    loops = [item for item in items if item is not None]
    return all(isinstance(item, int) for item in loops) and len(set(loops)) == len(loops)


def affine_map(loops: int, items: Sequence[Item]) -> ir.AffineMap:
    """The map of `items`; needs a current context."""
    return ir.AffineMap.get(loops, 0, [_expression(item) for item in items])


def _expression(item: Item) -> ir.AffineExpr:
    if item is None:
        return ir.AffineConstantExpr.get(0)
    return ir.AffineDimExpr.get(item) if isinstance(item, int) else item


def identity(rank: int) -> tuple[int, ...]:
    """The map that reads every loop in order."""
    return tuple(range(rank))


def _shape(type_: ir.Type) -> tuple[int, ...] | None:
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        return None
    shape = tuple(type_.shape)
    return None if 0 in shape or str(type_.element_type) not in ITEM_BYTES else shape


class Structured:
    """An operation with indexing maps; changes take effect with `commit`.

    Attributes:
        op: a linalg.generic, or an op of ours with one map for each operand and result.
        maps: of the operands, then (for an op without destinations) of the results.
        operands: the operands as they shall be.
    """

    def __init__(self, op: ir.Operation, interned: Interned) -> None:
        found = interned.maps_of(op)
        self.op = op
        self.loops = found.loops
        self.simple = found.simple
        self.maps: list[Map] = list(found.items)
        self.operands: list[ir.Value] = list(op.operands)
        self.is_generic = op.name == "linalg.generic"
        self.outputs = len(op.results)
        self.inputs = len(self.operands) - (self.outputs if self.is_generic else 0)
        self.result_type: ir.Type | None = None
        self._interned = interned
        self._kinds: ir.Attribute | None = None
        self._changed = False

    @property
    def reductions(self) -> tuple[bool, ...]:
        """For every loop whether it is a reduction."""
        return self._interned.reductions_of(self.op)

    @property
    def can_rename(self) -> bool:
        """Tell whether the loops of this elementwise operation may be put into another order."""
        return self.is_generic and has_free_loops(self.op, self._interned)

    def set_operand(self, position: int, value: ir.Value, map_: Map) -> bool:
        """Let the operand be `value`, read by `map_`; False where a loop would lose its bounds."""
        old = self.maps[position]
        self.maps[position] = map_
        lost = set(_loops(old)) - set(_loops(map_))
        if lost and not lost <= {loop for other in self.maps for loop in _loops(other)}:
            self.maps[position] = old
            return False
        self.operands[position] = value
        self.simple = self.simple and _is_simple(map_)
        self._changed = True
        return True

    def set_map(self, position: int, map_: Map) -> None:
        """Replace one map."""
        self.maps[position], self._changed = map_, True

    def keep_loops(self, loops: Sequence[int]) -> None:
        """Let the loops be those of `loops`, in this order; the maps must follow."""
        kinds = list(self.op.attributes["iterator_types"])
        self.loops, self._kinds = len(loops), ir.ArrayAttr.get([kinds[loop] for loop in loops])
        self._changed = True

    def rename(self, names: Sequence[int]) -> None:
        """Let loop i be loop `names[i]`, with the result of this elementwise operation."""
        renamed = affine_map(self.loops, names)
        self.maps = [
            *(tuple(_renamed(item, names, renamed) for item in map_) for map_ in self.maps[:-1]),
            identity(self.loops),
        ]
        rename_indices(self.op, names)
        self._changed = True

    def set_result(self, type_: ir.Type) -> None:
        """Give the only result another type."""
        self.result_type = type_

    def commit(self) -> None:
        """Write the changes into the operation."""
        if not self._changed and self.result_type is None:
            return
        for position, value in enumerate(self.operands):
            if self.op.operands[position] != value:
                self.op.operands[position] = value
        maps = [ir.AffineMapAttr.get(affine_map(self.loops, items)) for items in self.maps]
        self.op.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
        if self._kinds is not None:
            self.op.attributes["iterator_types"] = self._kinds
        if self.result_type is not None:
            self.op.results[0].set_type(self.result_type)


def _renamed(item: Item, names: Sequence[int], renamed: ir.AffineMap) -> Item:
    if isinstance(item, int):
        return names[item]
    return None if item is None else item.compose(renamed)


def _loops(items: Map) -> list[int]:
    return [item for item in items if isinstance(item, int)]


def loops_in(item: Item) -> set[Item]:
    """The loops that an index is computed from."""
    if item is None or isinstance(item, int):
        return {item} - {None}
    if isinstance(item, ir.AffineDimExpr):
        return {item.position}
    if isinstance(item, ir.AffineBinaryExpr):
        return loops_in(item.lhs) | loops_in(item.rhs)
    return set()


def is_aligned(items: Map, loops: int) -> bool:
    """Tell whether every dimension is indexed by the loop of its own position alone."""
    return len(items) == loops and all(
        loops_in(item) == {position} for position, item in enumerate(items)
    )


def has_free_loops(op: ir.Operation, interned: Interned) -> bool:
    """Tell whether the loops of a linalg.generic can be in any order: it is elementwise."""
    return (
        len(op.results) == 1
        and not any(interned.reductions_of(op))
        and interned.maps_of(op).items[-1] == identity(interned.maps_of(op).loops)
        and not reads_output(op)
    )


def body_uses(op: ir.Operation, name: str) -> bool:
    """Tell whether an operation `name` stands in the body of `op`."""
    return any(
        view.operation.name == name or body_uses(view.operation, name)
        for region in op.regions
        for block in region.blocks
        for view in block.operations
    )


def reads_output(op: ir.Operation) -> bool:
    """Tell whether the body of a linalg.generic reads what its destinations held."""
    arguments = list(op.regions[0].blocks[0].arguments)
    return any(
        next(iter(argument.uses), None) is not None for argument in arguments[-len(op.results) :]
    )


def only_moves(op: ir.Operation) -> bool:
    """Tell whether the body of a linalg.generic of one input yields it unchanged."""
    block = op.regions[0].blocks[0]
    first = next(iter(block.operations)).operation
    return bool(first.name == "linalg.yield" and first.operands[0] == block.arguments[0])
