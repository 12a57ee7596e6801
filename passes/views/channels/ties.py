# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells which tensors of an operation are stored in one order, and which orders it can write."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.views.computed_reads import extracts_in, own_loops
from xyntra.passes.views.placing import PLACING, is_destination, placed
from xyntra.passes.views.sliding_windows import SlidingWindow, window_of
from xyntra.passes.views.structured import Interned, body_uses, identity, is_aligned

__all__ = ["Ties"]

_DEPTH = 6  # operations that follow a resize, and are looked at


class Ties:
    """The ties among the tensors of one block; each operation is looked at once."""

    def __init__(self, block: ir.Block, interned: Interned) -> None:
        self._block = block
        self._interned = interned
        self._windows: dict[ir.Operation, SlidingWindow | None] = {}
        self._tied: dict[ir.Operation, list[ir.Value]] = {}

    def window(self, op: ir.Operation) -> SlidingWindow | None:
        """Return what `op` is, if it is a convolution or pooling."""
        if op.name != "linalg.generic":
            return None
        if not any(self._interned.reductions_of(op)):
            return None
        if op not in self._windows:
            window = window_of(op, self._interned)
            self._windows[op] = window if window is not None and self.has_maps(op) else None
        return self._windows[op]

    def has_maps(self, op: ir.Operation) -> bool:
        """Tell whether `op` can read tensors, and write its results, in any order."""
        if op.name != "linalg.generic":
            return False
        if any(self._interned.reductions_of(op)) and body_uses(op, "linalg.index"):
            return False
        return all(map(is_destination, list(op.operands)[-len(op.results) :]))

    def can_write(self, op: ir.Operation) -> bool:
        """Tell whether `op` can write its result in another order."""
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
        if op.name in PLACING:
            return placed(op)
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
            *(value for value, items in operands if is_aligned(items, maps.loops)),
            *(value for value in _captured(op) if self._is_sampled(op, value, maps.loops)),
            *op.results,
        ]

    def _is_sampled(self, op: ir.Operation, value: ir.Value, loops: int) -> bool:
        """Tell whether `op` resizes or samples the channels of `value` for a convolution behind it.

        A result that nothing but its reader wants in another order is better copied before it is
        enlarged.
        """
        is_image = len(value.type.shape) == loops and {0, 1} <= own_loops(op, value)
        return is_image and self._reaches_window(op, _DEPTH)

    def _reaches_window(self, op: ir.Operation, depth: int) -> bool:
        """Whether a convolution or pooling reads `op`, or what follows it element by element."""
        for use in op.results[0].uses:
            user = use.owner.operation
            if user.block != self._block or len(user.results) != 1:
                continue
            if self.window(user) is not None:
                return True
            follows = user.name in PLACING | RESHAPES or (
                user.name == "linalg.generic" and not any(self._interned.reductions_of(user))
            )
            if follows and depth and self._reaches_window(user, depth - 1):
                return True
        return False


def _captured(op: ir.Operation) -> list[ir.Value]:
    return list(dict.fromkeys(extract.operands[0] for extract in extracts_in(op)))
