# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads and stores at addresses that are plain integers (PTX ISA, "ld", "st", "prefetch")."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import arith, llvm

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.ptx.assembly import (
    assembly,
    integer,
    listed,
    shared_pointer,
    vector_suffix,
)

_WIDEST = 16  # bytes of one access


def global_address(memory: ir.Value) -> ir.Value:
    """Return the address at which the memory of a memref begins, an i64."""
    found = emit("memref.extract_aligned_pointer_as_index", [memory], ir.IndexType.get())
    return arith.index_cast(integer(64), found)


def shared_address(pointer: ir.Value) -> ir.Value:
    """Return the address of an LLVM pointer into shared memory, an i32."""
    return llvm.ptrtoint(integer(32), pointer)


def ld_shared(address: ir.Value, kind: ir.Type) -> ir.Value:
    """Load a number or a vector from shared memory, aligned to its size or to 16 bytes."""
    return llvm.load(kind, shared_pointer(address), alignment=min(_bytes(kind), _WIDEST))


def ld_shared_asm(address: ir.Value, count: int) -> list[ir.Value]:
    """Load 1, 2 or 4 contiguous f32s from shared memory."""
    text = f"ld.shared{vector_suffix(count)}.f32 {listed(0, count)}, [${count}];"
    return assembly(text, [address], [ir.F32Type.get()] * count)


def st_shared(address: ir.Value, value: ir.Value) -> None:
    """Store a number or a vector in shared memory, aligned to its size or to 16 bytes."""
    llvm.store(value, shared_pointer(address), alignment=min(_bytes(value.type), _WIDEST))


def st_shared_asm(address: ir.Value, values: Sequence[ir.Value]) -> None:
    """Store neighbouring registers in shared memory: 1, 2 or 4 of 32 bits, or one of 16."""
    count = len(values)
    suffix = f"{vector_suffix(count)}.b{values[0].type.width}"
    assembly(f"st.shared{suffix} [$0], {listed(1, count)};", [address, *values])


def ld_global(address: ir.Value, bits: int, *, lasting: bool = False) -> ir.Value:
    """Load an integer of 16 or 32 bits from global memory.

    Args:
        address: an i64.
        bits: how many.
        lasting: nobody writes there while the kernel lives (`ld.global.nc`).
    """
    cache = ".nc" if lasting else ""
    return assembly(f"ld.global{cache}.b{bits} $0, [$1];", [address], [integer(bits)])[0]


def st_global(address: ir.Value, values: Sequence[ir.Value]) -> None:
    """Store 1, 2 or 4 neighbouring registers of 32 bits in global memory, at an i64."""
    count = len(values)
    assembly(f"st.global{vector_suffix(count)}.b32 [$0], {listed(1, count)};", [address, *values])


def prefetch_global_l2(address: ir.Value) -> None:
    """Bring the line of global memory at an i64 into the second cache."""
    assembly("prefetch.global.L2 [$0];", [address])


def _bytes(kind: ir.Type) -> int:
    if isinstance(kind, ir.VectorType):
        return int(kind.shape[0]) * _bytes(kind.element_type)
    return int(kind.width) // 8
