# SPDX-License-Identifier: MIT OR Apache-2.0
"""`scatter-updates`: of loops that update memory where data tells them, a thread takes each update.

Updates of one place must keep their order, others need not. Where updates overwrite what is there,
the last one of each place counts: threads find the highest number, and the thread that has it
writes. Where updates are combined, launches count those of each place, give each place a part of a
list, put the updates there and sort them; then one thread for each place, and for each slice of an
update, goes through them. The order in which threads reach counters decides where lists lie, and
not what comes of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import ClassVar

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.kernel_function import kernel_function, operations_named
from xyntra.passes.analysis.loop_bounds import constant_trips, number_of
from xyntra.passes.analysis.owners import sources_of
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.lower.gpu.emit.atomics import atomic
from xyntra.passes.lower.gpu.emit.thread_grid import as_i32, as_index, delinearize, i32, when
from xyntra.passes.lower.gpu.loops.loop_copies import computed_again, is_inside
from xyntra.passes.lower.gpu.loops.loop_threads import loops_of
from xyntra.passes.lower.loops.loop_builder import Position, index, loop
from xyntra.passes.lower.loops.memrefs import allocate, root
from xyntra.passes.registry import register_pass

_MIN_STEPS = 16  # fewer, one after the other, take no longer than several launches
_MOST_PLACES = 1 << 27
_MOST_UPDATES = 1 << 30
_MOST_LISTS = 256  # that are given memory, one after the other, while a thread makes one update
_PURE = ("arith.", "math.")


@dataclass(frozen=True)
class _Updates:
    """Loops around one store.

    Attributes:
        whole: the outermost loop.
        memory: what is updated.
        steps: loops whose iterations may update the same places, outermost first.
        keyed: loops whose iterations have places of their own, that data tells.
        slices: loops whose iterations have places of their own, the same ones for all.
        places: indices of the store that data tells, by dimension.
        conditions: under which an update is made.
        combines: whether updates read what is there before.
    """

    whole: ir.Operation
    memory: ir.Value
    steps: tuple[ir.Operation, ...]
    keyed: tuple[ir.Operation, ...]
    slices: tuple[ir.Operation, ...]
    places: tuple[tuple[int, ir.Value], ...]
    conditions: tuple[ir.Value, ...]
    combines: bool

    @property
    def sizes(self) -> list[int]:
        """Extents of the dimensions where data tells the place."""
        shape = list(ir.MemRefType(self.memory.type).shape)
        return [shape[dimension] for dimension, _ in self.places]


@register_pass
@dataclass(frozen=True)
class ScatterUpdates:
    """Replace loops that update memory in order by loops whose iterations need no order."""

    name: ClassVar[str] = "scatter-updates"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`, on buffers."""
        function = kernel_function(module)
        for op in operations_named(function, "scf.for"):
            if op.parent == function:
                found = _updates(op)
                if found is not None:
                    with op.location, ir.InsertionPoint(op):
                        _Spread(found).emit()
                    op.erase()


def _updates(whole: ir.Operation) -> _Updates | None:
    """Return what is known of `whole`; None where it is something else, or short."""
    loops = loops_of(whole)
    trips = [constant_trips(each) for each in loops]
    stores = operations_named(whole, "memref.store")
    if len(stores) != 1 or None in trips or any(list(each.results) for each in loops):
        return None
    memory, place = stores[0].operands[1], tuple(stores[0].operands)[2:]
    around = _around(stores[0], whole)
    if memory != root(memory) or set(loops) != set(around) or not _is_plain(whole, memory, place):
        return None
    own = [each for each in around if number_of(each) in place]
    steps = tuple(each for each in around if each not in own)
    places = tuple((d, v) for d, v in enumerate(place) if v not in map(number_of, own))
    if not steps or not places or not all(_is_reachable(value, around) for _, value in places):
        return None
    conditions = _conditions(stores[0], whole)
    if not all(_is_reachable(value, around) for value in conditions):
        return None
    asked = [*conditions, *(each for _, each in places)]
    needed = {value for each in asked for value in sources_of(each)}
    keyed = tuple(each for each in own if number_of(each) in needed)
    slices = tuple(each for each in own if each not in keyed)
    loads = operations_named(whole, "memref.load")
    combines = any(root(each.operands[0]) == memory for each in loads)
    found = _Updates(whole, memory, steps, keyed, slices, places, conditions, combines)
    return found if _is_worth_it(found) else None


