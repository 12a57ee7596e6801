# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loops of any kind whose iterations have nothing to do with one another: a thread takes one.

What a loop is for decides nothing: sorting, running sums and scattering are loops around loops with
conditions. A loop may be shared where its author says so, or where all that is written in it is
touched at the loop's own number in one dimension. That holds for a loop inside of another one, too:
then every thread runs the outer one, for its part of the inner. What an author says of an inner
loop counts where he says it of all loops around it, and these do nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.loop_bounds import constant_trips, number_of
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    as_index,
    block_number,
    delinearize,
    global_thread,
)
from xyntra.passes.lower.loops.loop_builder import PARALLEL, index
from xyntra.passes.lower.loops.loop_builder import loop as parallel_loop
from xyntra.passes.lower.loops.memrefs import allocate, root

_BLOCK = "xyntra.block"
"""Attribute of a loop whose iterations are blocks: how many threads each has."""
_THREADS = 256
_BLOCKS = 4  # of each multiprocessor: enough for all
_ACCESSES = {"memref.load": 0, "memref.store": 1}  # operands before the memory


@contextmanager
def block_loop(count: int, threads: int) -> Iterator[ir.Value]:
    """Build a loop whose iterations are blocks; what is emitted inside is the code of a thread.

    Args:
        count: blocks.
        threads: of each.

    Yields:
        The number of the block, an index.
    """
    with parallel_loop(count, parallel=True) as number:
        kind = ir.IntegerType.get_signless(64)
        number.owner.owner.attributes[_BLOCK] = ir.IntegerAttr.get(kind, threads)
        yield number


@dataclass(frozen=True)
class SharedLoops:
    """A loop on buffers whose iterations, or those of loops inside of it, threads share.

    Attributes:
        whole: the loop.
        loops: those that are shared, outer ones first.
        private: allocations in it, of which every thread gets its own.
        count: of iterations that are shared out.
        threads: of a block.
        by_blocks: whether blocks share them, and what is inside is the code of a thread.
    """

    whole: ir.Operation
    loops: tuple[ir.Operation, ...]
    private: tuple[ir.Operation, ...]
    count: int
    threads: int
    by_blocks: bool = False


def plan_loops(loop: ir.Operation, device: GpuDevice) -> SharedLoops | None:
    """Return how threads share the iterations of `loop`; None where no loop may be shared.

    Args:
        loop: on buffers.
        device: that the code is for.
    """
    if _BLOCK in loop.attributes:
        threads = ir.IntegerAttr(loop.attributes[_BLOCK]).value
        count = constant_trips(loop) or 0
        return SharedLoops(loop, (loop,), (), count, threads, by_blocks=True)
    loops = shared_loops(loop)
    private = operations_named(loop, "memref.alloc")
    if not loops or (private and (loops[0] != loop or not all(map(_is_plain, private)))):
        return None
    count = prod(constant_trips(each) or 0 for each in loops)
    threads, enough = _THREADS, _BLOCKS * device.multiprocessors
    while threads > device.subgroup and count < threads * enough:
        threads //= 2
    return SharedLoops(loop, tuple(loops), tuple(private), count, threads)


