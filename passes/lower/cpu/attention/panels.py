# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packed keys and values of the heads of an attention."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from xyntra.dialects.attention import Attention
from xyntra.dialects.attention_layout import BATCH, HEAD, KEY, KEY_SIZE, VALUE_SIZE
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.attention.packing import MatrixSource, clear_rest, pack_columns
from xyntra.passes.lower.cpu.attention.plan import AttentionPlan
from xyntra.passes.lower.cpu.attention.tiles import KeyPanels
from xyntra.passes.lower.kernels.attention_operands import locate
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import index, plus
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.math.exp import LOG2_E

__all__ = ["HeadPanels"]


@dataclass(frozen=True)
class HeadPanels:
    """Memory for keys [panel][size][column] and values [panel][key][column], head after head.

    Keys are scaled, so that scores are exponents of two.

    Attributes:
        op: the attention.
        plan: its blocks.
        shared: how many neighbouring heads have the same keys and values.
        memory: the two buffers, once they are allocated.
        start: where those of one group of heads start in them.
    """

    op: Attention
    plan: AttentionPlan
    shared: int
    memory: tuple[ir.Value, ...] = ()
    start: tuple[ir.Value, ...] = ()

    @classmethod
    def of(cls, op: Attention, plan: AttentionPlan) -> HeadPanels:
        """Find out what heads share."""
        periods = (locate(each).period(HEAD) for each in (op.key, op.value))
        return cls(op, plan, gcd(*periods) or op.sizes[HEAD])

    @property
    def value_panels(self) -> int:
        """Panels of one head's values."""
        return -(-self.op.sizes[VALUE_SIZE] // self.plan.panel)

    @property
    def value_columns(self) -> int:
        """Columns of those."""
        return self.value_panels * self.plan.panel

    @property
    def _sizes(self) -> tuple[int, int]:
        keys = self.plan.padded_keys
        return keys * self.op.sizes[KEY_SIZE], keys * self.value_columns

    def allocated(self, groups: int) -> HeadPanels:
        """With memory for as many groups of heads."""
        f32 = ir.F32Type.get()
        keys, values = (allocate(size * groups, f32) for size in self._sizes)
        return replace(self, memory=(keys, values))

    def at(self, group: ir.Value) -> HeadPanels:
        """Those of one group."""
        keys, values = (integers.muli(group, index(size)) for size in self._sizes)
        return replace(self, start=(keys, values))

    def pack(self, batch: ir.Value, group: ir.Value, number: ir.Value) -> None:
        """Fill the memory of group `number`, which is the group-th of a batch."""
        own, plan, sizes = self.at(number), self.plan, self.op.sizes
        outer = {BATCH: batch, HEAD: integers.muli(group, index(self.shared))}
        key, value = locate(self.op.key), locate(self.op.value)
        keys = MatrixSource(
            key.memory, key.start(outer), sizes[KEY_SIZE], sizes[KEY],
            key.stride(KEY_SIZE), key.stride(KEY),
        )  # fmt: skip
        scale = self.op.scale * LOG2_E
        target = own.keys_from(index(0))
        # Scores without a key are masked, but computing with what happened to be in memory may be
        # slow: subnormal numbers take many processors a hundred cycles each.
        clear_rest(keys, target, sizes[KEY_SIZE], plan.panel, plan.lanes)
        pack_columns(keys, target, sizes[KEY_SIZE], plan.panel, plan.lanes, scale)
        values = MatrixSource(
            value.memory, value.start(outer), sizes[KEY], sizes[VALUE_SIZE],
            value.stride(KEY), value.stride(VALUE_SIZE),
        )  # fmt: skip
        # Where there is no key, a probability of 0 must not meet a NaN.
        clear_rest(values, own.values_from(index(0)), plan.padded_keys, plan.panel, plan.lanes)
        pack_columns(values, own.values_from(index(0)), plan.padded_keys, plan.panel, plan.lanes)

    def keys_from(self, key: ir.Value) -> KeyPanels:
        """The panels of keys from `key` on, which starts one."""
        return self._panels(0, integers.muli(key, index(self.op.sizes[KEY_SIZE])))

    def values_from(self, key: ir.Value) -> KeyPanels:
        """The panels of values, from the row of `key` on."""
        return self._panels(1, integers.muli(key, index(self.plan.panel)))

    def _panels(self, which: int, distance: ir.Value) -> KeyPanels:
        depth = (self.op.sizes[KEY_SIZE], self.plan.padded_keys)[which]
        start = plus(self.start[which], distance)
        return KeyPanels(self.memory[which], start, depth * self.plan.panel)
