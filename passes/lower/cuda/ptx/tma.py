# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies by the tensor memory accelerator, from sm_90 on (PTX ISA, "cp.async.bulk.tensor")."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import llvm, nvvm

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.assembly import assembly, attribute, i32, integer, shared_pointer


def tensormap_address(tensor: ir.Value) -> ir.Value:
    """Return the address of a tensor map, an i64, from its LLVM pointer.

    Inline assembly takes either: a pointer is converted once, at the beginning of the kernel, and
    an address where it is used.
    """
    return llvm.ptrtoint(integer(64), tensor)


def prefetch_tensormap(tensor: ir.Value) -> None:
    """Bring a tensor map, an LLVM pointer or an i64, into the cache of the copies."""
    assembly("prefetch.tensormap [$0];", [tensor])


def cp_async_bulk_tensor_load(
    target: ir.Value,
    tensor: ir.Value,
    coordinates: Sequence[ir.Value],
    barrier: ir.Value,
    offsets: Sequence[ir.Value] = (),
) -> None:
    """Begin to copy a box of a tensor, or pixels of an image, to shared memory.

    Elements outside of the tensor are zeros, and count as bytes as well.

    Args:
        target: address in shared memory, an i32.
        tensor: its map, an LLVM pointer.
        coordinates: of the box, innermost first, i32s. Of an image: channel, position along every
            axis, and number of the image.
        barrier: address of the mbarrier that counts the bytes as they arrive, an i32.
        offsets: of an image: what the filter's tap adds to the positions, i16s (`im2col`).
    """
    cluster = llvm.addrspacecast(ir.Type.parse("!llvm.ptr<7>"), shared_pointer(target))
    mode = {"mode": attribute("#nvvm.tma_load_mode<im2col>")} if offsets else {}
    nvvm.cp_async_bulk_tensor_shared_cluster_global(
        cluster, tensor, list(coordinates), shared_pointer(barrier), list(offsets), **mode
    )


def cp_async_bulk_tensor_load_asm(
    target: ir.Value, tensor: ir.Value, coordinates: Sequence[ir.Value], barrier: ir.Value
) -> None:
    """As `cp_async_bulk_tensor_load` of a box; `tensor` is an LLVM pointer or an i64."""
    rank = len(coordinates)
    text = (
        f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        f"[$0], [$1, {{{', '.join(f'${3 + number}' for number in range(rank))}}}], [$2];"
    )
    assembly(text, [target, tensor, barrier, *coordinates])


def cp_async_bulk_tensor_store(
    tensor: ir.Value, source: ir.Value, coordinates: Sequence[ir.Value]
) -> None:
    """Begin to copy a box from shared memory, an i32, to a tensor, but for what is outside of it.

    `fence_proxy_async` shows what threads have written there to the copy.
    """
    nvvm.cp_async_bulk_tensor_global_shared_cta(tensor, shared_pointer(source), list(coordinates))


def cp_async_bulk_commit_group() -> None:
    """Close the group of stores that the thread began since the last call."""
    nvvm.cp_async_bulk_commit_group()


def cp_async_bulk_wait_group(pending: int, *, read: bool = False) -> None:
    """Wait until at most the last `pending` groups are under way, or only have to be `read`."""
    nvvm.cp_async_bulk_wait_group(pending, read=read or None)


def cp_async_bulk_to_cluster(
    target: ir.Value, source: ir.Value, nbytes: int, barrier: ir.Value
) -> None:
    """Begin to copy shared memory of this block to another of the cluster.

    Args:
        target: what `mapa` returns.
        source: address in this block, an i32; what other threads wrote there is published.
        nbytes: a multiple of 16, as both addresses are.
        barrier: what `mapa` returns for the mbarrier that counts the bytes.
    """
    assembly(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
        "[$0], [$1], $2, [$3];",
        [target, source, i32(nbytes), barrier],
    )
