# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks for the panel of a constant operand that comes next while tiles work on the one before.

A processor's own prefetching starts late in every panel and follows the first tile only: where the
operand comes from memory, that tile would wait for it and those below find it in a cache. A share
of the next panel with every tile spreads the reading over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import index, loop

__all__ = ["PanelPrefetch", "prefetch"]

_NEAR_BYTES = 256 << 10  # an operand that stays in the second-level cache
_LINE_BYTES = 64
_LEAST_TILES = 2


@dataclass(frozen=True)
class PanelPrefetch:
    """Software prefetches of a panel, spread over the tiles of the one before it.

    Attributes:
        panels: of the operand.
        start: the first element that comes next; may lie behind the last one.
        share: lines of the cache for every tile.
    """

    panels: BufferOperand
    start: ir.Value
    share: int

    @classmethod
    def planned(
        cls, panels: BufferOperand, start: ir.Value, size: int, tiles: int
    ) -> PanelPrefetch | None:
        """Return what to ask for, or None where it does not pay.

        Args:
            panels: of the operand, in memory of one dimension.
            start: the first element that comes next.
            size: elements of it.
            tiles: how many tiles the panel before is used for.
        """
        kind = ir.MemRefType(panels.value.type)
        item_bytes = ITEM_BYTES[str(kind.element_type)]
        if tiles < _LEAST_TILES or kind.shape[0] * item_bytes <= _NEAR_BYTES:
            return None
        return cls(panels, start, -(-size * item_bytes // (_LINE_BYTES * tiles)))

    def ask(self, number: ir.Value) -> None:
        """Emit the share of tile `number`."""
        kind = ir.MemRefType(self.panels.value.type)
        line = _LINE_BYTES // ITEM_BYTES[str(kind.element_type)]
        start = integers.addi(self.start, integers.muli(number, index(self.share * line)))
        with loop(self.share) as each:
            place = integers.addi(start, integers.muli(each, index(line)))
            prefetch(self.panels.value, integers.minsi(place, index(kind.shape[0] - 1)))


def prefetch(memory: ir.Value, place: ir.Value, *, level: int = 2) -> None:
    """Ask for one line, for reading, in the first- or second-level cache."""
    ir.Operation.create(
        "memref.prefetch",
        operands=[memory, place],
        attributes={
            "isWrite": ir.BoolAttr.get(value=False),
            "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4 - level),
            "isDataCache": ir.BoolAttr.get(value=True),
        },
    )