def _around(store: ir.Operation, whole: ir.Operation) -> list[ir.Operation]:
    """Return the loops around a store, outermost first."""
    found: list[ir.Operation] = []
    op = store.parent
    while True:
        if op.name == "scf.for":
            found.insert(0, op.operation)
        if op == whole:
            return found
        op = op.parent


def _conditions(store: ir.Operation, whole: ir.Operation) -> tuple[ir.Value, ...]:
    """Return the conditions of what is around a store."""
    found: list[ir.Value] = []
    op = store.parent
    while op != whole:
        if op.name == "scf.if":
            found.append(op.operands[0])
        op = op.parent
    return tuple(found)


def _is_plain(whole: ir.Operation, memory: ir.Value, place: Sequence[ir.Value]) -> bool:
    """Tell whether `whole` touches what it updates at one place alone, and changes nothing else."""
    for op in nested_operations(whole):
        if op.name == "memref.load":
            if root(op.operands[0]) == memory and tuple(op.operands) != (memory, *place):
                return False
        elif op.name not in ("memref.store", "scf.for", "scf.if", "scf.yield"):
            if not op.name.startswith(_PURE) or len(op.regions):
                return False
        elif op.name == "scf.if" and (list(op.results) or len(op.regions[1].blocks)):
            return False
    return True


def _is_reachable(value: ir.Value, loops: Sequence[ir.Operation]) -> bool:
    """Tell whether a value can be computed from the numbers of `loops` and what is outside."""
    bodies = [each.regions[0].blocks[0] for each in loops]
    for source in sources_of(value):
        if isinstance(source.owner, ir.Block):
            if source.owner in bodies and source not in map(number_of, loops):
                return False
        elif source.owner.operation.block not in bodies and is_inside(source, loops[0]):
            return False
    return True


def _is_worth_it(found: _Updates) -> bool:
    steps, keys = _trips(found.steps), _trips(found.keyed)
    few = prod(found.sizes) * keys <= _MOST_PLACES and 0 not in found.sizes
    lists = keys * min(steps, prod(found.sizes))
    if found.combines and lists > _MOST_LISTS * steps:
        return False
    return steps >= _MIN_STEPS and few and steps * keys * _trips(found.slices) < _MOST_UPDATES


def _trips(loops: Sequence[ir.Operation]) -> int:
    return prod(constant_trips(each) or 0 for each in loops)


