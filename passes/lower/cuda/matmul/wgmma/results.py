# SPDX-License-Identifier: MIT OR Apache-2.0
"""The epilogue of a wgmma tile: from accumulators in registers to global memory.

A thread holds pairs of neighbouring columns: of each eight columns those at twice its number in a
group of four lanes, in two rows that lie eight apart (PTX ISA, "Register fragments for wgmma").
64 rows by 128 bytes at a time pass through shared memory, from where TMA writes them; where rows
start between multiples of 16 bytes, the threads do. Where columns are not contiguous in memory,
every thread writes its own elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from torch_mlir.dialects import arith, llvm

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.matmul.row_table import RowTable
from xyntra.passes.lower.cuda.matmul.wgmma.fragment import COLUMN_STEP, Fragment
from xyntra.passes.lower.cuda.matmul.wgmma.rows import write_rows
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import (
    SWIZZLE,
    WARPGROUP,
    WARPGROUP_ROWS,
    Tile,
    tensor_map,
)
from xyntra.passes.lower.cuda.ptx.barriers import bar_sync, fence_proxy_async
from xyntra.passes.lower.cuda.ptx.matrices import stmatrix
from xyntra.passes.lower.cuda.ptx.memory import st_shared
from xyntra.passes.lower.cuda.ptx.tma import (
    cp_async_bulk_commit_group,
    cp_async_bulk_tensor_store,
    cp_async_bulk_wait_group,
)
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.cuda.tensor_map import TensorMap
from xyntra.passes.lower.gpu.contraction.product import BatchedMatmul
from xyntra.passes.lower.gpu.contraction.row_partials import (
    PARTIAL_COLUMNS,
    RowPartials,
    elements_of,
    leads,
)
from xyntra.passes.lower.gpu.emit.thread_grid import i32, thread_number, when
from xyntra.passes.lower.gpu.matmul.place import TilePosition
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.vector_body import (
    broadcast,
    emit_results_on_vectors,
    is_vectorizable,
)

_WIDTH = 64  # columns that are written together
_PART_BYTES = WARPGROUP_ROWS * SWIZZLE
_LANES = 4  # neighbouring threads that have the columns of a row
_ITEM_BYTES = {"i8": 1, "f16": 2, "bf16": 2, "i32": 4, "f32": 4}


@dataclass(frozen=True)
class ResultBuffer:
    """An output in memory.

    Attributes:
        access: where it lies.
        element: its type.
        map: for TMA, which writes `part_columns` by 64 rows; None where it cannot.
        by_rows: threads write whole rows out of shared memory, else each its own elements.
    """

    access: BufferOperand
    element: str
    map: TensorMap | None
    by_rows: bool

    @classmethod
    def of(cls, product: BatchedMatmul, access: BufferOperand) -> ResultBuffer | None:
        """Return an output of `product`; None where its type has no code here."""
        element = str(access.element_type)
        if element not in _ITEM_BYTES:
            return None
        rows = product.dimensions(access, product.rows)
        columns = product.dimensions(access, product.columns)
        if element == "i8":  # of which 64 columns, which are written together, fill no row
            return cls(access, element, None, by_rows=False)
        width = SWIZZLE // _ITEM_BYTES[element]
        whole = (len(columns) == 1 or columns[0].extent % width == 0) and (
            len(rows) == 1 or rows[0].extent % WARPGROUP_ROWS == 0
        )
        batch = [product.dimensions(access, [number])[0] for number in product.batch]
        found = None
        if whole:
            others = [*columns[1:], *rows[1:], *batch]
            box = (width, WARPGROUP_ROWS)
            found = tensor_map(access, [columns[0], rows[0], *others], box)
        is_row = len(columns) == 1 and columns[0].stride == 1
        return cls(access, element, found, found is None and is_row)

    @property
    def part_columns(self) -> int:
        """Columns of 128 bytes."""
        return SWIZZLE // _ITEM_BYTES[self.element]

    @property
    def parts(self) -> int:
        """Boxes of 64 columns that pass through shared memory."""
        return _WIDTH // self.part_columns if self.map or self.by_rows else 0


@dataclass(frozen=True)
class Results:
    """The outputs of a product.

    Attributes:
        product: what is computed.
        epilogue: what happens to each element before it is stored, if anything.
        tile: how the product is cut; its columns are those of an output.
        targets: the outputs; the accumulators themselves last, where those are kept as well.
        partials: sums over parts of the rows of one of them, which are written along with it.
        before: what happens to each part of a tile's columns before `epilogue`, if anything.
    """

    product: BatchedMatmul
    epilogue: Epilogue | None
    tile: Tile
    targets: tuple[ResultBuffer, ...]
    partials: RowPartials | None = None
    before: tuple[Epilogue, ...] = ()

    @classmethod
    def of(
        cls,
        product: BatchedMatmul,
        epilogue: Epilogue | None,
        tile: Tile,
        before: Sequence[Epilogue] = (),
    ) -> Results | None:
        """Return the outputs; None where a type or an operation has no code here."""
        if not all(is_vectorizable(each.body) for each in before):
            return None
        if epilogue is None:
            accesses = list(product.nest.outputs)
        else:
            kept = [] if epilogue.result is None else [epilogue.result]
            accesses = [*epilogue.outputs, *kept]
            if not is_vectorizable(epilogue.body):
                return None
        targets = [ResultBuffer.of(product, each) for each in accesses]
        found = [each for each in targets if each is not None]
        if len(found) < len(targets):
            return None
        return cls(product, epilogue, tile, tuple(found), before=tuple(before))

    @property
    def maps(self) -> list[TensorMap]:
        """Tensor maps of the outputs that TMA writes."""
        return [each.map for each in self.targets if each.map is not None]

    @property
    def mapped_buffers(self) -> list[ir.Value]:
        """The memory of these maps."""
        return [each.access.value for each in self.targets if each.map is not None]

    @property
    def parts(self) -> int:
        """Boxes that a consumer writes for 64 columns."""
        return sum(each.parts for each in self.targets)

    @property
    def buffers(self) -> int:
        """Times that shared memory holds the boxes of 64 columns, for writes to overlap.

        It divides how often 64 columns are written, so that the order is the same in every tile.
        """
        times = self.tile.columns // _WIDTH
        return next(each for each in (2, 3, 1) if times % each == 0) if self.parts == 1 else 1

    @property
    def staging_bytes(self) -> int:
        """Shared memory that results of all consumers pass through."""
        return self.tile.consumers * self.buffers * self.parts * _PART_BYTES

    def write(
        self,
        place: TilePosition,
        accumulators: Sequence[ir.Value],
        consumer: ir.Value,
        staging: ir.Value,
        maps: Sequence[ir.Value],
        rows: tuple[RowTable | None, ir.Value],
    ) -> None:
        """Write what a consumer has computed.

        Args:
            place: where the consumer's 64 rows start.
            accumulators: of this thread, for each part of a tile's columns.
            consumer: its number, an i32.
            staging: address of `staging_bytes` of shared memory, an i32.
            maps: of the outputs that TMA writes.
            rows: values of rows, and which of them is the first, an i32.
        """
        corner = (place.position, place.row, place.column)
        table, begin = rows
        fragment = Fragment.of(self.product, self.tile, corner, table, begin)
        own = arith.muli(consumer, i32(self.buffers * self.parts * _PART_BYTES))
        staging = arith.addi(staging, own)
        shares = table is not None and not self.parts
        if shares:
            _consumer_barrier(consumer)  # the table is complete
        for number, first in enumerate(range(0, self.tile.columns, _WIDTH)):
            turn = number % self.buffers * self.parts * _PART_BYTES
            start = arith.addi(staging, i32(turn))
            if self.parts:
                self._wait_for_space(consumer)
            for column in range(first, first + _WIDTH, PARTIAL_COLUMNS):
                self._store_columns(fragment, column, accumulators, start)
            if self.parts:
                fence_proxy_async()
                _consumer_barrier(consumer)
                self._send(place, first, start, maps)
                self._send_rows(fragment, place, first, start)
        if shares:
            _consumer_barrier(consumer)  # it has been read

    def finish(self) -> None:
        """Wait, as a consumer, until everything is written."""
        if self.parts:
            with _leader():
                cp_async_bulk_wait_group(0)

    def _wait_for_space(self, consumer: ir.Value) -> None:
        with _leader():
            cp_async_bulk_wait_group(self.buffers - 1, read=True)
        _consumer_barrier(consumer)

    def _store_columns(
        self, fragment: Fragment, first: int, accumulators: Sequence[ir.Value], start: ir.Value
    ) -> None:
        """Store 32 columns of the tile, from `first` on, and the accumulators over them."""
        read: list[ir.Value] = []
        for column in range(first, first + PARTIAL_COLUMNS, 2 * COLUMN_STEP):
            values = self._store(fragment, column, accumulators, start)
            if self.partials is not None:
                read += values[self.partials.number([each.access for each in self.targets])]
        if self.partials is None:
            return
        column_now = arith.addi(fragment.column, i32(first))
        for half in range(2):
            row = fragment.row_of(half)
            found = self.partials.reduce(
                [each for pair in read[half::2] for each in elements_of(pair)], _LANES, WARP
            )
            inside = arith.andi(fragment.is_inside(row, column_now), leads(_LANES))
            self.partials.write(found, row, column_now, inside)

    def _store(
        self, fragment: Fragment, column: int, accumulators: Sequence[ir.Value], start: ir.Value
    ) -> list[list[ir.Value]]:
        """Store sixteen columns of the tile, from `column` on; return them for each target."""
        values: list[list[ir.Value]] = [[] for _ in self.targets]
        for first in (column, column + COLUMN_STEP):
            for half in range(2):
                number = first // COLUMN_STEP * 4 + half * 2
                pairs = [
                    _pair(each[number], each[number + 1]) for each in self._parts(accumulators)
                ]
                found = self._finished(fragment, first, half, pairs)
                for each, value in zip(values, found, strict=True):
                    each.append(value)
        part = 0
        for target, four in zip(self.targets, values, strict=True):
            if not target.parts:
                _store_directly(fragment, target, column, four)
                continue
            inside = column % _WIDTH
            box = part + inside // target.part_columns
            place = arith.addi(start, i32(box * _PART_BYTES))
            _store_part(fragment, place, inside % target.part_columns, four)
            part += target.parts
        return values

    def _parts(self, accumulators: Sequence[ir.Value]) -> list[Sequence[ir.Value]]:
        """Return the thread's accumulators of 64 rows, for each part of the tile's columns."""
        count = self.tile.columns * WARPGROUP_ROWS // WARPGROUP
        return [accumulators[start : start + count] for start in range(0, len(accumulators), count)]

    def _finished(
        self, fragment: Fragment, column: int, half: int, pairs: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Return, for each target, a pair of elements; `pairs` are those of each part."""
        if self.epilogue is None:
            return [pairs[0]]
        for part, each in enumerate(self.before):
            (before,) = _computed(each, fragment, (column, half), pairs[part : part + 1])
            pairs = [*pairs[:part], before, *pairs[part + 1 :]]
        results = _computed(self.epilogue, fragment, (column, half), pairs)
        return results if self.epilogue.result is None else [*results, pairs[0]]

    def _send(
        self,
        place: TilePosition,
        first: int,
        start: ir.Value,
        maps: Sequence[ir.Value],
    ) -> None:
        """Let TMA write 64 columns of the tile, from `first` on."""
        mapped = [(target, part, box) for target, part, box in self._boxes() if target.map]
        tensors = dict(zip([each.access for each in self.targets if each.map], maps, strict=True))
        if not mapped:
            return
        with _leader():
            for target, part, box in mapped:
                column = arith.addi(place.column, i32(first + part * target.part_columns))
                source = arith.addi(start, i32(box * _PART_BYTES))
                tensor = tensors[target.access]
                cp_async_bulk_tensor_store(tensor, source, self._coordinates(target, place, column))
            cp_async_bulk_commit_group()

    def _send_rows(
        self, fragment: Fragment, place: TilePosition, first: int, start: ir.Value
    ) -> None:
        """Let the threads write the same of outputs that TMA cannot write."""
        for target, part, box in self._boxes():
            if target.by_rows:
                column = arith.addi(place.column, i32(first + part * target.part_columns))
                source = arith.addi(start, i32(box * _PART_BYTES))
                write_rows(fragment, target.access, place.row, column, source)

    def _boxes(self) -> Iterator[tuple[ResultBuffer, int, int]]:
        """Yield the output, number and place of every part of 64 columns in shared memory."""
        box = 0
        for target in self.targets:
            for part in range(target.parts):
                yield target, part, box
                box += 1

    def _coordinates(
        self, target: ResultBuffer, place: TilePosition, column: ir.Value
    ) -> list[ir.Value]:
        columns = self.product.dimensions(target.access, self.product.columns)
        rows = self.product.dimensions(target.access, self.product.rows)
        across = _split(column, [each.extent for each in columns])
        down = _split(place.row, [each.extent for each in rows])
        word = ir.IntegerType.get_signless(32)
        batch = [arith.index_castui(word, place.position[each]) for each in self.product.batch]
        return [across[0], down[0], *across[1:], *down[1:], *batch]


