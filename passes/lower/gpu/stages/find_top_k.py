# SPDX-License-Identifier: MIT OR Apache-2.0
"""`find-top-k`: blocks sort keys of rows, where a thread would take a row.

They do it in shared memory.

Short rows are sorted whole, a block each. Of long ones blocks keep the best of a part each, and a
second launch the best of those. Where many are wanted, they read their part twice: first each
thread finds its best key, and as many of those as are wanted tell which keys need no place. Where
many of many are wanted, blocks sort parts, which launches merge. Keys have a value's rank above its
position (`sorting`), and are distinct: which of them come first depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt, prod
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, emit
from xyntra.dialects.tensors.sorting import BEST, rank_of
from xyntra.passes.analysis.kernel_function import (
    direct_operations_named,
    function_name,
    kernel_function,
    operations_named,
)
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    MAX_GRID,
    as_i32,
    as_index,
    delinearize,
    i32,
    i64,
)
from xyntra.passes.lower.gpu.loops.loop_threads import block_loop
from xyntra.passes.lower.gpu.scan_sort.block_sort import BlockKeys
from xyntra.passes.lower.kernels.fills import is_fill
from xyntra.passes.lower.loops.loop_builder import Position, index, loop
from xyntra.passes.lower.loops.memrefs import allocate, root
from xyntra.passes.registry import register_pass

_MOST_KEYS = 4096  # 32 KB of a block's shared memory
_FEWEST_KEYS = 64
_FEW = 8  # times as many as are wanted: rows of no more elements are sorted whole
_SHORT = 64  # elements of a row that a thread takes by itself, where there are as many
_MANY_ROWS = 1 << 12
_LONGEST = 1 << 30
_MIN_PART = 2048
_MOST_THREADS = 1024
_RANKS = {"float16": 19, "bfloat16": 16}  # bits of a rank that say all of it


@dataclass(frozen=True)
class _Best:
    """A loop that finds the best elements of rows.

    Attributes:
        loop: it.
        source: the rows.
        values: where the best elements go; None where nothing asks for them.
        positions: likewise for where they are.
        axis: the dimension that rows are along.
        dtype: of the elements.
        largest: whether larger ones are better.
    """

    loop: ir.Operation
    source: ir.Value
    values: ir.Value | None
    positions: ir.Value | None
    axis: int
    dtype: str
    largest: bool

    @property
    def outer(self) -> list[tuple[int, int]]:
        """Number and extent of the dimensions that are not along rows."""
        shape = list(ir.MemRefType(self.source.type).shape)
        return [(d, n) for d, n in enumerate(shape) if d != self.axis]

    @property
    def rows(self) -> int:
        """Return how many rows there are."""
        return prod(extent for _, extent in self.outer)

    @property
    def length(self) -> int:
        """Elements of a row."""
        return int(ir.MemRefType(self.source.type).shape[self.axis])

    @property
    def count(self) -> int:
        """Return how many of them are wanted."""
        found = self.values if self.values is not None else self.positions
        assert found is not None  # noqa: S101
        return int(ir.MemRefType(found.type).shape[self.axis])


@register_pass
@dataclass(frozen=True)
class FindTopK:
    """Replace loops that say that they find the best elements of rows, where blocks are faster."""

    name: ClassVar[str] = "find-top-k"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`, on buffers."""
        function, device = kernel_function(module), device_of(self.device)
        for dialect in ("gpu", "nvvm"):
            module.context.get_dialect_descriptor(dialect)  # loads it
        for op in operations_named(function, "scf.for"):
            found = _best(op) if op.parent == function and BEST in op.attributes else None
            if found is None or not _suits_blocks(found):
                continue
            name = f"{function_name(function)}_best"
            with op.location, ir.InsertionPoint(op):
                _Search(found, module, name, device).emit()
            _erase_fills(found, function)
            op.erase()


def _erase_fills(found: _Best, function: ir.Operation) -> None:
    """Erase what only gives the results values before all of them are written."""
    for op in direct_operations_named(function, "linalg.generic"):
        if is_fill(op) and op.operands[-1] in (found.values, found.positions):
            op.erase()


def _best(op: ir.Operation) -> _Best | None:
    """Return what is known of a loop; None where it is not as it was built."""
    described = ir.DictAttr(op.attributes[BEST])
    dtype = ir.StringAttr(described["dtype"]).value
    stored = {each.operands[1] for each in operations_named(op, "memref.store")}
    private = {each.result for each in operations_named(op, "memref.alloc")}
    outside = {each for each in stored if each not in private}
    loaded = {each.operands[0] for each in operations_named(op, "memref.load")}
    sources = [each for each in loaded if each not in private and each not in stored]
    if len(sources) != 1 or any(each != root(each) for each in outside):
        return None
    element = ir.MemRefType(sources[0].type).element_type
    values = [each for each in outside if ir.MemRefType(each.type).element_type == element]
    positions = [each for each in outside if str(ir.MemRefType(each.type).element_type) == "i64"]
    if len(values) > 1 or len(positions) > 1 or len(values) + len(positions) != len(outside):
        return None
    if not outside or len(list(op.results)):
        return None
    axis, largest = ir.IntegerAttr(described["axis"]).value, ir.BoolAttr(described["largest"]).value
    first, second = (each[0] if each else None for each in (values, positions))
    found = _Best(op, sources[0], first, second, axis, dtype, largest)
    shape = list(ir.MemRefType(found.source.type).shape)
    shape[axis : axis + 1] = [found.count]
    same = all(list(ir.MemRefType(each.type).shape) == shape for each in outside)
    return found if same else None


