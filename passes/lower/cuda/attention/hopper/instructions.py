# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instructions of Hopper that return scalars, or values that pass through them."""

from __future__ import annotations

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.machine import ELEMENTS, scalars
from xyntra.passes.lower.cuda.ptx.barriers import mbarrier_wait_parity_asm
from xyntra.passes.lower.cuda.ptx.numbers import mov
from xyntra.passes.lower.cuda.ptx.warpgroups import (
    wgmma_advanced,
    wgmma_asm,
    wgmma_descriptor,
    wgmma_fence_asm,
    wgmma_wait_group_asm,
)
from xyntra.passes.lower.gpu.attention.values import Registers, like, values_of

ROW_BYTES = 128
"""Of a row in shared memory, in the pattern that spreads eight rows over all banks."""


def descriptor(address: Scalar, leading: int) -> Scalar:
    """Return what tells a product where a matrix lies, in rows of 128 bytes: a uint64.

    Args:
        address: in shared memory.
        leading: bytes from 64 columns to the next, where columns are the result's.
    """
    return Scalar(wgmma_descriptor(address.value, leading), "uint64")


def advanced(matrix: Scalar, nbytes: int) -> Scalar:
    """The descriptor of what lies `nbytes` further on."""
    return Scalar(wgmma_advanced(matrix.value, nbytes), "uint64")


def multiply_shared(
    accumulators: Registers | None, left: Scalar, right: Scalar, columns: int, dtype: str
) -> Registers:
    """Issue a matmul of 64 rows and `columns` rows of 16 contiguous elements, from descriptors.

    Args:
        accumulators: what it is added to; None for nothing.
        left: the left factor.
        right: the right factor.
        columns: of the result, a multiple of eight.
        dtype: of the factors.
    """
    before = None if accumulators is None else values_of(accumulators)
    factors = left.value, right.value
    return scalars(wgmma_asm(before, *factors, columns, ELEMENTS[dtype], b_k_major=True), "float32")


def multiply_registers(
    accumulators: Registers, left: Registers, right: Scalar, columns: int, dtype: str
) -> Registers:
    """Issue a matmul of 64 rows in registers and 16 rows of `columns` contiguous elements each."""
    factors = values_of(left), right.value
    element = ELEMENTS[dtype]
    return like(
        accumulators,
        wgmma_asm(values_of(accumulators), *factors, columns, element, b_k_major=False),
    )


def fence(values: Registers) -> Registers:
    """Order what was done to registers before products that use them."""
    return like(values, wgmma_fence_asm(values_of(values)))


def wait_for_products(values: Registers) -> Registers:
    """Wait for all products, which write `values`."""
    return like(values, wgmma_wait_group_asm(0, values_of(values)))


def wait_for_phase(address: Scalar, parity: Scalar) -> None:
    """Wait until the phase of this parity of an mbarrier has ended."""
    mbarrier_wait_parity_asm(address.value, parity.value)


def opaque(value: Scalar) -> Scalar:
    """Return a value as one of which LLVM knows nothing."""
    return Scalar(mov(value.value), value.dtype)
