# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which tensors an operation wants stored in one order, and what it can do with others."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.block_graph import is_fill
from xyntra.passes.views.sliding_windows import Window, loops_in, window_of
from xyntra.passes.views.structured import Interned, Map, body_uses, identity
from xyntra.passes.views.wants import RESHAPES

__all__ = ["RESHAPES", "Ties"]

_PLACING = frozenset({"tensor.pad", "tensor.insert_slice", "tensor.extract_slice"})


class Ties:
    """What the operations of one block can do; each is looked at once."""

    def __init__(self, block: ir.Block, interned: Interned) -> None:
        self._block = block
        self._interned = interned
        self._windows: dict[ir.Operation, Window | None] = {}
        self._tied: dict[ir.Operation, list[ir.Value]] = {}

    def window(self, op: ir.Operation) -> Window | None:
        """What `op` is, if it is a convolution or pooling."""
        if op.name != "linalg.generic":
            return None
        if op not in self._windows:
            reduces = any(self._interned.reductions_of(op)) and self.has_maps(op)
            self._windows[op] = window_of(op, self._interned) if reduces else None
        return self._windows[op]

    def has_maps(self, op: ir.Operation) -> bool:
        """Whether `op` can read tensors, and write its results, in any order."""
        if op.name != "linalg.generic" or body_uses(op, "linalg.index"):
            return False
        return all(map(is_destination, list(op.operands)[-len(op.results) :]))

    def can_write(self, op: ir.Operation) -> bool:
        """Whether `op` can write its result in another order."""
        return op.name in RESHAPES or bool(self._group(op)) or self.has_maps(op)

    def tied(self, op: ir.Operation, value: ir.Value) -> list[ir.Value]:
        """The tensors that `op` wants in the same order as `value`, itself included, if any."""
        group = self._group(op)
        return group if value in group else []

    def _group(self, op: ir.Operation) -> list[ir.Value]:
        if op not in self._tied:
            self._tied[op] = self._find_group(op)
        return self._tied[op]

    def _find_group(self, op: ir.Operation) -> list[ir.Value]:
        if op.name in _PLACING:
            return _placed(op)
        if not self.has_maps(op):
            return []
        window = self.window(op)
        if window is not None:
            return [] if window.mixes else [op.operands[0], op.results[0]]
        maps = self._interned.maps_of(op)
        outputs = maps.items[len(maps.items) - len(op.results) :]
        plain = identity(maps.loops)
        if any(self._interned.reductions_of(op)) or any(items != plain for items in outputs):
            return []
        operands = zip(op.operands, maps.items[: -len(op.results)], strict=False)
        return [
            *(value for value, items in operands if _is_aligned(items, maps.loops)),
            *op.results,
        ]


def is_destination(value: ir.Value) -> bool:
    """Whether `value` is written over, or holds one number everywhere."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    if op.name == "tensor.empty":
        return not len(op.operands)
    return is_fill(op) and len(op.results) == 1 and not body_uses(op, "linalg.index")


def _is_aligned(items: Map, loops: int) -> bool:
    """Whether every dimension is indexed by the loop of its own position alone."""
    return len(items) == loops and all(
        loops_in(item) == {position} for position, item in enumerate(items)
    )


def _placed(op: ir.Operation) -> list[ir.Value]:
    values = [*op.operands, *op.results]
    if len(op.operands) != (2 if op.name == "tensor.insert_slice" else 1):
        return []
    if len({len(value.type.shape) for value in values}) > 1:
        return []
    if op.name == "tensor.pad":
        arguments = op.regions[0].blocks[0].arguments
        return [] if any(list(argument.uses) for argument in arguments) else values
    return [value for value in values if not is_destination(value)]
