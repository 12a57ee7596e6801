# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies rows to the order in which words of a packed matrix hold its integers.

Lane i of a vector of words holds the integers of word i, and each step takes one integer of every
word: these are as many steps of the sum apart as a word has integers. The rows are copied so that
what a vector of such integers meets lies side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul_packed.word_plan import WORD, WordProduct
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    load,
    nested_loops,
    offset,
    plus,
    store,
)
from xyntra.passes.lower.loops.memrefs import allocate

__all__ = ["WordRows"]

_ROW, _CHUNK, _LANE = 0, 1, 2


@dataclass(frozen=True)
class WordRows:
    """The copy, [rows, chunks, integers of a word, words of a vector] in f32.

    A chunk is what a vector of words meets. The last one ends with the column: what the one before
    has met already is 0 in it.

    Attributes:
        product: whose rows these are.
        lanes: words of a vector.
        copy: the memory.
    """

    product: WordProduct
    lanes: int
    copy: BufferOperand

    @classmethod
    def made(cls, product: WordProduct, lanes: int) -> WordRows:
        """Emit the copy."""
        chunks = product.chunks(lanes)
        chunk = product.fields * lanes
        size = product.found.rows * chunks * chunk
        strides = (chunks * chunk, chunk, 1)
        found = cls(product, lanes, BufferOperand(allocate(size, ir.F32Type.get()), 0, strides))
        loops = [(_ROW, product.found.rows), (_CHUNK, chunks), (_LANE, lanes)]
        nested_loops(loops, {}, found._copy_word, parallel=True)
        return found

    def read(self, row: ir.Value, chunk: ir.Value, field: int) -> ir.Value:
        """Return what an integer of every word of a chunk meets."""
        place = plus(offset(self.copy, {_ROW: row, _CHUNK: chunk}), index(field * self.lanes))
        kind = ir.VectorType.get([self.lanes], ir.F32Type.get())
        return emit("vector.load", [self.copy.value, place], kind)

    def _copy_word(self, place: Position) -> None:
        first = self.product.first_byte(place[_CHUNK], self.lanes)
        word = plus(first, integers.muli(place[_LANE], index(WORD)))
        to = offset(self.copy, place)
        is_new = self._is_new(word, place[_CHUNK])
        zero = emit("arith.constant", [], ir.F32Type.get(), value=ir.FloatAttr.get_f32(0.0))
        for field in range(self.product.fields):
            byte, number = divmod(field, len(self.product.factors))
            value = self._element(place[_ROW], plus(word, index(byte)), number)
            if is_new is not None:
                value = emit("arith.select", [is_new, value, zero], value.type)
            store(value, self.copy, plus(to, index(field * self.lanes)))

    def _is_new(self, word: ir.Value, chunk: ir.Value) -> ir.Value | None:
        size = WORD * self.lanes
        if self.product.column_bytes % size == 0:
            return None
        met = integers.muli(chunk, index(size))
        return arith.cmpi(arith.CmpIPredicate.uge, word, met)

    def _element(self, row: ir.Value, byte: ir.Value, number: int) -> ir.Value:
        """Return what the body multiplies with integer `number` of a byte of a column."""
        found, factor = self.product.found, self.product.factors[number]
        is_widened = not isinstance(factor.owner, ir.Block)
        argument = factor.owner.operation.operands[0] if is_widened else factor
        access = found.nest.inputs[list(found.nest.body.arguments).index(argument)]
        # Blocks follow each other as their bytes do.
        place = {found.step: byte}
        if found.row is not None:
            place[found.row] = row
        value = load(access, offset(access, place))
        return emit("arith.extf", [value], ir.F32Type.get()) if is_widened else value
