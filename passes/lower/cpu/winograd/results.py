# SPDX-License-Identifier: MIT OR Apache-2.0
"""Transforms the products of a tile into its 2 x 2 outputs, and stores them.

Where one of these is an infinity or NaN, the tile is summed again from its inputs. The transforms
mix the inputs of neighbouring outputs, so that one NaN would reach them all, and subtract
infinities from each other; every input that an output depends on reaches it, so that looking at
outputs alone suffices. What overflows in a transform alone is put right as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.owners import constant_number
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.cpu.winograd.image import PaddedTiles
from xyntra.passes.lower.cpu.winograd.plan import WinogradPlan
from xyntra.passes.lower.cpu.winograd.transforms import OUTPUTS, POINTS, outputs_of
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    load,
    nested_loops,
    offset,
    plus,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.vector_body import broadcast, emit_on_vectors

_DOWN, _ALONG, _COLUMN = -1, -2, -3  # keys of a `Position` beside the numbers of the nest's loops


@dataclass(frozen=True)
class WinogradResults:
    """Emitter of the output transform of a tile, and of its epilogue.

    Attributes:
        plan: the convolution.
        tiles: the inputs.
        initial: the scalar that every element of the output starts from.
        code: what happens to each element of the result before it is stored, if anything.
    """

    plan: WinogradPlan
    tiles: PaddedTiles
    initial: ir.Value
    code: Epilogue | None

    def emit(self, position: Position, products: ir.Value, places: Sequence[ir.Value]) -> None:
        """Emit all for the tile at `position`.

        Args:
            position: the loops around, and the first row and column of the tile.
            products: memory of the products.
            places: where those of the first channel are.
        """
        waiting = allocate(OUTPUTS * OUTPUTS * self.plan.columns, self.initial.type)
        check = self._transform(products, places, waiting)
        branch = scf.IfOp(arith.cmpf(arith.CmpFPredicate.UNO, check, check))
        with ir.InsertionPoint(branch.then_block):
            self._sum_again(self.tiles.copied(position), waiting)
            scf.YieldOp([])
        self._store(position, waiting)

    @property
    def _kind(self) -> ir.VectorType:
        return ir.VectorType.get([self.plan.tile.lanes], self.initial.type)

    def _transform(
        self, products: ir.Value, places: Sequence[ir.Value], waiting: ir.Value
    ) -> ir.Value:
        """Write the outputs of all channels; returns NaN if one of them is not finite, else 0."""
        lanes, columns = self.plan.tile.lanes, self.plan.columns
        zero = broadcast(self._constant(0.0), lanes)
        built = carrying_loop(-(-columns // lanes), [zero])
        with ir.InsertionPoint(built.body):
            column = tile_start(built.induction_variable, lanes, columns)
            values = [
                emit("vector.load", [products, integers.addi(place, column)], self._kind)
                for place in places
            ]
            check = built.inner_iter_args[0]
            for number, value in enumerate(outputs_of(values)):
                result = value if self._starts_at_zero else arith.addf(value, self._initial())
                place = integers.addi(column, index(number * columns))
                ir.Operation.create("vector.store", operands=[result, waiting, place])
                check = emit("vector.fma", [result, zero, check], self._kind)
            scf.YieldOp([check])
        kind = ir.Attribute.parse("#vector.kind<add>")
        return emit("vector.reduction", [built.results[0]], self.initial.type, kind=kind)

    @property
    def _starts_at_zero(self) -> bool:
        return constant_number(self.initial) == 0

    def _initial(self) -> ir.Value:
        return broadcast(self.initial, self.plan.tile.lanes)

    def _constant(self, value: float) -> ir.Value:
        kind = self.initial.type
        return emit("arith.constant", [], kind, value=ir.FloatAttr.get(kind, value))

    def _sum_again(self, inputs: ir.Value, waiting: ir.Value) -> None:
        """Write the outputs of all channels as sums of products of inputs and weights."""
        plan, lanes = self.plan, self.plan.tile.lanes
        vectors = -(-plan.columns // lanes)

        def output(at: Position) -> None:
            column = tile_start(at.pop(_COLUMN), lanes, plan.columns)
            corner = integers.addi(integers.muli(at[_DOWN], index(POINTS)), at[_ALONG])
            total = self._over_taps(inputs, corner, {plan.column: column}, self._initial())
            place = integers.addi(integers.muli(at[_DOWN], index(OUTPUTS)), at[_ALONG])
            place = integers.addi(integers.muli(place, index(plan.columns)), column)
            ir.Operation.create("vector.store", operands=[total, waiting, place])

        nested_loops([(_DOWN, OUTPUTS), (_ALONG, OUTPUTS), (_COLUMN, vectors)], {}, output)

    def _over_taps(
        self, inputs: ir.Value, corner: ir.Value, at: Position, total: ir.Value
    ) -> ir.Value:
        """Add to `total` all taps and channels, of those loops that are not in `at`."""
        plan = self.plan
        left = [number for number in (*plan.taps, plan.channel) if number not in at]
        if left:
            built = carrying_loop(plan.nest.loops[left[0]].extent, [total])
            with ir.InsertionPoint(built.body):
                inside = at | {left[0]: built.induction_variable}
                scf.YieldOp([self._over_taps(inputs, corner, inside, built.inner_iter_args[0])])
            return built.results[0]
        down, along = (at[number] for number in plan.taps)
        place = plus(integers.muli(down, index(POINTS)), along, corner)
        place = integers.addi(integers.muli(place, index(plan.channels)), at[plan.channel])
        factors = [
            broadcast(load(BufferOperand(inputs, 0, ()), place), plan.tile.lanes),
            self._weights(at),
        ]
        ordered = factors if plan.image == 0 else factors[::-1]
        return emit_on_vectors(plan.nest.body, [*ordered, total], plan.tile.lanes)

    def _weights(self, at: Position) -> ir.Value:
        """The weights of neighbouring output channels, which need not be contiguous in memory."""
        access = self.plan.weights
        start, step = offset(access, at), access.strides[self.plan.column]
        lanes = [
            load(access, integers.addi(start, index(lane * step)))
            for lane in range(self.plan.tile.lanes)
        ]
        return emit("vector.from_elements", lanes, self._kind)

    def _store(self, position: Position, waiting: ir.Value) -> None:
        """Store those outputs that exist, on the way through what follows."""
        plan, lanes = self.plan, self.plan.tile.lanes
        tile = TilePlan(None, (plan.column,), 1, 1, lanes, frozenset(), 0.0)
        epilogue = TileEpilogue.of(tile, plan.nest.outputs[0], self.code)
        keys = (_DOWN, _ALONG)
        loops = [
            (key, integers.minsi(index(OUTPUTS), integers.subi(index(extent), position[number])))
            if extent % OUTPUTS
            else (key, OUTPUTS)
            for key, number, extent in zip(keys, plan.positions, plan.size, strict=True)
        ]

        def put(at: Position) -> None:
            column = tile_start(at.pop(_COLUMN), lanes, plan.columns)
            place = integers.addi(integers.muli(at[_DOWN], index(OUTPUTS)), at[_ALONG])
            place = integers.addi(integers.muli(place, index(plan.columns)), column)
            value = emit("vector.load", [waiting, place], self._kind)
            moved = {
                number: integers.addi(position[number], at[key])
                for key, number in zip(keys, plan.positions, strict=True)
            }
            epilogue.at(position | moved, column)(value, 0, 0)

        nested_loops([*loops, (_COLUMN, -(-plan.columns // lanes))], {}, put)
