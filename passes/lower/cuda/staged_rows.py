# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stages rows in shared memory with cp.async, where registers cannot cover the memory latency.

A thread copies, without registers (PTX ISA, "cp.async"), what it alone reads: no barrier is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.dynamic_memory import dynamic_memory
from xyntra.passes.lower.cuda.ptx.barriers import bar_warp_sync
from xyntra.passes.lower.cuda.ptx.copies import cp_async, cp_async_commit_group, cp_async_wait_group
from xyntra.passes.lower.cuda.ptx.memory import ld_shared, shared_address
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import i32, thread_number
from xyntra.passes.lower.gpu.emit.vectors import item_bytes
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import index, plus
from xyntra.passes.lower.loops.memrefs import view_offset


class SharedMemoryRows:
    """Dynamic shared memory of a block, of which every thread uses a part of its own.

    Args:
        threads: of the block.
        shared: of the launch; nothing else asks for dynamic memory.
    """

    def __init__(self, threads: int, shared: SharedMemory) -> None:
        self._threads = threads
        self._start = shared_address(dynamic_memory(shared))
        self._number = thread_number()
        self._used = 0

    @property
    def used(self) -> int:
        """Bytes of the block."""
        return self._used

    def copy(
        self, access: BufferOperand, lanes: int, places: Sequence[ir.Value]
    ) -> Callable[[int], ir.Value]:
        """Begin to copy vectors of a thread.

        Args:
            access: what they are part of.
            lanes: elements of a vector: 4, 8 or 16 bytes.
            places: the first element of each, an index.

        Returns:
            What gives a vector by its number, after `arrive`.
        """
        nbytes = lanes * item_bytes(access)
        kind = ir.VectorType.get([lanes], access.element_type)
        begin = arith.addi(self._start, arith.muli(self._number, i32(nbytes)))
        slots = []
        for place in places:
            slots.append(arith.addi(begin, i32(self._used)))
            self._used += self._threads * nbytes
            cp_async(slots[-1], _address(access, place), nbytes)
        return lambda number: ld_shared(slots[number], kind)

    def arrive(self) -> None:
        """Wait until all copies of the thread are there."""
        cp_async_commit_group()
        cp_async_wait_group(0)

    def forget(self) -> None:
        """Let vectors be loaded again behind this: too few registers could keep them.

        The assembler moves no load across it.
        """
        bar_warp_sync()


def _address(access: BufferOperand, place: ir.Value) -> ir.Value:
    """Return where an element of global memory lies, an i64."""
    start = emit("memref.extract_aligned_pointer_as_index", [access.value], ir.IndexType.get())
    element = plus(place, index(view_offset(access.value)))
    there = plus(start, arith.muli(element, index(item_bytes(access))))
    return arith.index_cast(ir.IntegerType.get_signless(64), there)
