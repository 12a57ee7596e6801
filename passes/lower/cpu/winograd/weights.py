# SPDX-License-Identifier: MIT OR Apache-2.0
"""Panels of transformed weights, made once when the model is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.winograd.plan import WinogradPlan
from xyntra.passes.lower.cpu.winograd.transforms import POINTS, transformed_taps
from xyntra.passes.lower.kernels.prepared_operands import prepared
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    load,
    nested_loops,
    offset,
    store,
)
from xyntra.passes.winograd import TAPS

_PANEL, _COLUMN = -1, -2  # keys of a `Position` beside the numbers of the nest's loops


@dataclass(frozen=True)
class WinogradWeights:
    """The transformed weights of one convolution, for the columns of a tile in each panel.

    Attributes:
        memory: what the kernel reads: points x panels x channels x columns.
        point: elements of one point.
        panel: elements of one panel.
    """

    memory: ir.Value
    point: int
    panel: int

    @classmethod
    def filled(cls, plan: WinogradPlan) -> WinogradWeights:
        """Add the panels to the kernel around, and what fills them."""
        columns = plan.tile.columns
        panel = plan.channels * columns
        point = panel * plan.panels
        memory = prepared(plan.weights, POINTS * POINTS * point)
        with memory.filling():
            loops = [(_PANEL, plan.panels), (plan.channel, plan.channels), (_COLUMN, columns)]
            filler = _Filler(plan, memory.source, BufferOperand(memory.copy, 0, ()), point)
            nested_loops(loops, {}, filler.fill)
        return cls(memory.memory, point, panel)


@dataclass(frozen=True)
class _Filler:
    plan: WinogradPlan
    source: BufferOperand
    target: BufferOperand
    point: int

    def fill(self, position: Position) -> None:
        """Transform the taps of one channel and one column; columns behind the last are zero."""
        plan = self.plan
        panel, column = position.pop(_PANEL), position.pop(_COLUMN)
        wanted = integers.addi(integers.muli(panel, index(plan.tile.columns)), column)
        position |= {plan.column: integers.minsi(wanted, index(plan.columns - 1))}
        is_real = arith.cmpi(arith.CmpIPredicate.slt, wanted, index(plan.columns))
        start = offset(self.source, position)
        # In f64, so that transformed weights are rounded once.
        wide = ir.F64Type.get()
        zero, half = _number(0.0), _number(0.5)
        taps = [
            arith.select(is_real, _widened(load(self.source, integers.addi(start, place))), zero)
            for place in self._taps()
        ]
        place = integers.addi(integers.muli(panel, index(plan.channels)), position[plan.channel])
        place = integers.addi(integers.muli(place, index(plan.tile.columns)), column)
        element = ir.MemRefType(self.target.value.type).element_type
        for number, value in enumerate(transformed_taps(taps, half)):
            rounded = value if element == wide else emit("arith.truncf", [value], element)
            store(rounded, self.target, integers.addi(place, index(number * self.point)))

    def _taps(self) -> list[ir.Value]:
        down, along = (self.source.strides[number] for number in self.plan.taps)
        return [index(i * down + j * along) for i, j in product(range(TAPS), repeat=2)]


def _number(value: float) -> ir.Value:
    wide = ir.F64Type.get()
    return emit("arith.constant", [], wide, value=ir.FloatAttr.get(wide, value))


def _widened(value: ir.Value) -> ir.Value:
    wide = ir.F64Type.get()
    return value if value.type == wide else emit("arith.extf", [value], wide)
