# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loops that update memory at places that data tells them: a thread takes each update.

Updates of one place must keep their order, others need not. A first launch clears, for every place
that is updated, the head of a list; a second one puts every update into its place's list; in a
third one the update that came last into its list does all that are in it, lowest number first. So
the order in which threads reach a list decides who does the work, and not what comes of it. Where
a list is long, that thread looks through all updates instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.loop_copies import computed_again, is_inside
from xyntra.passes.lower.cuda.loop_threads import loops_of
from xyntra.passes.lower.cuda.thread_grid import as_i32, as_index, delinearize, i32, when
from xyntra.passes.lower.nests.kernel_function import operations_named
from xyntra.passes.lower.nests.loop_bounds import constant_trips
from xyntra.passes.lower.nests.loop_builder import Position, index, loop
from xyntra.passes.lower.nests.memrefs import root
from xyntra.passes.walking import nested_operations

_MIN_STEPS = 16  # fewer, one after the other, take no longer than three launches
_MOST_PLACES = 1 << 27
_MOST_UPDATES = 1 << 30
_MANY_OF_ONE = 4  # updates of a place on average, at most
_LONG = 16  # updates of a list; a thread looks for the next one so many times as there are
_MONOTONIC = 2  # of LLVM's orders of atomic operations
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
    """

    whole: ir.Operation
    memory: ir.Value
    steps: tuple[ir.Operation, ...]
    keyed: tuple[ir.Operation, ...]
    slices: tuple[ir.Operation, ...]
    places: tuple[tuple[int, ir.Value], ...]

    @property
    def sizes(self) -> list[int]:
        """Extents of the dimensions where data tells the place."""
        shape = list(ir.MemRefType(self.memory.type).shape)
        return [shape[dimension] for dimension, _ in self.places]


def spread_updates(function: ir.Operation) -> None:
    """Replace loops in `function`, a kernel on buffers, that update memory in order."""
    for op in operations_named(function, "scf.for"):
        if op.parent == function:
            found = _updates(op)
            if found is not None:
                with op.location, ir.InsertionPoint(op):
                    _Spread(found).emit()
                op.erase()


def relax_exchanges(module: ir.Operation) -> None:
    """Let exchanges order nothing but themselves, once they are of the LLVM dialect."""
    for op in operations_named(module, "llvm.atomicrmw"):
        op.attributes["ordering"] = ir.IntegerAttr.get(op.attributes["ordering"].type, _MONOTONIC)
        op.attributes["syncscope"] = ir.StringAttr.get("device")


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
    own = [each for each in around if _number(each) in place]
    steps = tuple(each for each in around if each not in own)
    places = tuple((d, v) for d, v in enumerate(place) if v not in map(_number, own))
    if not steps or not places or not all(_is_reachable(value, around) for _, value in places):
        return None
    needed = {value for _, each in places for value in _sources(each)}
    keyed = tuple(each for each in own if _number(each) in needed)
    slices = tuple(each for each in own if each not in keyed)
    found = _Updates(whole, memory, steps, keyed, slices, places)
    return found if _is_worth_it(found) else None


def _around(store: ir.Operation, whole: ir.Operation) -> list[ir.Operation]:
    """Return the loops around a store, outermost first."""
    found: list[ir.Operation] = []
    op = store.parent
    while True:
        if op.name == "scf.for":
            found.insert(0, op.operation if hasattr(op, "operation") else op)
        if op == whole:
            return found
        op = op.parent


def _number(loop: ir.Operation) -> ir.Value:
    return loop.regions[0].blocks[0].arguments[0]


def _is_plain(whole: ir.Operation, memory: ir.Value, place: Sequence[ir.Value]) -> bool:
    """Tell whether `whole` touches what it updates at one place alone, and changes nothing else."""
    for op in nested_operations(whole):
        if op.name == "memref.load":
            if root(op.operands[0]) == memory and tuple(op.operands) != (memory, *place):
                return False
        elif op.name not in ("memref.store", "scf.for", "scf.if", "scf.yield"):
            if not op.name.startswith(_PURE) or len(op.regions):
                return False
        elif op.name == "scf.if" and list(op.results):
            return False
    return True


def _is_reachable(value: ir.Value, loops: Sequence[ir.Operation]) -> bool:
    """Tell whether a value can be computed from the numbers of `loops` and what is outside."""
    bodies = [each.regions[0].blocks[0] for each in loops]
    for source in _sources(value):
        if isinstance(source.owner, ir.Block):
            if source.owner in bodies and source not in map(_number, loops):
                return False
        elif source.owner.operation.block not in bodies and is_inside(source, loops[0]):
            return False
    return True


def _sources(value: ir.Value) -> list[ir.Value]:
    """Return a value and all that it comes from."""
    if isinstance(value.owner, ir.Block):
        return [value]
    return [value, *(v for each in value.owner.operation.operands for v in _sources(each))]


def _is_worth_it(found: _Updates) -> bool:
    steps, keys = _trips(found.steps), _trips(found.keyed)
    few = prod(found.sizes) * keys <= _MOST_PLACES and 0 not in found.sizes
    if steps > _MANY_OF_ONE * prod(found.sizes):
        return False
    return steps >= _MIN_STEPS and few and steps * keys * _trips(found.slices) < _MOST_UPDATES


def _trips(loops: Sequence[ir.Operation]) -> int:
    return prod(constant_trips(each) or 0 for each in loops)


class _Spread:
    """Emits the loops that take the place of others."""

    def __init__(self, updates: _Updates) -> None:
        self._updates = updates
        self._steps, self._keys = _trips(updates.steps), _trips(updates.keyed)
        self._heads = _memory(prod(updates.sizes) * self._keys)
        self._next = _memory(self._steps * self._keys)

    def emit(self) -> None:
        """Emit three loops, whose iterations may all run at once."""
        count = self._steps * self._keys
        with loop(count, parallel=True) as number:
            place, _ = self._place(*self._split(number))
            _store(i32(-1), self._heads, place)
        with loop(count, parallel=True) as number:
            place, _ = self._place(*self._split(number))
            assign = ir.IntegerType.get_signless(64), int(arith.AtomicRMWKind.assign)
            kind = ir.IntegerAttr.get(*assign)
            own = as_i32(number)
            before = emit("memref.atomic_rmw", [own, self._heads, place], own.type, kind=kind)
            _store(before, self._next, number)
        slices = _trips(self._updates.slices)
        with loop(count * slices, parallel=True) as all_numbers:
            number = all_numbers
            if slices > 1:
                number = arith.divui(all_numbers, index(slices))
            rest = arith.remui(all_numbers, index(slices))
            self._apply(number, delinearize(rest, _extents(self._updates.slices)))

    def _split(self, number: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return the step and the key of an update."""
        steps = index(self._steps)
        return arith.remui(number, steps), arith.divui(number, steps)

    def _place(self, step: ir.Value, key: ir.Value) -> tuple[ir.Value, dict[ir.Value, ir.Value]]:
        """Return the list that an update belongs to, and what its loops' numbers are."""
        updates = self._updates
        position: Position = delinearize(step, _extents(updates.steps))
        position |= delinearize(key, _extents(updates.keyed))
        known = {_number(each): position[each] for each in (*updates.steps, *updates.keyed)}
        place = key
        for (_, value), size in zip(updates.places, updates.sizes, strict=True):
            # Where nothing would be stored, a place may be none of the memory's.
            inside = arith.minui(computed_again(value, known, updates.whole), index(size - 1))
            place = arith.addi(arith.muli(place, index(size)), inside)
        return place, known

    def _apply(self, number: ir.Value, slices: Position) -> None:
        """Emit all updates of a list, in the update that came last into it."""
        step, key = self._split(number)
        place, _ = self._place(step, key)
        first = _load(self._heads, place)
        with when(arith.cmpi(arith.CmpIPredicate.eq, first, as_i32(number))):
            length = self._length(first)
            is_short = arith.cmpi(arith.CmpIPredicate.ule, length, i32(_LONG))
            count = arith.select(is_short, length, i32(self._steps))
            start = arith.muli(as_i32(key), i32(self._steps))
            built = scf.ForOp(index(0), as_index(count), index(1), [i32(-1)])
            with ir.InsertionPoint(built.body):
                last = built.inner_iter_args[0]
                other = arith.addi(start, as_i32(built.induction_variable))
                chosen = self._following(first, last, other, is_short)
                own = arith.subi(chosen, start)
                self._one(as_index(own), key, place, slices)
                scf.YieldOp([chosen])

    def _length(self, first: ir.Value) -> ir.Value:
        """Return how many updates a list has, counted no further than is needed."""

        def goes_on(at: ir.Value, count: ir.Value) -> ir.Value:
            is_there = arith.cmpi(arith.CmpIPredicate.sge, at, i32(0))
            few = arith.cmpi(arith.CmpIPredicate.ule, count, i32(_LONG))
            return arith.andi(is_there, few)

        def step(at: ir.Value, count: ir.Value) -> list[ir.Value]:
            return [_load(self._next, as_index(at)), arith.addi(count, i32(1))]

        return _while([first, i32(0)], goes_on, step)[1]

    def _following(
        self, first: ir.Value, last: ir.Value, other: ir.Value, is_short: ir.Value
    ) -> ir.Value:
        """Return the lowest update of a list above `last`; `other` where the list is long."""

        def goes_on(at: ir.Value, _: ir.Value) -> ir.Value:
            return arith.andi(is_short, arith.cmpi(arith.CmpIPredicate.sge, at, i32(0)))

        def step(at: ir.Value, found: ir.Value) -> list[ir.Value]:
            is_above = arith.cmpi(arith.CmpIPredicate.sgt, at, last)
            lower = arith.minui(arith.select(is_above, at, i32(-1)), found)
            return [_load(self._next, as_index(at)), lower]

        found = _while([first, i32(-1)], goes_on, step)[1]
        return arith.select(is_short, found, other)

    def _one(self, step: ir.Value, key: ir.Value, place: ir.Value, slices: Position) -> None:
        """Emit one update, if it belongs to a list."""
        found, known = self._place(step, key)
        known |= {_number(each): slices[each] for each in self._updates.slices}
        with when(arith.cmpi(arith.CmpIPredicate.eq, found, place)):
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
        copy = op.clone().operation
        for number, value in enumerate(op.operands):
            copy.operands[number] = known.get(value, value)
        known.update(zip(op.results, copy.results, strict=True))


