# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits instructions of block clusters, from sm_90 on (PTX ISA, "mapa", "barrier.cluster")."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.assembly import assembly, integer, listed, vector_suffix


def mapa(address: ir.Value, rank: ir.Value) -> ir.Value:
    """Return the address, an i32, of the same byte of shared memory in a block of the cluster."""
    text = "mapa.shared::cluster.u32 $0, $1, $2;"
    return assembly(text, [address, rank], [integer(32)], pure=True)[0]


def ld_shared_cluster(
    address: ir.Value, count: int, element: ir.Type, *, type_: str = "b32", ahead: int | None = None
) -> list[ir.Value]:
    """Load 1, 2 or 4 contiguous elements from shared memory of a block of the cluster.

    Args:
        address: what `mapa` returns.
        count: how many.
        element: their type, i32 or f32.
        type_: how the instruction names it.
        ahead: bytes that the instruction adds to `address`; None for an instruction without.
    """
    place = f"${count}" if ahead is None else f"${count}+{ahead}"
    suffix = f"{vector_suffix(count)}.{type_}"
    text = f"ld.shared::cluster{suffix} {listed(0, count)}, [{place}];"
    return assembly(text, [address], [element] * count)


def st_shared_cluster(address: ir.Value, value: ir.Value) -> None:
    """Store an i32 or i64 in shared memory of a block of the cluster, where `mapa` says."""
    assembly(f"st.shared::cluster.b{value.type.width} [$0], $1;", [address, value])


def barrier_cluster_arrive(*, release: bool) -> None:
    """Tell the cluster that this thread has come so far, and publish what it wrote if `release`."""
    assembly(f"barrier.cluster.arrive.{'release' if release else 'relaxed'}.aligned;")


def barrier_cluster_wait(*, acquire: bool = True) -> None:
    """Wait until every thread of the cluster has arrived, and see what they published."""
    assembly(f"barrier.cluster.wait{'.acquire' if acquire else ''}.aligned;")


def barrier_cluster(*, release: bool = True) -> None:
    """Wait for every thread of the cluster.

    Args:
        release: what they wrote is visible after it. Else it only lets them leave: what was read of
            a block's shared memory has been, and publishing would take as long as stores to memory.
    """
    barrier_cluster_arrive(release=release)
    barrier_cluster_wait()