def _computed(
    epilogue: Epilogue, fragment: Fragment, place: tuple[int, int], pairs: Sequence[ir.Value]
) -> list[ir.Value]:
    """Return pairs of what an epilogue computes of `pairs`, those of each part of the columns.

    Args:
        epilogue: what is computed.
        fragment: of the thread.
        place: column of the tile, and which of the thread's two rows.
        pairs: elements.
    """
    inputs = [
        pairs[part]
        if each is None
        else broadcast(each.value, 2)
        if each.is_scalar
        else fragment.load(each, *place)
        for each, part in zip(
            epilogue.inputs, epilogue.parts or (0,) * len(epilogue.inputs), strict=True
        )
    ]
    return emit_results_on_vectors(epilogue.body, inputs, 2)


def _split(number: ir.Value, extents: Sequence[int]) -> list[ir.Value]:
    """Split a number into steps of each extent, innermost first; the last one has no limit."""
    found = []
    for extent in extents[:-1]:
        found.append(arith.remui(number, i32(extent)))
        number = arith.divui(number, i32(extent))
    return [*found, number]


def _store_part(
    fragment: Fragment, start: ir.Value, column: int, values: Sequence[ir.Value]
) -> None:
    """Store sixteen columns, from `column` on, to rows of 128 bytes whose chunks are permuted."""
    if _ITEM_BYTES[str(ir.VectorType(values[0].type).element_type)] == _ITEM_BYTES["f16"]:
        word = ir.IntegerType.get_signless(32)
        words = [llvm.bitcast(word, value) for value in values]
        stmatrix(fragment.matrix_address(start, column), words)
        return
    for number, value in enumerate(values):
        first = column + number // 2 * COLUMN_STEP
        place = fragment.pair_address(start, first, number % 2)
        st_shared(place, value)


def _store_directly(
    fragment: Fragment, target: ResultBuffer, column: int, values: Sequence[ir.Value]
) -> None:
    for number, value in enumerate(values):
        first = column + number // 2 * COLUMN_STEP
        fragment.store(value, target.access, first, number % 2)


def _pair(first: ir.Value, second: ir.Value) -> ir.Value:
    kind = ir.VectorType.get([2], first.type)
    return emit("vector.from_elements", [first, second], kind)


def _leader() -> AbstractContextManager[None]:
    """Emit what follows for one thread of a consumer."""
    own = arith.andi(thread_number(), i32(WARPGROUP - 1))
    return when(arith.cmpi(arith.CmpIPredicate.eq, own, i32(0)))


def _consumer_barrier(consumer: ir.Value) -> None:
    """Wait for the threads of a consumer; barrier 0 is that of the whole block."""
    number = arith.addi(consumer, i32(1))
    bar_sync(number, i32(WARPGROUP))
