# SPDX-License-Identifier: MIT OR Apache-2.0
"""Brings a part of a factor into shared memory, by way of every thread's registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.linear_nest import Access, LinearNest
from xyntra.passes.lower.cpu.loop_builder import Position, load, offset, plus
from xyntra.passes.lower.cuda.contraction.roles import extents, size
from xyntra.passes.lower.cuda.thread_grid import as_index, delinearize, i32, thread_number

_PADDING = 4  # elements behind every step, so that steps start in different banks


@dataclass(frozen=True)
class Staging:
    """The part of one factor that a tile needs for `depth` steps of the reduction.

    In shared memory it lies as [depth][width + padding], whatever its order in the factor.

    Attributes:
        nest: the contraction.
        access: the factor.
        loops: those that the tile is cut from.
        reductions: the loops of the reduction.
        width: the tile's extent along `loops`.
        depth: steps of the reduction at once.
        threads: of the block.
        buffer: flat shared memory.
    """

    nest: LinearNest
    access: Access
    loops: tuple[int, ...]
    reductions: tuple[int, ...]
    width: int
    depth: int
    threads: int
    buffer: ir.Value

    @staticmethod
    def elements(width: int, depth: int) -> int:
        """Return how many elements `buffer` has."""
        return depth * (width + _PADDING)

    @property
    def count(self) -> int:
        """Elements that one thread brings."""
        return self.width * self.depth // self.threads

    @property
    def is_deep(self) -> bool:
        """Whether neighbours in memory are steps of the reduction."""
        steps = abs(self.access.strides[self.reductions[-1]])
        wide = abs(self.access.strides[self.loops[-1]]) if self.loops else 0
        return steps == 1 and wide != 1

    def starts(self, first: ir.Value, position: Position) -> list[ir.Value]:
        """Return where each of the thread's elements is in the factor before the first step.

        Args:
            first: the tile's first row or column, an i32.
            position: of the loops that are fixed for a tile.
        """
        base = offset(self.access, position)
        extent = size(self.nest, self.loops)
        found = []
        for wide, _ in self._places():
            number = arith.addi(first, wide)
            if extent % self.width:
                # Behind the end the last element is read again; nothing is made of it.
                number = arith.minsi(number, i32(extent - 1))
            inside = delinearize(number, extents(self.nest, self.loops))
            found.append(plus(base, _moved(self.access, inside)))
        return found

    def load(self, starts: Sequence[ir.Value], step: ir.Value, limit: int) -> list[ir.Value]:
        """Return the thread's elements for the steps from `step`, an i32, on.

        Args:
            starts: what `starts` returned.
            step: the first step.
            limit: steps in all; behind them the last one is read again.
        """
        values = []
        for start, (_, deep) in zip(starts, self._places(), strict=True):
            number = arith.addi(step, deep)
            if limit % self.depth:
                number = arith.minsi(number, i32(limit - 1))
            inside = delinearize(number, extents(self.nest, self.reductions))
            values.append(load(self.access, plus(start, _moved(self.access, inside))))
        return values

    def keep(self, values: Sequence[ir.Value]) -> None:
        """Write the thread's elements to shared memory."""
        for value, (wide, deep) in zip(values, self._places(), strict=True):
            place = arith.addi(arith.muli(deep, i32(self.width + _PADDING)), wide)
            ir.Operation.create("memref.store", operands=[value, self.buffer, as_index(place)])

    def read(self, step: ir.Value, wide: ir.Value, count: int) -> list[ir.Value]:
        """Return `count` neighbours of one step, an i32; `wide` is a multiple of `count`."""
        element = ir.MemRefType(self.buffer.type).element_type
        kind = ir.VectorType.get([count], element)
        place = arith.addi(arith.muli(step, i32(self.width + _PADDING)), wide)
        vector = emit(
            "vector.load", [self.buffer, as_index(place)], kind, alignment=_alignment(kind)
        )
        return [
            emit(
                "vector.extract",
                [vector],
                element,
                static_position=ir.DenseI64ArrayAttr.get([number]),
            )
            for number in range(count)
        ]

    def _places(self) -> list[tuple[ir.Value, ir.Value]]:
        """Return, for each element of a thread, its place in the tile and its step, i32s."""
        inner = self.depth if self.is_deep else self.width
        found = []
        for number in range(self.count):
            low, high = _divided(number * self.threads, inner)
            found.append((high, low) if self.is_deep else (low, high))
        return found


def _divided(ahead: int, inner: int) -> tuple[ir.Value, ir.Value]:
    """Return remainder and quotient by `inner` of the thread's number plus `ahead`."""
    size = i32(inner)
    if ahead % inner == 0:  # constants, so that addresses differ by constants as well
        low, high = arith.remui(thread_number(), size), arith.divui(thread_number(), size)
        return low, arith.addi(high, i32(ahead // inner))
    flat = arith.addi(thread_number(), i32(ahead))
    return arith.remui(flat, size), arith.divui(flat, size)


def _moved(access: Access, position: Position) -> ir.Value:
    """Return how far `position` moves `access` from its first element."""
    return offset(Access(access.value, 0, access.strides), position)


def _alignment(kind: ir.VectorType) -> ir.Attribute:
    nbytes = kind.shape[0] * kind.element_type.width // 8
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), nbytes)