def emit_loops(found: SharedLoops) -> LaunchShape:
    """Let threads share loops, which stay in place, for a launch of the returned shape."""
    loop, count = found.whole, found.count
    if found.by_blocks:
        return LaunchShape(give_each([loop], loop, block_number), found.threads)
    shape = LaunchShape(-(-count // found.threads), found.threads)
    numbers: list[ir.Value] = []

    def number() -> ir.Value:
        found = global_thread(shape)
        numbers.append(found if isinstance(found.type, ir.IndexType) else as_index(found))
        return found

    give_each(found.loops, loop, number)
    for each in found.private:
        _give_each_thread(each, numbers[0], count, loop)
    return shape


def shared_loops(whole: ir.Operation) -> list[ir.Operation]:
    """Return the loops of `whole`, outer ones first, whose iterations may all run at once."""
    return [each for each in loops_of(whole) if _is_independent(each, whole)]


def loops_of(whole: ir.Operation) -> list[ir.Operation]:
    """Return a loop and those inside of it, outer ones first."""
    return [whole, *(each for each in operations_named(whole, "scf.for") if each != whole)]


def give_each(
    loops: Sequence[ir.Operation], whole: ir.Operation, number: Callable[[], ir.Value]
) -> int:
    """Let `loops` run one iteration each, by a number; none behind the last number.

    Args:
        loops: from `shared_loops`.
        whole: the loop that they are in, or the first of them.
        number: emits what tells apart those who run `whole`, an i32 or index.

    Returns:
        How many numbers there are.
    """
    trips = [constant_trips(each) or 0 for each in loops]
    with whole.location, ir.InsertionPoint(whole):
        position = delinearize(number(), list(enumerate(trips)))
        steps = [index(each) for each in trips]
    for place, each in enumerate(loops):
        each.operands[0], each.operands[2] = position[place], steps[place]
    return prod(trips)


def _is_independent(loop: ir.Operation, whole: ir.Operation) -> bool:
    """Tell whether threads may each run `whole` with one iteration of `loop`, which is inside."""
    if list(loop.results) or (constant_trips(loop) or 0) < 2:
        return False
    return _is_said_to_be(loop, whole) or _touches_its_own(loop, whole)


def _is_said_to_be(loop: ir.Operation, whole: ir.Operation) -> bool:
    """Tell whether a loop and all around it up to `whole` are parallel, and do nothing else."""
    if PARALLEL not in loop.attributes:
        return False
    if loop == whole:
        return True
    outer = loop.parent.operation
    beside = [view.operation for view in loop.parent.regions[0].blocks[0].operations]
    is_alone = all(op == loop or _is_pure(op) for op in beside)
    return outer.name == "scf.for" and is_alone and _is_said_to_be(outer, whole)


def _touches_its_own(loop: ir.Operation, whole: ir.Operation) -> bool:
    """Tell whether all that `whole` writes is touched at the number of `loop` in one dimension."""
    number = number_of(loop)
    places: dict[ir.Value, list[tuple[ir.Value, ...]]] = {}
    written: set[ir.Value] = set()
    stores = operations_named(whole, "memref.store")
    changed = {root(op.operands[_ACCESSES[op.name]]) for op in stores}
    for op in nested_operations(whole):
        memory = [value for value in op.operands if isinstance(value.type, ir.MemRefType)]
        if op.name not in _ACCESSES and (memory or _has_effects(op)):
            return False
        if op.name in _ACCESSES:
            operand = _ACCESSES[op.name]
            memref = op.operands[operand]
            if root(memref) not in changed:
                continue
            if memref != root(memref):
                return False
            places.setdefault(memref, []).append(tuple(op.operands)[operand + 1 :])
            if op.name == "memref.store":
                written.add(memref)
    return all(
        any(all(each[dimension] == number for each in places[memref])
            for dimension in range(len(places[memref][0])))
        for memref in written
    )  # fmt: skip


def _has_effects(op: ir.Operation) -> bool:
    return not _is_pure(op) and op.name not in ("scf.for", "scf.if")


def _is_pure(op: ir.Operation) -> bool:
    return op.name.startswith(("arith.", "math.")) or op.name in ("affine.apply", "scf.yield")


def _is_plain(memory: ir.Operation) -> bool:
    """Tell whether an allocation is of static shape, and only loaded from and stored to."""
    uses = [use.owner.operation for use in memory.result.uses]
    known = all(op.name in (*_ACCESSES, "memref.dealloc") for op in uses)
    return known and ir.MemRefType(memory.result.type).has_static_shape


def _give_each_thread(
    memory: ir.Operation, number: ir.Value, count: int, loop: ir.Operation
) -> None:
    """Replace memory of one iteration by that of all; neighbouring threads have neighbours."""
    kind = ir.MemRefType(memory.result.type)
    region = loop.parent.operation if hasattr(loop.parent, "operation") else loop.parent
    with memory.location, ir.InsertionPoint(region):
        new = allocate([*kind.shape, count], kind.element_type)
    for use in list(memory.result.uses):
        op = use.owner.operation
        if op.name != "memref.dealloc":
            operands = [new if value == memory.result else value for value in op.operands]
            _again(op, [*operands, number])
        op.erase()
    memory.erase()


def _again(op: ir.Operation, operands: Sequence[ir.Value]) -> None:
    """Put `op` with other operands in its place."""
    kinds = [result.type for result in op.results]
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create(op.name, results=kinds, operands=list(operands))
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