def _while(
    start: list[ir.Value],
    goes_on: Callable[..., ir.Value],
    step: Callable[..., list[ir.Value]],
) -> list[ir.Value]:
    """Emit a loop that hands values on as long as a condition holds."""
    kinds = [value.type for value in start]
    built = scf.WhileOp(kinds, start)
    locations = [built.operation.location] * len(kinds)
    before = built.regions[0].blocks.append(*kinds, arg_locs=locations)
    after = built.regions[1].blocks.append(*kinds, arg_locs=locations)
    with ir.InsertionPoint(before):
        scf.ConditionOp(goes_on(*before.arguments), list(before.arguments))
    with ir.InsertionPoint(after):
        scf.YieldOp(step(*after.arguments))
    return list(built.results)


def _memory(size: int) -> ir.Value:
    kind = ir.MemRefType.get([size], ir.IntegerType.get_signless(32))
    attributes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])}
    return ir.Operation.create("memref.alloc", results=[kind], attributes=attributes).result


def _load(memory: ir.Value, place: ir.Value) -> ir.Value:
    return emit("memref.load", [memory, place], ir.MemRefType(memory.type).element_type)


def _store(value: ir.Value, memory: ir.Value, place: ir.Value) -> None:
    ir.Operation.create("memref.store", operands=[value, memory, place])
