# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builders for Hopper's asynchronous instructions (PTX ISA: wgmma, mbarrier, cp.async.bulk)."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import arith, llvm, nvvm

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.thread_grid import i32, i64

_TRY_TICKS = 10_000_000  # how long one attempt to wait may take before it is repeated
_SWIZZLE_128 = 1 << 62  # the descriptor's code for rows of 128 bytes, permuted
_ADDRESS_BITS = 0x3FFFF
_UNIT = 4  # descriptors count in 16 bytes


def attribute(text: str) -> ir.Attribute:
    """Return a parsed attribute."""
    return ir.Attribute.parse(text)


def address(pointer: ir.Value) -> ir.Value:
    """Return a pointer to shared memory as an i32."""
    return llvm.ptrtoint(ir.IntegerType.get_signless(32), pointer)


def pointer(place: ir.Value) -> ir.Value:
    """Return the pointer of an address in shared memory, an i32."""
    return llvm.inttoptr(ir.Type.parse("!llvm.ptr<3>"), place)


def descriptor(place: ir.Value, leading: int, stride: int) -> ir.Value:
    """Return the descriptor of a matrix in shared memory with rows of 128 bytes, permuted.

    Args:
        place: its address, an i32; advanced within a row by steps of 32 bytes.
        leading: bytes from one block of 64 columns to the next, where columns are neighbours.
        stride: bytes from one group of eight rows to the next.
    """
    low = arith.shrui(arith.andi(place, i32(_ADDRESS_BITS)), i32(_UNIT))
    wide = arith.extui(ir.IntegerType.get_signless(64), low)
    fixed = _SWIZZLE_128 | ((stride >> _UNIT) << 32) | ((leading >> _UNIT) << 16)
    return arith.ori(wide, i64(fixed))


def advanced(matrix: ir.Value, nbytes: int) -> ir.Value:
    """Return the descriptor of a matrix that lies `nbytes` further on."""
    return arith.addi(matrix, i64(nbytes >> _UNIT)) if nbytes else matrix


def packed(values: Sequence[ir.Value]) -> ir.Value:
    """Return f32s as one value, as `multiply` takes them."""
    result = llvm.mlir_poison(_struct(len(values)))
    kind = result.type
    for number, value in enumerate(values):
        result = ir.Operation.create(
            "llvm.insertvalue", [kind], [result, value], {"position": _position(number)}
        ).result
    return result


def unpacked(value: ir.Value, count: int) -> list[ir.Value]:
    """Return the `count` f32s of one value."""
    kind = ir.F32Type.get()
    return [
        ir.Operation.create(
            "llvm.extractvalue", [kind], [value], {"position": _position(number)}
        ).result
        for number in range(count)
    ]


def _struct(count: int) -> ir.Type:
    return ir.Type.parse(f"!llvm.struct<({', '.join(['f32'] * count)})>")


def _position(number: int) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get([number])


def multiply(
    sums: ir.Value | None,
    left: ir.Value,
    right: ir.Value,
    columns: int,
    element: str,
    *,
    left_is_deep: bool,
    right_is_deep: bool,
) -> ir.Value:
    """Issue one wgmma of 64 rows by `columns` by 32 bytes of steps, and return its sums, packed.

    Args:
        sums: what the product is added to, packed; None to start from zero. (Cleared registers
            there make the assembler run multiplications one by one.)
        left: descriptor of the left factor.
        right: descriptor of the right factor.
        columns: a multiple of eight, up to 256.
        element: f16, bf16 or tf32.
        left_is_deep: steps of the reduction are neighbours in the left factor.
        right_is_deep: the same of the right factor.
    """
    count = columns // 2
    before = packed([llvm.mlir_poison(ir.F32Type.get())] * count) if sums is None else sums
    factor = attribute(f"#nvvm.wgmma_type<{element}>")
    one = attribute("#nvvm.wgmma_scale_in<one>")
    return nvvm.wgmma_mma_async(
        before.type,
        before,
        left,
        right,
        attribute(f"#nvvm.shape<m=64,n={columns},k={8 if element == 'tf32' else 16}>"),
        factor,
        factor,
        attribute("#nvvm.wgmma_type<f32>"),
        attribute(f"#nvvm.wgmma_scale_out<{'one' if sums else 'zero'}>"),
        one,
        one,
        attribute(f"#nvvm.mma_layout<{'row' if left_is_deep else 'col'}>"),
        attribute(f"#nvvm.mma_layout<{'col' if right_is_deep else 'row'}>"),
    )


def wait_for_products(sums: Sequence[ir.Value]) -> list[ir.Value]:
    """Wait for every wgmma that was issued, and return the finished sums.

    The sums pass through the instruction, so that nothing that reads them moves before it.
    """
    count = len(sums)
    constraints = ["=f"] * count + [str(number) for number in range(count)] + ["~{memory}"]
    result = llvm.inline_asm(
        _struct(count),
        list(sums),
        "wgmma.wait_group.sync.aligned 0;",
        ",".join(constraints),
        has_side_effects=True,
    )
    return unpacked(result, count)