def _suits_blocks(found: _Best) -> bool:
    if found.length > _LONGEST or found.rows > MAX_GRID:
        return False
    is_inner = found.axis == len(found.outer)
    return not (found.rows >= _MANY_ROWS and (not is_inner or found.length < _SHORT))


@dataclass(frozen=True)
class _Plan:
    """A division of rows of keys among blocks.

    Attributes:
        keys: that a block has memory for.
        threads: of a block.
        parts: blocks that share a row.
        part: keys of each, but for the last.
    """

    keys: int
    threads: int
    parts: int
    part: int


def _plan(rows: int, length: int, count: int, device: GpuDevice) -> _Plan:
    """Return how blocks find the best `count` of `length` keys of each row, or of its parts."""
    if length <= min(_MOST_KEYS, max(_FEW * count, _FEWEST_KEYS)):
        keys = max(2 * device.subgroup, 1 << (length - 1).bit_length())
        return _Plan(keys, min(_MOST_THREADS // 2, max(device.subgroup, keys // 4)), 1, length)
    many = count > _FEWEST_KEYS
    times = _FEW // 2 if many else _FEW
    keys = min(_MOST_KEYS, max(_FEWEST_KEYS, times << (count - 1).bit_length()))
    threads = keys // 4 if many else keys // 2
    most = max(1, min(isqrt(length // count), length // max(_MIN_PART, 4 * keys)))
    parts = min(most, max(1, 4 * device.multiprocessors // rows))
    return _Plan(keys, threads, parts, -(-length // parts))


class _Search:
    """Emits the launches that find the best elements."""

    def __init__(self, found: _Best, module: ir.Operation, name: str, device: GpuDevice) -> None:
        self._found = found
        self._module = module
        self._name = name
        self._device = device
        self._launches = 0
        self._places = 32 - _RANKS.get(found.dtype, 32)  # bits of a position in a key of 32
        self._bits = 32 if found.length < (1 << self._places) - 1 else 64

    @property
    def _key(self) -> ir.Type:
        return ir.IntegerType.get_signless(self._bits)

    def emit(self) -> None:
        """Emit as many launches as there have to be."""
        found = self._found
        if found.length > _MOST_KEYS and found.count * 2 > _MOST_KEYS:
            self._merge()
            return
        plan = _plan(found.rows, found.length, found.count, self._device)
        if plan.parts == 1:
            self._select(plan, found.length, self._element, self._write)
            return
        few = plan.parts * found.count
        memory = allocate(found.rows * few, self._key)

        def keep(row: ir.Value, part: ir.Value, keys: BlockKeys) -> None:
            own = arith.addi(arith.muli(row, index(few)), arith.muli(part, index(found.count)))

            def store(number: ir.Value) -> None:
                place = arith.addi(own, as_index(number))
                ir.Operation.create("memref.store", operands=[keys.load(number), memory, place])

            keys.each(found.count, store)

        def candidate(row: ir.Value, number: ir.Value) -> ir.Value:
            place = arith.addi(arith.muli(row, index(few)), as_index(number))
            return emit("memref.load", [memory, place], self._key)

        self._select(plan, found.length, self._element, keep)
        last = _plan(found.rows, few, found.count, self._device)
        once = _Plan(last.keys, last.threads, 1, few)
        self._select(once, few, candidate, self._write)

    def _select(
        self,
        plan: _Plan,
        length: int,
        read: Callable[[ir.Value, ir.Value], ir.Value],
        write: Callable[[ir.Value, ir.Value, BlockKeys], None],
    ) -> None:
        """Emit a launch that finds the best keys of each part of each row.

        Args:
            plan: of the launch.
            length: keys of a row.
            read: a key, by the row, an index, and its number, an i32.
            write: what has been found, by the row and the part, both an index.
        """
        found = self._found
        with block_loop(found.rows * plan.parts, plan.threads) as block:
            row, part = arith.divui(block, index(plan.parts)), arith.remui(block, index(plan.parts))
            keys = BlockKeys(plan.keys, plan.threads, self._shared(), self._bits)

            def own(number: ir.Value) -> ir.Value:
                return read(row, number)

            if length <= plan.keys and plan.parts == 1:
                keys.fill(own, length)
            else:
                first = arith.muli(as_i32(part), i32(plan.part))
                end = arith.minui(arith.addi(first, i32(plan.part)), i32(length))
                twice = _FEWEST_KEYS < found.count <= plan.threads and plan.part > plan.keys
                keys.select(own, first, end, found.count, twice=twice)
            write(row, part, keys)

    def _shared(self) -> SharedMemory:
        self._launches += 1
        return SharedMemory(self._module, f"{self._name}{self._launches}", self._device)

    def _at(self, row: ir.Value, place: ir.Value) -> list[ir.Value]:
        """Return the indices of a place in a row, both an index."""
        outer = self._found.outer
        position: Position = delinearize(row, outer) if outer else {}
        position[self._found.axis] = place
        return [position[dimension] for dimension in sorted(position)]

    def _element(self, row: ir.Value, number: ir.Value) -> ir.Value:
        """Return the key of an element."""
        found, element = self._found, ir.MemRefType(self._found.source.type).element_type
        place = self._at(row, as_index(number))
        value = emit("memref.load", [found.source, *place], element)
        rank, number = rank_of(Scalar(value, found.dtype), found.largest), Scalar(number, "uint32")
        if self._bits == 32:
            return (rank >> self._places << self._places | number).value
        return ((rank.cast("uint64") << 32) | number.cast("uint64")).value

    def _write(self, row: ir.Value, _: ir.Value, keys: BlockKeys) -> None:
        """Write the elements of the first keys, and where they are."""

        def store(number: ir.Value) -> None:
            self._write_one(row, as_index(number), keys.load(number))

        keys.each(self._found.count, store)

    def _write_one(self, row: ir.Value, slot: ir.Value, key: ir.Value) -> None:
        found = self._found
        if self._bits == 32:
            position = emit("arith.extui", [arith.andi(key, i32((1 << self._places) - 1))], _i64())
        else:
            position = arith.andi(key, i64((1 << 32) - 1))
        there = self._at(row, slot)
        if found.positions is not None:
            ir.Operation.create("memref.store", operands=[position, found.positions, *there])
        if found.values is not None:
            element = ir.MemRefType(found.source.type).element_type
            place = emit("arith.index_castui", [position], ir.IndexType.get())
            value = emit("memref.load", [found.source, *self._at(row, place)], element)
            ir.Operation.create("memref.store", operands=[value, found.values, *there])

    def _merge(self) -> None:
        """Emit launches that sort whole rows: parts by blocks, then what lies further apart."""
        found = self._found
        levels = (found.length - 1).bit_length()
        whole, inner = 1 << levels, _MOST_KEYS.bit_length() - 1
        memory = allocate(found.rows * whole, self._key)
        self._sort_parts(memory, levels, None)
        for level in range(inner + 1, levels + 1):
            for distance in reversed(range(inner, level)):
                self._exchange(memory, whole, level, distance)
            self._sort_parts(memory, levels, level)
        with loop(found.rows * found.count, parallel=True) as number:
            row = arith.divui(number, index(found.count))
            slot = arith.remui(number, index(found.count))
            place = arith.addi(arith.muli(row, index(whole)), slot)
            self._write_one(row, slot, emit("memref.load", [memory, place], self._key))

    def _sort_parts(self, memory: ir.Value, levels: int, level: int | None) -> None:
        """Emit a launch that sorts parts of rows, or ends the exchanges of a level in them."""
        found, parts = self._found, (1 << levels) // _MOST_KEYS
        with block_loop(found.rows * parts, _MOST_THREADS) as block:
            keys = BlockKeys(_MOST_KEYS, _MOST_THREADS, self._shared(), self._bits)
            row, part = arith.divui(block, index(parts)), arith.remui(block, index(parts))
            first = arith.muli(as_i32(part), i32(_MOST_KEYS))
            start = arith.muli(block, index(_MOST_KEYS))

            def element(number: ir.Value) -> ir.Value:
                return self._element(row, number)

            def present(number: ir.Value) -> ir.Value:
                place = arith.addi(start, as_index(number))
                return emit("memref.load", [memory, place], self._key)

            if level is None:
                keys.take(element, first, i32(found.length))
                keys.sort(part=as_i32(part))
            else:
                keys.take(present, i32(0), i32(_MOST_KEYS))
                keys.end_level(level, as_i32(part))

            def store(number: ir.Value) -> None:
                place = arith.addi(start, as_index(number))
                ir.Operation.create("memref.store", operands=[keys.load(number), memory, place])

            keys.each(_MOST_KEYS, store)

    def _exchange(self, memory: ir.Value, whole: int, level: int, distance: int) -> None:
        """Emit a launch that exchanges keys further apart than those of a block are."""
        step = 1 << distance
        with loop(self._found.rows * whole // 2, parallel=True) as pair:
            above = arith.muli(arith.divui(pair, index(step)), index(2 * step))
            low = arith.addi(above, arith.remui(pair, index(step)))
            high = arith.addi(low, index(step))
            first, second = (emit("memref.load", [memory, at], self._key) for at in (low, high))
            turn = arith.remui(arith.divui(low, index(1 << level)), index(2))
            if whole == 1 << level:
                turn = index(0)
            falls = arith.cmpi(arith.CmpIPredicate.ne, turn, index(0))
            smaller, larger = arith.minui(first, second), arith.maxui(first, second)
            for place, key in (
                (low, arith.select(falls, larger, smaller)),
                (high, arith.select(falls, smaller, larger)),
            ):
                ir.Operation.create("memref.store", operands=[key, memory, place])


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)