class _Spread:
    """Emits the loops that take the place of others; the iterations of each may run at once."""

    def __init__(self, updates: _Updates) -> None:
        self._updates = updates
        self._steps, self._keys = _trips(updates.steps), _trips(updates.keyed)
        self._count = self._steps * self._keys
        self._table = _memory(prod(updates.sizes) * self._keys)

    def emit(self) -> None:
        """Emit all loops."""
        if self._updates.combines:
            self._emit_combined()
        else:
            self._emit_last()

    def _emit_last(self) -> None:
        """Let the last update of each place write."""
        with self._each() as (_, place):
            _store(i32(-1), self._table, place)
        with self._each() as (number, place):
            atomic(arith.AtomicRMWKind.maxs, as_i32(number), self._table, place)
        with self._each_slice() as (number, place, slices):
            last = _load(self._table, place)
            with when(arith.cmpi(arith.CmpIPredicate.eq, last, as_i32(number))):
                self._one(number, slices)

    def _emit_combined(self) -> None:
        """Let all updates of each place follow one another, sorted in a list."""
        counts, starts = self._table, _memory(ir.MemRefType(self._table.type).shape[0])
        slots, members, ordered = (_memory(self._count) for _ in range(3))
        end, none = _memory(1), index(0)
        with self._each() as (_, place):
            _store(i32(0), end, none)
            _store(i32(0), counts, place)
        with self._each() as (number, place):
            _store(atomic(arith.AtomicRMWKind.addi, i32(1), counts, place), slots, number)
        with self._each() as (number, place), when(_is_zero(_load(slots, number))):
            length = _load(counts, place)
            _store(atomic(arith.AtomicRMWKind.addi, length, end, none), starts, place)
        with self._each() as (number, place):
            slot = arith.addi(_load(starts, place), _load(slots, number))
            _store(as_i32(number), members, as_index(slot))
        with self._each() as (number, place):
            rank = self._rank(number, _load(starts, place), _load(counts, place), members)
            _store(as_i32(number), ordered, as_index(rank))
        with self._each_slice() as (number, place, slices), when(_is_zero(_load(slots, number))):
            start = as_index(_load(starts, place))
            with loop(as_index(_load(counts, place))) as each:
                found = _load(ordered, arith.addi(start, each))
                self._one(as_index(found), slices)

    def _rank(
        self, number: ir.Value, start: ir.Value, length: ir.Value, members: ir.Value
    ) -> ir.Value:
        """Return where an update belongs in the list of its place."""
        end = arith.addi(start, length)
        built = scf.ForOp(as_index(start), as_index(end), index(1), [start])
        with ir.InsertionPoint(built.body):
            other = _load(members, built.induction_variable)
            is_before = arith.cmpi(arith.CmpIPredicate.ult, other, as_i32(number))
            step = emit("arith.extui", [is_before], other.type)
            scf.YieldOp([arith.addi(built.inner_iter_args[0], step)])
        return built.results[0]

    @contextmanager
    def _each(self) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Build a loop over all updates that are made; yields the number, and the place's."""
        with loop(self._count, parallel=True) as number:
            place, guard = self._place(number)
            with nullcontext() if guard is None else when(guard):
                yield number, place

    @contextmanager
    def _each_slice(self) -> Iterator[tuple[ir.Value, ir.Value, Position]]:
        """As `_each`, for all slices of all updates; yields the place in the slice, too."""
        slices = _trips(self._updates.slices)
        with loop(self._count * slices, parallel=True) as all_numbers:
            number = arith.divui(all_numbers, index(slices))
            rest = arith.remui(all_numbers, index(slices))
            place, guard = self._place(number)
            with nullcontext() if guard is None else when(guard):
                yield number, place, delinearize(rest, _extents(self._updates.slices))

    def _known(self, number: ir.Value) -> tuple[ir.Value, dict[ir.Value, ir.Value]]:
        """Return the key of an update, and what the numbers of its loops are."""
        updates, steps = self._updates, index(self._steps)
        step, key = arith.remui(number, steps), arith.divui(number, steps)
        position: Position = delinearize(step, _extents(updates.steps))
        position |= delinearize(key, _extents(updates.keyed))
        return key, {number_of(each): position[each] for each in (*updates.steps, *updates.keyed)}

    def _place(self, number: ir.Value) -> tuple[ir.Value, ir.Value | None]:
        """Return the number of an update's place, and whether it is made; None for always."""
        updates = self._updates
        place, known = self._known(number)
        for (_, value), size in zip(updates.places, updates.sizes, strict=True):
            # Where nothing would be stored, a place may be none of the memory's.
            inside = computed_again(value, known, updates.whole)
            inside = arith.minui(inside, index(size - 1))
            place = arith.addi(arith.muli(place, index(size)), inside)
        found = [computed_again(each, known, updates.whole) for each in updates.conditions]
        return place, reduce(arith.andi, found) if found else None

    def _one(self, number: ir.Value, slices: Position) -> None:
        """Emit one update."""
        _, known = self._known(number)
        known |= {number_of(each): slices[each] for each in self._updates.slices}
        _repeat(self._updates.whole.regions[0].blocks[0], known)


def _extents(loops: Sequence[ir.Operation]) -> list[tuple[ir.Operation, int]]:
    return [(each, constant_trips(each) or 0) for each in loops]


def _repeat(block: ir.Block, known: dict[ir.Value, ir.Value]) -> None:
    """Repeat one iteration of every loop in `block` at the insertion point."""
    for view in block.operations:
        op = view.operation
        if op.name == "scf.yield" or (len(op.results) == 1 and op.results[0] in known):
            continue
        if op.name == "scf.for":
            _repeat(op.regions[0].blocks[0], known)
            continue
        if op.name == "scf.if":
            with when(known.get(op.operands[0], op.operands[0])):
                _repeat(op.regions[0].blocks[0], dict(known))
            continue
        repeat(op, known)


def _memory(size: int) -> ir.Value:
    return allocate(size, ir.IntegerType.get_signless(32))


def _load(memory: ir.Value, place: ir.Value) -> ir.Value:
    return emit("memref.load", [memory, place], ir.MemRefType(memory.type).element_type)


def _store(value: ir.Value, memory: ir.Value, place: ir.Value) -> None:
    ir.Operation.create("memref.store", operands=[value, memory, place])


def _is_zero(word: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.eq, word, i32(0))
