# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites a block so that given tensors are stored in another order of dimensions."""

from __future__ import annotations

from collections.abc import Mapping

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.views.channels.channel_orders import Order, stored_layout
from xyntra.passes.views.channels.ties import Ties
from xyntra.passes.views.computed_reads import (
    extracts_in,
    read_through,
    rename_indices,
    user_in,
)
from xyntra.passes.views.layout import Layout
from xyntra.passes.views.placing import is_destination, permute
from xyntra.passes.views.structured import Interned, Item, Map, affine_map, identity
from xyntra.passes.views.tensors import MadeOperations, retyped


class Reordering:
    """The rewriting of one block.

    Args:
        block: the body of a function.
        orders: for every tensor that is stored differently, the order of its dimensions.
    """

    def __init__(self, block: ir.Block, orders: Mapping[ir.Value, Order]) -> None:
        self.block = block
        self.orders = orders
        self.interned = Interned()
        self.ties = Ties(block, self.interned)
        self.tensors = MadeOperations()
        self.shapes = {value: tuple(value.type.shape) for value in orders}
        self.stored: dict[ir.Value, ir.Value] = {}
        self.passed: list[ir.Operation] = []
        self.replaced_reads: list[ir.Operation] = []

    def run(self) -> None:
        """Rewrite the block."""
        affected = {value.owner.operation for value in self.orders}
        affected |= {user_in(self.block, use) for value in self.orders for use in value.uses}
        for op in [view.operation for view in self.block.operations]:
            if op in affected:
                self._visit(op)
        for extract in self.replaced_reads:
            extract.erase()
        for op in [*reversed(self.passed), *reversed(self.tensors.replaced)]:
            if all(next(iter(result.uses), None) is None for result in op.results):
                op.erase()

    def _visit(self, op: ir.Operation) -> None:
        if op.name in RESHAPES:
            self._visit_reshape(op)
        elif self.ties.has_maps(op):
            self._visit_generic(op)
        elif any(result in self.orders for result in op.results):
            self._visit_placing(op)
        else:
            for number, value in enumerate(op.operands):
                if value in self.orders:
                    op.operands[number] = self._plain(value, op)
            self._visit_body(op)

    def _visit_body(self, op: ir.Operation) -> None:
        """Let the body of `op` read elements where they are stored."""
        for extract in extracts_in(op):
            value = extract.operands[0]
            if value not in self.orders:
                continue
            if self.ties.has_maps(op) and self.ties.tied(op, value):
                read_through(extract, self.stored[value], self.orders[value])
                self.replaced_reads.append(extract)
            else:
                extract.operands[0] = self._plain(value, op)

    def _base(self, value: ir.Value) -> tuple[ir.Value, Layout]:
        """The tensor that holds the elements of `value`, and how they lie in it."""
        if value not in self.orders:
            return value, Layout.row_major(tuple(value.type.shape))
        return self.stored[value], stored_layout(self.shapes[value], self.orders[value])

    def _plain(self, value: ir.Value, before: ir.Operation) -> ir.Value:
        return self.tensors.move(*self._base(value), before)

    def _in_order(self, value: ir.Value, order: Order, before: ir.Operation) -> ir.Value:
        """`value`, which may be stored in `order` already, in that order."""
        if value in self.orders:
            return self.stored[value]
        shape = tuple(value.type.shape)
        stored = [shape[d] for d in order]
        made = None
        if is_destination(value):
            made = self.tensors.destination(value, stored, before)
        layout = Layout.row_major(shape).gathered(order, stored)
        return made or self.tensors.move(value, layout, before)

    def _visit_reshape(self, op: ir.Operation) -> None:
        result = op.results[0]
        shape = self.shapes.get(result) or tuple(result.type.shape)
        base, layout = self._base(op.operands[0])
        reshaped = layout.reshaped(shape)
        if reshaped is None:
            base = self._plain(op.operands[0], op)
            reshaped = Layout.row_major(shape)
        order = self.orders.get(result, identity(len(shape)))
        made = self.tensors.move(base, reshaped.gathered(order, [shape[d] for d in order]), op)
        if result in self.orders:
            self.stored[result] = made
        else:
            result.replace_all_uses_with(made)
        self.passed.append(op)

    def _visit_generic(self, op: ir.Operation) -> None:
        found = self.interned.maps_of(op)
        maps = list(found.items)
        inputs = len(op.operands) - len(op.results)
        for number, value in enumerate(list(op.operands)):
            tensor = value if number < inputs else op.results[number - inputs]
            if tensor not in self.orders:
                if value in self.orders:  # a destination that others share, stored as they want it
                    op.operands[number] = self._plain(value, op)
                continue
            maps[number] = tuple(maps[number][d] for d in self.orders[tensor])
            if number < inputs:
                op.operands[number] = self.stored[value]
            else:
                op.operands[number] = self._in_order(value, self.orders[tensor], op)
                self._set_stored(tensor, op)
        self._visit_body(op)
        with op.location:
            _set_maps(op, found.loops, maps)

    def _visit_placing(self, op: ir.Operation) -> None:
        result = op.results[0]
        order = self.orders[result]
        for number, value in enumerate(list(op.operands)):
            op.operands[number] = self._in_order(value, order, op)
        permute(op, order)
        self._set_stored(result, op)

    def _set_stored(self, result: ir.Value, op: ir.Operation) -> None:
        """Give `result` the type of its stored form."""
        shape = self.shapes[result]
        with op.location:
            result.set_type(retyped(result.type, [shape[d] for d in self.orders[result]]))
        self.stored[result] = result


def _set_maps(op: ir.Operation, loops: int, maps: list[Map]) -> None:
    """Give `op` the maps, with its loops in the order in which they index the last result."""
    first = [item for item in maps[-1] if isinstance(item, int)]
    sequence = [*first, *(loop for loop in range(loops) if loop not in first)]
    names = [sequence.index(loop) for loop in range(loops)]
    renamed = affine_map(loops, names)

    def rename(item: Item) -> Item:
        if isinstance(item, int):
            return sequence.index(item)
        return None if item is None else item.compose(renamed)

    attributes = [affine_map(loops, [rename(item) for item in items]) for items in maps]
    op.attributes["indexing_maps"] = ir.ArrayAttr.get(
        [ir.AffineMapAttr.get(each) for each in attributes]
    )
    kinds = list(op.attributes["iterator_types"])
    op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[loop] for loop in sequence])
    rename_indices(op, names)
