# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a tile's accumulators, after what follows the contraction element by element.

Accumulators pass through shared memory as rows, so that neighbouring threads write neighbouring
vectors and the code of the epilogue is there once. The blocks of a cluster each write a share of
their common tile; all add the partial sums in the order of the blocks' ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir.dialects import arith, scf

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.matmul.mma.tiles import MmaTile
from xyntra.passes.lower.cuda.matmul.row_table import RowTable
from xyntra.passes.lower.cuda.ptx.clusters import barrier_cluster, ld_shared_cluster, mapa
from xyntra.passes.lower.cuda.ptx.memory import ld_shared, st_shared
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.gpu.contraction.row_partials import (
    PARTIAL_COLUMNS,
    RowPartials,
    elements_of,
    leads,
)
from xyntra.passes.lower.gpu.contraction.row_values import RowValueLoops
from xyntra.passes.lower.gpu.emit.thread_grid import (
    barrier,
    delinearize,
    i32,
    is_below,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.matmul.place import TilePosition
from xyntra.passes.lower.gpu.matmul.result import store_element
from xyntra.passes.lower.gpu.matmul.roles import Roles, extents, size
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import Position, load, offset
from xyntra.passes.lower.loops.vector_body import broadcast, emit_results_on_vectors

_WORD = 4  # bytes of a sum
_VECTOR_BYTES = 16  # the widest access of one thread
_MOST_LANES = 8


@dataclass(frozen=True)
class Shares:
    """Accumulators that the blocks of a cluster have sent each other, each another's rows.

    Attributes:
        ahead: from the address of a sum of the own rows to that of the first block's, an i32.
        step: bytes from one block's accumulators to the next one's.
    """

    ahead: ir.Value
    step: int


@dataclass(frozen=True)
class MmaResult:
    """Writer of the results of a contraction on tensor cores.

    Attributes:
        nest: the contraction.
        roles: which of its loops are batch, M, N and K.
        epilogue: what happens to each element before it is stored, if anything.
        initial: what every sum starts from; None for zero.
        tile: the tiles.
        shared: where the block's shared memory begins, an i32.
        table: values of the tile's rows, which the epilogue reads.
        partials: sums over parts of the rows, which are written as well.
        shares: where the accumulators of all blocks of the cluster are; None: in their memory.
    """

    nest: LinearNest
    roles: Roles
    epilogue: Epilogue | None
    initial: ir.Value | None
    tile: MmaTile
    shared: ir.Value
    table: RowTable | None = field(default=None, kw_only=True)
    partials: RowPartials | None = field(default=None, kw_only=True)
    shares: Shares | None = field(default=None, kw_only=True)

    def write(
        self,
        place: TilePosition,
        corner: tuple[ir.Value, ir.Value],
        accumulators: Sequence[ir.Value],
    ) -> None:
        """Store what the threads have computed, where it is inside of the output.

        Args:
            place: where the tile lies.
            corner: first row and column of the warp's part of the tile.
            accumulators: the thread's fragments, four words for 16 rows of 8 columns, row by row.
        """
        barrier()  # the last parts have been read by all
        self.exchange(corner, accumulators)
        if place.rank is None:
            barrier()
        else:
            barrier_cluster()
        self.write_share(place, accumulators[0].type)
        if place.rank is not None:
            barrier_cluster(release=False)  # nobody reads this block's memory any more

    def exchange(self, corner: tuple[ir.Value, ir.Value], accumulators: Sequence[ir.Value]) -> None:
        """Store a thread's fragments as rows in shared memory; arguments are those of `write`."""
        lane = arith.andi(thread_number(), i32(31))
        row = arith.addi(corner[0], arith.divui(lane, i32(4)))
        pair = arith.muli(arith.andi(lane, i32(3)), i32(2))
        first = self.address(row, arith.addi(corner[1], pair))
        kind = ir.VectorType.get([2], accumulators[0].type)
        across = self.tile.own_columns // 8
        for number in range(0, len(accumulators), 2):
            fragment, half = divmod(number // 2, 2)
            down, right = divmod(fragment, across)
            ahead = (down * 16 + half * 8) * self.tile.pitch + right * 8
            value = emit("vector.from_elements", list(accumulators[number : number + 2]), kind)
            st_shared(arith.addi(first, i32(ahead * _WORD)), value)

    def address(self, row: ir.Value, column: ir.Value) -> ir.Value:
        """Return where a sum of the tile is in shared memory, an i32."""
        word = arith.addi(arith.muli(row, i32(self.tile.pitch)), column)
        return arith.addi(self.shared, arith.muli(word, i32(_WORD)))

    def write_share(self, place: TilePosition, element: ir.Type) -> None:
        """Write this block's vectors of the tile; accumulators are of type `element`."""
        lanes, tile = self.lanes, self.tile
        count = tile.rows * tile.columns // lanes
        first, end = thread_number(), i32(count)
        if place.rank is not None:
            own = -(-count // (tile.split * WARP)) * WARP  # so that warps stay together
            start = arith.muli(place.rank, i32(own))
            first = arith.addi(first, start)
            end = arith.minui(end, arith.addi(start, i32(own)))
        loop = scf.ForOp(first, end, i32(tile.threads), [])
        with ir.InsertionPoint(loop.body):
            across = i32(tile.columns // lanes)
            row = arith.divui(loop.induction_variable, across)
            column = arith.muli(arith.remui(loop.induction_variable, across), i32(lanes))
            inside = arith.andi(
                is_below(arith.addi(place.row, row), size(self.nest, self.roles.rows)),
                is_below(arith.addi(place.column, column), size(self.nest, self.roles.columns)),
            )
            if self.partials is None:
                with when(inside):
                    self._write_vector(place, row, column, element)
            else:
                self._write_with_partials(self.partials, place, (row, column), element, inside)
            scf.YieldOp([])

    def _write_vector(
        self, place: TilePosition, row: ir.Value, column: ir.Value, element: ir.Type
    ) -> None:
        address = self.address(row, column)
        across = arith.addi(place.row, row), arith.addi(place.column, column)
        position = self._position(place, *across)
        total = self._total(address, element)
        if self.lanes > 1:
            self._store_vectors(self._results(total, position, row), position)
            return
        value = emit("vector.extract", [total], element, static_position=_at(0))
        store_element(value, self.nest.outputs[0], self.epilogue, position)

    def _write_with_partials(
        self,
        partials: RowPartials,
        place: TilePosition,
        local: tuple[ir.Value, ir.Value],
        element: ir.Type,
        inside: ir.Value,
    ) -> None:
        """As `_write_vector`, by whole warps, whose threads then add up what they have."""
        total = self._total(self.address(*local), element)
        row, column = arith.addi(place.row, local[0]), arith.addi(place.column, local[1])
        last = size(self.nest, self.roles.columns) - self.lanes
        row = arith.minui(row, i32(size(self.nest, self.roles.rows) - 1))
        column = arith.minui(column, i32(last))
        position = self._position(place, row, column)
        results = self._results(total, position, local[0])
        with when(inside):
            self._store_vectors(results, position)
        read = results[partials.number(self._outputs)]
        threads = PARTIAL_COLUMNS // self.lanes
        accumulators = partials.reduce(elements_of(read), threads, WARP)
        partials.write(accumulators, row, column, arith.andi(inside, leads(threads)))

    def _position(self, place: TilePosition, row: ir.Value, column: ir.Value) -> Position:
        position = place.position | delinearize(row, extents(self.nest, self.roles.rows))
        return position | delinearize(column, extents(self.nest, self.roles.columns))

    def _total(self, address: ir.Value, element: ir.Type) -> ir.Value:
        """Return the accumulators of all blocks of the cluster at an address, added by rank."""
        add = arith.addi if isinstance(element, ir.IntegerType) else arith.addf
        total = self._sums_of(0, address, element)
        for rank in range(1, self.tile.split):
            total = add(total, self._sums_of(rank, address, element))
        if self.initial is None:
            return total
        return add(broadcast(self.initial, self.lanes), total)

    def _sums_of(self, rank: int, address: ir.Value, element: ir.Type) -> ir.Value:
        if self.shares is not None:
            address = arith.addi(address, self.shares.ahead)
            address = arith.addi(address, i32(rank * self.shares.step))
        elif self.tile.split > 1:
            return _load_remote(mapa(address, i32(rank)), self.lanes, element)
        return ld_shared(address, ir.VectorType.get([self.lanes], element))

    @property
    def lanes(self) -> int:
        """Contiguous elements of a row that a thread writes at once."""
        values = None if self.table is None else self.table.values
        return contiguous_lanes(self.nest, self.roles, self.epilogue, values)

    @property
    def _outputs(self) -> list[BufferOperand]:
        return _written(self.nest, self.epilogue)

    def _results(self, value: ir.Value, position: Position, row: ir.Value) -> list[ir.Value]:
        """Return a vector for each output; `row` is one of the tile."""
        if self.epilogue is None:
            return [value]
        inputs = [self._vector(each, value, position, row) for each in self.epilogue.inputs]
        results = emit_results_on_vectors(self.epilogue.body, inputs, self.lanes)
        return results if self.epilogue.result is None else [*results, value]

    def _store_vectors(self, results: Sequence[ir.Value], position: Position) -> None:
        for result, output in zip(results, self._outputs, strict=True):
            self._store_vector(result, output, position)

    def _vector(
        self, access: BufferOperand | None, value: ir.Value, position: Position, row: ir.Value
    ) -> ir.Value:
        if access is None:
            return value
        if access.is_scalar:
            return broadcast(access.value, self.lanes)
        slot = None if self.table is None else self.table.values.slot(access)
        if self.table is not None and slot is not None:
            return broadcast(self.table.load(slot, row), self.lanes)
        place = offset(access, position)
        if access.strides[self.roles.columns[-1]] == 0:
            return broadcast(load(access, place), self.lanes)
        kind = ir.VectorType.get([self.lanes], access.element_type)
        alignment = self._alignment(access)
        return emit("vector.load", [access.value, place], kind, alignment=alignment)

    def _store_vector(self, value: ir.Value, access: BufferOperand, position: Position) -> None:
        ir.Operation.create(
            "vector.store",
            operands=[value, access.value, offset(access, position)],
            attributes={"alignment": self._alignment(access)},
        )

    def _alignment(self, access: BufferOperand) -> ir.Attribute:
        i64 = ir.IntegerType.get_signless(64)
        return ir.IntegerAttr.get(i64, self.lanes * ITEM_BYTES[str(access.element_type)])


def contiguous_lanes(
    nest: LinearNest, roles: Roles, epilogue: Epilogue | None, values: RowValueLoops | None
) -> int:
    """Return how many contiguous elements of a row a thread writes at once.

    Args:
        nest: the contraction.
        roles: which of its loops are batch, M, N and K.
        epilogue: what follows, if anything.
        values: of rows, which do not come from memory.
    """
    inputs = () if epilogue is None else epilogue.inputs
    read = [each for each in inputs if each is not None and not each.is_scalar]
    if values is not None:
        read = [each for each in read if values.slot(each) is None]
    outputs = _written(nest, epilogue)
    accesses = [*outputs, *read]
    sizes = {ITEM_BYTES.get(str(each.element_type), 0) for each in accesses}
    if not roles.columns or any(str(each.element_type) == "i1" for each in accesses) or 0 in sizes:
        return 1
    inner, lanes = roles.columns[-1], min(_MOST_LANES, _VECTOR_BYTES // max(sizes))
    if any(each.strides[inner] != 1 for each in outputs):
        return 1
    while lanes > 1 and not all(_is_aligned(nest, each, inner, lanes) for each in accesses):
        lanes //= 2
    return lanes


def _written(nest: LinearNest, epilogue: Epilogue | None) -> list[BufferOperand]:
    if epilogue is None:
        return [nest.outputs[0]]
    return [*epilogue.outputs, *([] if epilogue.result is None else [epilogue.result])]


def _is_aligned(nest: LinearNest, access: BufferOperand, inner: int, lanes: int) -> bool:
    if access.strides[inner] == 0:
        return True
    others = [step for number, step in enumerate(access.strides) if number != inner]
    start = access.start
    places = [nest.loops[inner].extent, start, *others]
    return access.strides[inner] == 1 and all(place % lanes == 0 for place in places)


def _at(number: int) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get([number])


def _load_remote(address: ir.Value, lanes: int, element: ir.Type) -> ir.Value:
    """Return `lanes` contiguous elements of 32 bits from where `mapa` says, as a vector."""
    step = next(count for count in (4, 2, 1) if lanes % count == 0)
    values: list[ir.Value] = []
    for first in range(0, lanes, step):
        values += ld_shared_cluster(address, step, element, ahead=4 * first)
    return emit("vector.from_elements", values, ir.VectorType.get([lanes], element))
