# SPDX-License-Identifier: MIT OR Apache-2.0
"""Skips the taps that some phases of a transposed convolution lack.

Where the taps of its kernel are no multiple of its stride, or lie apart, some outputs sum fewer of
them than others. One loop over taps serves all: the weights of those that are missing are negative
zeros (`dialects/tensors/convolution.py`), which are looked for when the model is loaded. What they
would be multiplied with changes nothing, unless it is an infinity or NaN, which must not reach the
sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.panels.constant_panels import ConstantPanels
from xyntra.passes.lower.kernels.prepared_operands import prepared
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import carrying_loop, index, load, loop, plus, store

__all__ = ["AbsentTaps", "has_phases"]

_NEGATIVE_ZERO = -(1 << 31)


def has_phases(nest: LinearNest, image: int, outer: Sequence[int]) -> bool:
    """Tell whether a convolution has loops over phases, and channels inside of its taps.

    Args:
        nest: the convolution.
        image: number of the input that is not the weights.
        outer: the loops around its tiles.
    """
    x, weights = nest.inputs[image], nest.inputs[1 - image]
    steps = {
        x.strides[number]
        for number, each in enumerate(nest.loops)
        if not each.is_reduction and int(each.extent) > 1
    }
    taps = {x.strides[number] for number in nest.reductions if x.strides[number] in steps}
    channel = min(nest.reductions, key=lambda number: x.strides[number])
    if not taps or x.strides[channel] in taps or str(weights.element_type) != "f32":
        return False
    return any(weights.strides[i] and x.strides[i] in {0, *taps} for i in outer)


@dataclass(frozen=True)
class AbsentTaps:
    """A table of the taps of a convolution whose weights are all zero.

    Attributes:
        present: for every tap of every panel zero if it is absent.
        size: weights of one tap in a panel.
    """

    present: BufferOperand
    size: int

    @classmethod
    def found(cls, panels: ConstantPanels, source: BufferOperand, size: int) -> AbsentTaps:
        """Add what looks for them to what is done when the model is loaded.

        Args:
            panels: the weights as the kernel reads them.
            source: the weights.
            size: how many one tap has in a panel.
        """
        kind = ir.IntegerType.get_signless(32)
        taps = ir.MemRefType(panels.copy.type).shape[0] // size
        memory = prepared(source, taps, kind)
        with memory.filling(), loop(taps) as tap:
            first = arith.muli(tap, index(size))
            built = carrying_loop(size, [_constant(0)])
            with ir.InsertionPoint(built.body):
                place = plus(first, built.induction_variable)
                bits = emit("arith.bitcast", [load(BufferOperand(panels.copy, 0, ()), place)], kind)
                changed = arith.xori(bits, _constant(_NEGATIVE_ZERO))
                scf.YieldOp([arith.ori(built.inner_iter_args[0], changed)])
            store(built.results[0], BufferOperand(memory.copy, 0, ()), tap)
        return cls(BufferOperand(memory.memory, 0, ()), size)

    def is_present(self, start: ir.Value) -> ir.Value:
        """Return whether there is the tap whose weights begin at `start`."""
        bits = load(self.present, arith.divui(start, index(self.size)))
        return arith.cmpi(arith.CmpIPredicate.ne, bits, _constant(0))


def _constant(number: int) -> ir.Value:
    kind = ir.IntegerType.get_signless(32)
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))
