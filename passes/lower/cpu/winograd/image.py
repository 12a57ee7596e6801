# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads 4 x 4 input tiles of an image whose padding is not stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.winograd.plan import WinogradPlan
from xyntra.passes.lower.cpu.winograd.transforms import OUTPUTS, POINTS
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    loop,
    nested_loops,
    offset,
    plus,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.vector_body import broadcast
from xyntra.passes.winograd import TAPS

Visitor: TypeAlias = Callable[[ir.Value, ir.Value, int, int], None]
"""Takes the memory of a tile, where it starts, and how far apart its rows and its columns are."""
_I, _J = -1, -2  # keys of a `Position` beside the numbers of the nest's loops


@dataclass(frozen=True)
class PaddedImage:
    """The input of a convolution, and the padding around it.

    Attributes:
        access: the image; its strides are those of the convolution's loops, its offset is the first
            pixel that exists.
        padding: rows above and columns left of it that do not exist.
        size: rows and columns that exist.
        value: the scalar that the padding is made of.
    """

    access: BufferOperand
    padding: tuple[int, int]
    size: tuple[int, int]
    value: ir.Value


@dataclass(frozen=True)
class PaddedTiles:
    """The tiles of one image."""

    plan: WinogradPlan
    image: PaddedImage

    def visit(self, position: Position, visitor: Visitor) -> None:
        """Let `visitor` emit what reads the tile at `position`, in the image or in a copy.

        Args:
            position: the loops around, and the first row and column of the tile's outputs.
            visitor: called twice where some tiles are not whole.
        """
        if self._are_whole:
            self._visit_image(position, visitor)
            return
        branch = scf.IfOp(self._is_whole(position), has_else=True)
        with ir.InsertionPoint(branch.then_block):
            self._visit_image(position, visitor)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            channels = self.plan.channels
            visitor(self.copied(position), index(0), POINTS * channels, channels)
            scf.YieldOp([])

    def copied(self, position: Position) -> ir.Value:
        """Return a copy of the tile at `position`, channels innermost, filled up with padding."""
        memory = allocate(POINTS * POINTS * self.plan.channels, self.image.value.type)
        start = self._start(position)
        down, along = self._strides
        tops = self._first(position)

        def copy(inside: Position) -> None:
            i, j = inside[_I], inside[_J]
            place = integers.addi(integers.muli(i, index(POINTS)), j)
            place = integers.muli(place, index(self.plan.channels))
            source = plus(start, integers.muli(i, index(down)), integers.muli(j, index(along)))
            exists = integers.andi(
                *(
                    arith.cmpi(arith.CmpIPredicate.ult, integers.addi(top, step), index(size))
                    for top, step, size in zip(tops, (i, j), self.image.size, strict=True)
                )
            )
            branch = scf.IfOp(exists, has_else=True)
            with ir.InsertionPoint(branch.then_block):
                self._fill(memory, place, source)
                scf.YieldOp([])
            with ir.InsertionPoint(branch.else_block):
                self._fill(memory, place, None)
                scf.YieldOp([])

        nested_loops([(_I, POINTS), (_J, POINTS)], {}, copy)
        return memory

    @property
    def _strides(self) -> tuple[int, int]:
        down, along = (self.image.access.strides[number] for number in self.plan.positions)
        return down, along

    @property
    def _are_whole(self) -> bool:
        reach = ((extent + TAPS - 1) for extent in self.plan.size)
        return not any(self.image.padding) and all(
            size >= extent and each % OUTPUTS == 0
            for size, extent, each in zip(self.image.size, reach, self.plan.size, strict=True)
        )

    def _first(self, position: Position) -> list[ir.Value]:
        """The row and column of the image where a tile starts; may be negative."""
        return [
            integers.subi(position[number], index(before))
            for number, before in zip(self.plan.positions, self.image.padding, strict=True)
        ]

    def _is_whole(self, position: Position) -> ir.Value:
        tests = []
        for first, size in zip(self._first(position), self.image.size, strict=True):
            # Unsigned, so that a negative row is one too large.
            predicate = arith.CmpIPredicate.ult
            tests.append(arith.cmpi(predicate, first, index(max(size - POINTS + 1, 0))))
        return integers.andi(*tests)

    def _start(self, position: Position) -> ir.Value:
        access = self.image.access
        around = {number: position[number] for number in self.plan.outer}
        moves = zip(self._first(position), self._strides, strict=True)
        steps = [integers.muli(first, index(stride)) for first, stride in moves]
        return plus(offset(access, around), *steps)

    def _visit_image(self, position: Position, visitor: Visitor) -> None:
        visitor(self.image.access.value, self._start(position), *self._strides)

    def _fill(self, memory: ir.Value, place: ir.Value, source: ir.Value | None) -> None:
        """Copy the channels of one pixel, or write what the padding is made of."""
        lanes, channels = self.plan.tile.lanes, self.plan.channels
        kind = ir.VectorType.get([lanes], self.image.value.type)
        with loop(-(-channels // lanes)) as vector:
            channel = tile_start(vector, lanes, channels)
            if source is None:
                value = broadcast(self.image.value, lanes)
            else:
                read = integers.addi(source, channel)
                value = emit("vector.load", [self.image.access.value, read], kind)
            operands = [value, memory, integers.addi(place, channel)]
            ir.Operation.create("vector.store", operands=operands)
