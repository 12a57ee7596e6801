# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows that wait in shared memory, where registers would hold too few for all that is on its way.

A thread copies, without registers (PTX ISA, "cp.async"), what it alone reads: no barrier is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir.dialects import arith, nvvm

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.contraction.mma_instructions import (
    commit_copies,
    copy_async,
    load_vector,
    wait_for_copies,
)
from xyntra.passes.lower.cuda.pointwise import item_bytes
from xyntra.passes.lower.cuda.shared_memory import SharedMemory
from xyntra.passes.lower.cuda.thread_grid import i32, thread_number
from xyntra.passes.lower.nests.linear_nest import Access
from xyntra.passes.lower.nests.loop_builder import index, plus
from xyntra.passes.lower.nests.memrefs import view_offset

_WIDE = 64  # bits of an address
_ALL = -1  # threads of a warp


class ParkedRows:
    """Dynamic shared memory of a block, of which every thread uses a part of its own.

    Args:
        threads: of the block.
        shared: of the launch; nothing else asks for dynamic memory.
    """

    def __init__(self, threads: int, shared: SharedMemory) -> None:
        self._threads = threads
        self._start = emit("llvm.ptrtoint", [shared.dynamic()], ir.IntegerType.get_signless(32))
        self._number = thread_number()
        self._used = 0

    @property
    def used(self) -> int:
        """Bytes of the block."""
        return self._used

    def copy(
        self, access: Access, lanes: int, places: Sequence[ir.Value]
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
        element = access.element_type
        begin = arith.addi(self._start, arith.muli(self._number, i32(nbytes)))
        slots = []
        for place in places:
            slots.append(arith.addi(begin, i32(self._used)))
            self._used += self._threads * nbytes
            copy_async(slots[-1], _address(access, place), nbytes, None)
        return lambda number: load_vector(slots[number], lanes, element)

    def arrive(self) -> None:
        """Wait until all copies of the thread are there."""
        commit_copies()
        wait_for_copies(0)

    def forget(self) -> None:
        """Let vectors be loaded again behind this: too few registers could keep them.

        The assembler moves no load across it.
        """
        nvvm.bar_warp_sync(i32(_ALL))


def _address(access: Access, place: ir.Value) -> ir.Value:
    """Return where an element of global memory lies, an i64."""
    start = emit("memref.extract_aligned_pointer_as_index", [access.value], ir.IndexType.get())
    element = plus(place, index(view_offset(access.value)))
    there = plus(start, arith.muli(element, index(item_bytes(access))))
    return arith.index_cast(ir.IntegerType.get_signless(_WIDE), there)
