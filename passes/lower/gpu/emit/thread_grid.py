# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builders for what a thread of a launch needs: its number, loops that it shares, guards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.loops.loop_builder import Position, index
from xyntra.passes.lower.loops.shared_constants import integer_constant

MAX_GRID = (1 << 31) - 1
"""The largest i32, which numbers blocks and threads."""


@dataclass(frozen=True)
class LaunchShape:
    """The threads of a launch, and what it asks of the hardware (`gpu.launch_func`).

    Attributes:
        grid: blocks, a multiple of `cluster`.
        block: threads of a block.
        shared: bytes of dynamic shared memory of a block.
        cluster: neighbouring blocks that run together and reach each other's shared memory.
        schedule: what its code was made by, in words such as "mma tile [128, 64] warps [2, 2]".
        sizes: expressions of what it is told behind its memory, known once it has a function.
    """

    grid: int
    block: int
    shared: int = 0
    cluster: int = 1
    schedule: str = ""
    sizes: tuple[str, ...] = ()


def thread_number() -> ir.Value:
    """Return the number of the thread in its block, an i32."""
    return _number("thread")


def block_number() -> ir.Value:
    """Return the number of the block, an i32."""
    return _number("block")


def i32(number: int) -> ir.Value:
    """Return a constant."""
    return integer_constant(32, number)


def i64(number: int) -> ir.Value:
    """Return a constant."""
    return integer_constant(64, number)


def is_below(number: ir.Value, limit: int) -> ir.Value:
    """Tell whether an i32 that is not negative is less than a constant, an i1."""
    return arith.cmpi(arith.CmpIPredicate.ult, number, i32(limit))


def as_index(value: ir.Value) -> ir.Value:
    """Return an i32 that is not negative as an index."""
    return emit("arith.index_castui", [value], ir.IndexType.get())


def as_i32(value: ir.Value) -> ir.Value:
    """Return an index that is not negative as an i32."""
    return emit("arith.index_castui", [value], _i32())


def global_thread(shape: LaunchShape, block: ir.Value | None = None) -> ir.Value:
    """Return the number of the thread in the launch.

    An i32 where the launch has that few threads, for divisions of 64 bits are slow; else an index.

    Args:
        shape: of the launch.
        block: the number of the block, where that counts a part of the blocks alone.
    """
    block = block_number() if block is None else block
    if shape.grid * shape.block <= MAX_GRID:
        first = arith.muli(block, i32(shape.block))
        return arith.addi(first, thread_number())
    first = arith.muli(as_index(block), index(shape.block))
    return arith.addi(first, as_index(thread_number()))


def barrier() -> None:
    """Wait for every thread of the block; what they wrote is visible after it."""
    ir.Operation.create("gpu.barrier")


def delinearize(number: ir.Value, loops: Sequence[tuple[int, int]]) -> Position:
    """Split the number of an iteration into that of every loop.

    Args:
        number: an i32 or index.
        loops: key and extent of every loop, outermost first.
    """
    position: Position = {}
    for place, (key, extent) in reversed(list(enumerate(loops))):
        if extent == 1:
            position[key] = index(0)
            continue
        size = like(number, extent)
        rest = number if place == 0 else arith.remui(number, size)
        position[key] = rest if isinstance(rest.type, ir.IndexType) else as_index(rest)
        if place:
            number = arith.divui(number, size)
    return position


@contextmanager
def below(number: ir.Value, count: int, always: bool) -> Iterator[None]:
    """Emit what follows under the condition that `number` is less than `count`.

    Args:
        number: an i32 or index.
        count: the limit.
        always: the condition is known to hold, and is left out.
    """
    if always:
        yield
        return
    condition = arith.cmpi(arith.CmpIPredicate.ult, number, like(number, count))
    with when(condition):
        yield


@contextmanager
def when(condition: ir.Value) -> Iterator[None]:
    """Emit what follows under a condition."""
    built = scf.IfOp(condition)
    with ir.InsertionPoint(built.then_block):
        yield
        scf.YieldOp([])


def strided_loop(
    count: int, threads: int, carried: Sequence[ir.Value], body: Callable[..., Sequence[ir.Value]]
) -> list[ir.Value]:
    """Let the threads of a block share `count` iterations: a thread takes every `threads`-th.

    Args:
        count: iterations.
        threads: threads of the block.
        carried: what a thread hands from one of its iterations to the next.
        body: called with the number of the iteration, an i32, and what is carried; returns that.

    Returns:
        What is carried after the thread's last iteration.
    """
    first = thread_number()
    if not carried and not isinstance(count, Size) and count <= threads:
        with below(first, count, always=count == threads):
            body(first)
        return []
    built = scf.ForOp(first, i32(count), i32(threads), list(carried))
    with ir.InsertionPoint(built.body):
        scf.YieldOp(list(body(built.induction_variable, *built.inner_iter_args)))
    return list(built.results)


def rolled_loop(count: int | ir.Value, step: int, carried: Sequence[ir.Value]) -> scf.ForOp:
    """Return a loop from 0 to `count` that is not unrolled; its body is empty.

    Args:
        count: where it ends, a number or an i32.
        step: how far one iteration moves on.
        carried: what it hands on.
    """
    end = i32(count) if isinstance(count, int) else count
    built = scf.ForOp(i32(0), end, i32(step), list(carried))
    annotation = ir.Attribute.parse("#llvm.loop_annotation<unroll = <disable = true>>")
    built.operation.attributes["llvm.loop_annotation"] = annotation
    return built


def like(number: ir.Value, constant: int) -> ir.Value:
    """Return a constant of the type of `number`, an i32 or index."""
    return index(constant) if isinstance(number.type, ir.IndexType) else i32(constant)


def _number(of: str) -> ir.Value:
    dimension = ir.Attribute.parse("#gpu<dim x>")
    return as_i32(emit(f"gpu.{of}_id", [], ir.IndexType.get(), dimension=dimension))


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)
