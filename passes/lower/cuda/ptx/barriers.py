# SPDX-License-Identifier: MIT OR Apache-2.0
"""Barriers of threads, and of copies, in a block (PTX ISA, "bar", "mbarrier", "fence").

An mbarrier is eight bytes of shared memory. Its phase ends with so many arrivals, and once all
bytes have come that were announced by then. Phases have the parities 0, 1, 0 and so on; that before
the first one has the parity 1.
"""

from __future__ import annotations

from torch_mlir.dialects import nvvm

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.assembly import assembly, attribute, i32, shared_pointer

_TRY_TICKS = 10_000_000  # how long one attempt to wait may take before it is repeated
_ALL = -1  # lanes


def bar_sync(number: ir.Value | None = None, threads: ir.Value | None = None) -> None:
    """Wait for the threads of a barrier, and see what they wrote; by default all of the block.

    Args:
        number: of the barrier, an i32; that of the whole block is 0.
        threads: how many meet, an i32.
    """
    nvvm.barrier(barrier_id=number, number_of_threads=threads)


def bar_warp_sync() -> None:
    """Wait for the other lanes of the warp, and see what they wrote."""
    nvvm.bar_warp_sync(i32(_ALL))


def bar_warp_sync_asm() -> None:
    """As `bar_warp_sync`."""
    assembly(f"bar.warp.sync {_ALL};")


def mbarrier_init(address: ir.Value, arrivals: int) -> None:
    """Make an mbarrier at an i32, whose phases end with so many arrivals."""
    nvvm.mbarrier_init(shared_pointer(address), i32(arrivals))


def mbarrier_init_asm(address: ir.Value, arrivals: int) -> None:
    """As `mbarrier_init`."""
    assembly(f"mbarrier.init.shared::cta.b64 [$0], {arrivals};", [address])


def fence_mbarrier_init() -> None:
    """Show new mbarriers to other threads of the cluster and to copies."""
    nvvm.fence_mbarrier_init()


def fence_mbarrier_init_asm() -> None:
    """As `fence_mbarrier_init`."""
    assembly("fence.mbarrier_init.release.cluster;")


def mbarrier_arrive(address: ir.Value) -> None:
    """Arrive at an mbarrier."""
    nvvm.mbarrier_arrive(shared_pointer(address), results=[])


def mbarrier_arrive_asm(address: ir.Value) -> None:
    """As `mbarrier_arrive`."""
    assembly("mbarrier.arrive.shared::cta.b64 _, [$0];", [address])


def mbarrier_arrive_expect_tx(address: ir.Value, nbytes: int) -> None:
    """Arrive at an mbarrier, and let its phase wait for so many bytes."""
    nvvm.mbarrier_arrive_expect_tx(shared_pointer(address), i32(nbytes))


def mbarrier_arrive_expect_tx_asm(address: ir.Value, nbytes: int) -> None:
    """As `mbarrier_arrive_expect_tx`."""
    assembly(f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {nbytes};", [address])


def mbarrier_wait_parity(address: ir.Value, parity: ir.Value) -> None:
    """Wait until the phase of an mbarrier with this parity, an i32, has ended."""
    nvvm.mbarrier_try_wait_parity(shared_pointer(address), parity, i32(_TRY_TICKS))


def mbarrier_wait_parity_asm(address: ir.Value, parity: ir.Value) -> None:
    """As `mbarrier_wait_parity`."""
    text = (
        "{\n.reg .pred done;\nWAIT_${:uid}:\n"
        f"mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1, {_TRY_TICKS};\n"
        "@done bra.uni DONE_${:uid};\nbra.uni WAIT_${:uid};\nDONE_${:uid}:\n}"
    )
    assembly(text, [address, parity])


def fence_proxy_async() -> None:
    """Let bulk copies see what this thread has written to shared memory."""
    nvvm.fence_proxy(
        attribute("#nvvm.proxy_kind<async.shared>"), space=attribute("#nvvm.shared_space<cta>")
    )
