# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keys in the shared memory of a block: sorted by exchanges, or the best of many kept.

The order of exchanges does not depend on the keys (K. Batcher, "Sorting networks and their
applications", 1968). Where there are more keys than memory, those that are worse than as many as
are wanted never enter it: what has entered is sorted, and cut, whenever the memory is full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import reduce

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.emit.atomics import atomic
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    as_index,
    barrier,
    i32,
    i64,
    rolled_loop,
    thread_number,
    when,
)
from xyntra.passes.lower.loops.loop_builder import index

EACH = 8
"""Keys that a thread has on their way together."""
_BANKS = 32  # of shared memory
_WORST = -1  # as an unsigned number, the largest

Read = Callable[[ir.Value], ir.Value]
"""Returns the key of a number, an i32, which is one of the keys'."""


@dataclass
class BlockKeys:
    """Keys that the threads of a block hold.

    Attributes:
        capacity: how many keys there is memory for, a power of two.
        threads: of the block, at most half as many; a quarter have four keys each.
        shared: where they lie.
        bits: of a key, 32 or 64.
    """

    capacity: int
    threads: int
    shared: SharedMemory
    bits: int = 64
    words: ir.Value = field(init=False)
    thread: ir.Value = field(init=False)

    def __post_init__(self) -> None:
        self.words = self.shared.allocate(self.capacity, self.type)
        self.thread = thread_number()

    def first(self, capacity: int) -> BlockKeys:
        """Return so many keys, a power of two, that lie in the same memory."""
        found = copy(self)
        found.capacity = capacity
        return found

    @property
    def type(self) -> ir.Type:
        """The type of a key."""
        return ir.IntegerType.get_signless(self.bits)

    @property
    def worst(self) -> ir.Value:
        """Return the key behind all others."""
        return i32(_WORST) if self.bits == 32 else i64(_WORST)

    def fill(self, read: Read, count: int) -> None:
        """Take `count` keys, and those that are the worst for the rest, and sort them."""
        self.take(read, i32(0), i32(count))
        self.sort()

    def take(self, read: Read, first: ir.Value, end: ir.Value) -> None:
        """Take the keys from number `first` on, and behind `end` those that are the worst."""
        with self._each(self.capacity) as number:
            self._store(number, self.inside(read, arith.addi(first, number), end))
        barrier()

    def load(self, number: ir.Value) -> ir.Value:
        """Return a key by its place, an i32."""
        return emit("memref.load", [self.words, self._place(number)], self.type)

    def inside(self, read: Read, number: ir.Value, end: ir.Value) -> ir.Value:
        """Return the key of a number; behind the end, the worst."""
        is_there = arith.cmpi(arith.CmpIPredicate.ult, number, end)
        key = read(arith.minui(number, arith.subi(end, i32(1))))
        return arith.select(is_there, key, self.worst)

    def sort(self, part: ir.Value | None = None) -> None:
        """Sort all keys; every thread takes part, and sees them sorted.

        Args:
            part: the number of this block among those that will be merged: odd ones sort their
                keys from the worst to the best.
        """
        outer = rolled_loop(self._levels, 1, [])
        with ir.InsertionPoint(outer.body):
            level = arith.addi(outer.induction_variable, i32(1))

            def turn(low: ir.Value) -> ir.Value:
                number = low
                if part is not None:
                    number = arith.addi(low, arith.muli(part, i32(self.capacity)))
                return arith.andi(arith.shrui(number, level), i32(1))

            # All threads agree, so that all meet at the barriers.
            def reaches(distance: int) -> ir.Value:
                return arith.cmpi(arith.CmpIPredicate.ugt, level, i32(distance))

            if self._levels % 2:
                with when(reaches(self._levels - 1)):
                    self._exchange(self._levels - 1, turn)
            for distance in reversed(range(1, self._levels, 2)):
                built = scf.IfOp(reaches(distance), has_else=True)
                with ir.InsertionPoint(built.then_block):
                    self._exchange_twice(distance, turn)
                    scf.YieldOp([])
                with ir.InsertionPoint(built.else_block):
                    with when(reaches(distance - 1)):
                        self._exchange(distance - 1, turn)
                    scf.YieldOp([])
            scf.YieldOp([])

    def end_level(self, level: int, part: ir.Value) -> None:
        """Do the exchanges of a level, which has more keys than the block, that are in the block.

        Args:
            level: of runs of 2^level keys.
            part: the number of this block.
        """
        turn = arith.andi(arith.shrui(part, i32(level - self._levels)), i32(1))
        if self._levels % 2:
            self._exchange(self._levels - 1, lambda _: turn)
        for distance in reversed(range(1, self._levels, 2)):
            self._exchange_twice(distance, lambda _: turn)

    @property
    def _levels(self) -> int:
        return self.capacity.bit_length() - 1

    def _exchange(self, distance: int, turn: Callable[[ir.Value], ir.Value]) -> None:
        """Bring keys 2^distance apart into the order of their run: falling for a turn of 1."""
        with self._each(self.capacity // 2) as pair:
            low = _apart(pair, distance, 1)
            numbers = [low, arith.addi(low, i32(1 << distance))]
            places = [self._place(number) for number in numbers]
            one, other = (emit("memref.load", [self.words, at], self.type) for at in places)
            self._put(places, self._ordered(one, other, _falls(turn(low))))
        barrier()

    def _exchange_twice(self, distance: int, turn: Callable[[ir.Value], ir.Value]) -> None:
        """Do the exchanges of keys 2^distance apart, and those of half the distance.

        Each thread has four keys in registers for both.
        """
        with self._each(self.capacity // 4) as four:
            low, step = _apart(four, distance - 1, 2), 1 << (distance - 1)
            numbers = [low, *(arith.addi(low, i32(each * step)) for each in range(1, 4))]
            places = [self._place(number) for number in numbers]
            a, b, c, d = (emit("memref.load", [self.words, at], self.type) for at in places)
            falls = _falls(turn(low))
            (a, c), (b, d) = self._ordered(a, c, falls), self._ordered(b, d, falls)
            self._put(places, (*self._ordered(a, b, falls), *self._ordered(c, d, falls)))
        barrier()

    def _ordered(
        self, one: ir.Value, other: ir.Value, falls: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """Return two keys, the better one first, or last in a run that falls."""
        is_greater = arith.cmpi(arith.CmpIPredicate.ugt, one, other)
        swaps = arith.xori(is_greater, falls)
        return arith.select(swaps, other, one), arith.select(swaps, one, other)

    def _put(self, places: Sequence[ir.Value], keys: Sequence[ir.Value]) -> None:
        for place, key in zip(places, keys, strict=True):
            ir.Operation.create("memref.store", operands=[key, self.words, place])

    def _store(self, number: ir.Value, key: ir.Value) -> None:
        self._put([self._place(number)], [key])

    def _place(self, number: ir.Value) -> ir.Value:
        """Return where a key lies: keys that threads side by side exchange are in other banks."""
        row = arith.shrui(number, i32(_BANKS.bit_length() - 1))
        low, high = arith.andi(row, i32(3)), arith.shli(arith.andi(row, i32(2)), i32(3))
        moved = arith.xori(arith.muli(low, i32(5)), high)
        return as_index(arith.xori(number, moved))

    def each(self, count: int, body: Callable[[ir.Value], None]) -> None:
        """Let the threads share numbers below `count`."""
        with self._each(count) as number:
            body(number)

    def _each(self, count: int) -> _Each:
        return _Each(self.thread, count, self.threads)

    def select(
        self, read: Read, first: ir.Value, end: ir.Value, best: int, *, twice: bool = False
    ) -> None:
        """Keep the `best` of the keys from `first` to `end`, sorted, in front.

        Args:
            read: of a key.
            first: its number, an i32, the same in all threads.
            end: behind the last.
            best: how many; with as many again as there are threads, they fit the memory.
            twice: whether keys are read once before, for a limit that lets few of them enter; there
                are as many threads as are wanted, at least.
        """
        chosen = _Selection(self, read, end, best)
        chosen.run(first, twice=twice)


class _Each:
    """A loop over numbers that threads share, which the body is emitted into."""

    def __init__(self, first: ir.Value, count: int, step: int) -> None:
        self._bounds = (first, i32(count), i32(step))
        self._always = count == step
        self._point: ir.InsertionPoint | None = None

    def __enter__(self) -> ir.Value:
        if self._always:
            return self._bounds[0]
        built = scf.ForOp(*self._bounds)
        self._point = ir.InsertionPoint(built.body)
        self._point.__enter__()
        return built.induction_variable

    def __exit__(self, *error: object) -> None:
        if self._point is not None:
            if error[0] is None:
                scf.YieldOp([])
            self._point.__exit__(*error)


class _Selection:
    """Emits the selection of the best keys."""

    def __init__(self, keys: BlockKeys, read: Read, end: ir.Value, best: int) -> None:
        self._keys, self._read, self._end, self._best = keys, read, end, best
        self._count = keys.shared.allocate(1, _i32())
        self._limit = keys.shared.allocate(1, keys.type)
        number = arith.cmpi(arith.CmpIPredicate.eq, keys.thread, i32(0))
        self._is_first = number

    def run(self, first: ir.Value, *, twice: bool) -> None:
        """Emit the loop over tiles of the keys, with a limit from the start if they come twice."""
        with when(self._is_first):
            _put(i32(0), self._count)
            _put(self._keys.worst, self._limit)
        barrier()
        if twice:
            self._find_limit(first)
        tile = self._keys.threads * EACH
        built = scf.ForOp(first, self._end, i32(tile), [i32(0)])
        with ir.InsertionPoint(built.body):
            count = self._tile(built.induction_variable, built.inner_iter_args[0])
            barrier()
            scf.YieldOp([count])
        self._cut(built.results[0])

    def _find_limit(self, first: ir.Value) -> None:
        """Let no key enter that is worse than the best ones of as many threads as are wanted."""
        keys, step = self._keys, self._keys.threads
        few = keys.first(step)
        built = scf.ForOp(first, self._end, i32(step * EACH), [keys.worst])
        with ir.InsertionPoint(built.body):
            own = arith.addi(built.induction_variable, keys.thread)
            numbers = [arith.addi(own, i32(each * step)) for each in range(EACH)]
            found = [keys.inside(self._read, number, self._end) for number in numbers]
            scf.YieldOp([reduce(arith.minui, found, built.inner_iter_args[0])])
        few._store(keys.thread, built.results[0])
        barrier()
        few.sort()
        with when(self._is_first):
            last = few.load(i32(self._best - 1))
            is_none = arith.cmpi(arith.CmpIPredicate.eq, last, keys.worst)
            one = i32(1) if keys.bits == 32 else i64(1)
            _put(arith.select(is_none, last, arith.addi(last, one)), self._limit)
        barrier()

    def _tile(self, first: ir.Value, count: ir.Value) -> ir.Value:
        """Take several keys a thread; returns how many there are afterwards."""
        limit = _get(self._limit)
        own = arith.addi(first, self._keys.thread)
        numbers = [arith.addi(own, i32(each * self._keys.threads)) for each in range(EACH)]
        keys = [self._keys.inside(self._read, number, self._end) for number in numbers]
        enter = [arith.cmpi(arith.CmpIPredicate.ult, key, limit) for key in keys]
        place = self._reserve(enter)
        barrier()
        total = _get(self._count)
        fits = arith.cmpi(arith.CmpIPredicate.ule, total, i32(self._keys.capacity))
        built = scf.IfOp(fits, [_i32()], has_else=True)
        with ir.InsertionPoint(built.then_block):
            for key, enters in zip(keys, enter, strict=True):
                with when(enters):
                    self._keys._store(place, key)
                place = arith.addi(place, emit("arith.extui", [enters], _i32()))
            scf.YieldOp([total])
        with ir.InsertionPoint(built.else_block):
            barrier()
            scf.YieldOp([self._one_by_one(own, count)])
        return built.results[0]

    def _reserve(self, enter: list[ir.Value]) -> ir.Value:
        """Return where the thread's keys go, after those of threads that came before it."""
        wanted = i32(0)
        for each in enter:
            wanted = arith.addi(wanted, emit("arith.extui", [each], _i32()))
        some = arith.cmpi(arith.CmpIPredicate.ne, wanted, i32(0))
        built = scf.IfOp(some, [_i32()], has_else=True)
        with ir.InsertionPoint(built.then_block):
            scf.YieldOp([_add(wanted, self._count)])
        with ir.InsertionPoint(built.else_block):
            scf.YieldOp([i32(0)])
        return built.results[0]

    def _one_by_one(self, own: ir.Value, count: ir.Value) -> ir.Value:
        """Take one key a thread at a time, and cut whenever the next ones might not fit."""
        count = self._cut_if_full(count)
        with when(self._is_first):
            _put(count, self._count)
        barrier()
        step = self._keys.threads
        built = rolled_loop(step * EACH, step, [count])
        with ir.InsertionPoint(built.body):
            limit = _get(self._limit)
            number = arith.addi(own, built.induction_variable)
            key = self._keys.inside(self._read, number, self._end)
            with when(arith.cmpi(arith.CmpIPredicate.ult, key, limit)):
                self._keys._store(_add(i32(1), self._count), key)
            barrier()
            total = _get(self._count)
            barrier()
            scf.YieldOp([self._cut_if_full(total)])
        return built.results[0]

    def _cut_if_full(self, count: ir.Value) -> ir.Value:
        room = i32(self._keys.capacity - self._keys.threads)
        is_full = arith.cmpi(arith.CmpIPredicate.ugt, count, room)
        built = scf.IfOp(is_full, [_i32()], has_else=True)
        with ir.InsertionPoint(built.then_block):
            scf.YieldOp([self._cut(count)])
        with ir.InsertionPoint(built.else_block):
            scf.YieldOp([count])
        return built.results[0]

    def _cut(self, count: ir.Value) -> ir.Value:
        """Sort `count` keys and keep the best; returns how many those are."""

        def clear(number: ir.Value) -> None:
            with when(arith.cmpi(arith.CmpIPredicate.uge, number, count)):
                self._keys._store(number, self._keys.worst)

        self._keys.each(self._keys.capacity, clear)
        barrier()
        self._keys.sort()
        left = arith.minui(count, i32(self._best))
        with when(self._is_first):
            _put(left, self._count)
            _put(self._keys.load(i32(self._best - 1)), self._limit)
        barrier()
        return left


def _apart(number: ir.Value, distance: int, bits: int) -> ir.Value:
    """Return a number with zeros inserted: so many bits from the one of value 2^distance on."""
    above = arith.shli(arith.shrui(number, i32(distance)), i32(distance + bits))
    return arith.ori(above, arith.andi(number, i32((1 << distance) - 1)))


def _falls(turn: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.ne, turn, i32(0))


def _add(value: ir.Value, memory: ir.Value) -> ir.Value:
    """Add to a word; returns what was there."""
    return atomic(arith.AtomicRMWKind.addi, value, memory, index(0))


def _get(memory: ir.Value) -> ir.Value:
    return emit("memref.load", [memory, index(0)], ir.MemRefType(memory.type).element_type)


def _put(value: ir.Value, memory: ir.Value) -> None:
    ir.Operation.create("memref.store", operands=[value, memory, index(0)])


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)