def wait_for_phase(barrier: ir.Value, parity: ir.Value) -> None:
    """Wait until the phase of a barrier with this parity, an i32, is complete."""
    nvvm.mbarrier_try_wait_parity(barrier, parity, i32(_TRY_TICKS))


def copy_in(
    target: ir.Value, tensor: ir.Value, coordinates: Sequence[ir.Value], barrier: ir.Value
) -> None:
    """Copy a box of a tensor to shared memory; the barrier counts its bytes as they arrive."""
    cluster = llvm.addrspacecast(ir.Type.parse("!llvm.ptr<7>"), target)
    nvvm.cp_async_bulk_tensor_shared_cluster_global(cluster, tensor, list(coordinates), barrier, [])


def copy_pixels(
    target: ir.Value,
    tensor: ir.Value,
    coordinates: Sequence[ir.Value],
    offsets: Sequence[ir.Value],
    barrier: ir.Value,
) -> None:
    """Copy pixels of an image to shared memory; the barrier counts their bytes as they arrive.

    Args:
        target: where they go.
        tensor: the map of the image.
        coordinates: channel, position along every axis, and number of the image, i32s.
        offsets: what the filter's tap adds to the positions, i16s.
        barrier: of the stage.
    """
    cluster = llvm.addrspacecast(ir.Type.parse("!llvm.ptr<7>"), target)
    nvvm.cp_async_bulk_tensor_shared_cluster_global(
        cluster,
        tensor,
        list(coordinates),
        barrier,
        list(offsets),
        mode=attribute("#nvvm.tma_load_mode<im2col>"),
    )


def copy_out(tensor: ir.Value, source: ir.Value, coordinates: Sequence[ir.Value]) -> None:
    """Copy a box from shared memory to a tensor, but for what is outside of it."""
    nvvm.cp_async_bulk_tensor_global_shared_cta(tensor, source, list(coordinates))


def publish_to_copies() -> None:
    """Let copies see what this thread has written to shared memory."""
    nvvm.fence_proxy(
        attribute("#nvvm.proxy_kind<async.shared>"), space=attribute("#nvvm.shared_space<cta>")
    )


def prefetch_map(tensor: ir.Value) -> None:
    """Bring a tensor map into the cache of the copies."""
    llvm.inline_asm(None, [tensor], "prefetch.tensormap [$0];", "l", has_side_effects=True)


def store_matrices(target: ir.Value, words: Sequence[ir.Value]) -> None:
    """Store four matrices of 8 by 8 16-bit elements; lanes hold the addresses of their rows.

    Args:
        target: of row `lane % 8` of matrix `lane / 8`, in this thread.
        words: a pair of elements of each matrix, i32s.
    """
    nvvm.stmatrix(
        target,
        list(words),
        attribute("#nvvm.mma_layout<row>"),
        attribute("#nvvm.ld_st_matrix_shape<m=8,n=8>"),
        attribute("#nvvm.ld_st_matrix_elt_type<b16>"),
    )


def same_in_warp(value: ir.Value) -> ir.Value:
    """Return an i32 of the warp's first lane, which the compiler then knows to be one for all."""
    kind = attribute("#nvvm<shfl_kind idx>")
    word = ir.IntegerType.get_signless(32)
    return emit("nvvm.shfl.sync", [i32(-1), value, i32(0), i32(31)], word, kind=kind)


def remote(place: ir.Value, rank: ir.Value) -> ir.Value:
    """Return the address, an i32, of the same byte in a block of the cluster."""
    word = ir.IntegerType.get_signless(32)
    return llvm.inline_asm(word, [place, rank], "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r")


def copy_to_block(target: ir.Value, source: ir.Value, nbytes: int, barrier: ir.Value) -> None:
    """Copy shared memory of this block to another of the cluster, whose barrier counts the bytes.

    Args:
        target: what `remote` returns.
        source: address in this block, an i32; what other threads wrote there is published.
        nbytes: a multiple of 16, as both addresses are.
        barrier: what `remote` returns of an mbarrier's address.
    """
    llvm.inline_asm(
        None,
        [target, source, i32(nbytes), barrier],
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
        "[$0], [$1], $2, [$3];",
        "r,r,r,r,~{memory}",
        has_side_effects=True,
    )


def let_next_launch_begin() -> None:
    """Let the launch behind this one take its places once all blocks of this one have theirs."""
    _order("griddepcontrol.launch_dependents;")


def wait_for_launch() -> None:
    """Wait until the launch ahead of this one has ended, and what it wrote can be seen."""
    _order("griddepcontrol.wait;")


def _order(instruction: str) -> None:
    llvm.inline_asm(None, [], instruction, "~{memory}", has_side_effects=True)
