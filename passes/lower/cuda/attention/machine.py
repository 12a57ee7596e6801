# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instructions of attention that return values, on scalars with a dtype.

Addresses of shared memory are uint32, of global memory uint64. Two 16-bit numbers share a uint32.
Instructions that return nothing are called as they are in `ptx`, with the values of scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.ptx import memory
from xyntra.passes.lower.cuda.ptx.clusters import ld_shared_cluster, mapa
from xyntra.passes.lower.cuda.ptx.matrices import ldmatrix, mma
from xyntra.passes.lower.cuda.ptx.numbers import cvt_pair, ex2_approx, rcp_approx
from xyntra.passes.lower.cuda.ptx.warps import shfl_bfly_asm
from xyntra.passes.lower.gpu.attention.problem import Located, Outer
from xyntra.passes.lower.gpu.attention.values import Registers, fused, like, real, values_of
from xyntra.passes.lower.loops.memrefs import view_offset

ELEMENTS = {"float16": "f16", "bfloat16": "bf16"}
"""Types of the factors of tensor cores, as PTX names them."""


def scalars(values: Sequence[ir.Value], dtype: str) -> Registers:
    """Values of one dtype."""
    return [Scalar(each, dtype) for each in values]


def exp2(value: Scalar) -> Scalar:
    """A power of two, with a relative error of 2^-22; 0 where it would be subnormal."""
    return Scalar(ex2_approx(value.value), value.dtype)


def bounded(value: Scalar) -> Scalar:
    """The hyperbolic tangent, with an absolute error of 2^-21."""
    power = exp2(value * 2.8853900817779268)  # 2 / ln 2
    quotient = Scalar(rcp_approx((power + 1.0).value), value.dtype)
    return fused(quotient, real(-2.0), real(1.0))


def exchanged(value: Scalar, distance: int) -> Scalar:
    """The value of the lane whose number differs by the bit `distance`."""
    return Scalar(shfl_bfly_asm(value.value, distance), value.dtype)


def across(value: Scalar, lanes: int, combine: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    """`value` combined over groups of `lanes` neighbouring lanes, in each of them."""
    distance = lanes // 2
    while distance:
        value = combine(value, exchanged(value, distance))
        distance //= 2
    return value


def packed(low: Scalar, high: Scalar, dtype: str) -> Scalar:
    """Two f32 rounded to `dtype`, in one register."""
    return Scalar(cvt_pair(low.value, high.value, ELEMENTS[dtype]), "uint32")


def packed_pairs(values: Registers, dtype: str) -> Registers:
    """Contiguous elements, an even number of f32, rounded, two in a register."""
    return [packed(values[k], values[k + 1], dtype) for k in range(0, len(values), 2)]


def load_matrices(address: Scalar, *, transposed: bool = False) -> Registers:
    """Four matrices of 8 rows of 16 bytes; lane i gives the address of row i (`ldmatrix`)."""
    return scalars(ldmatrix(address.value, transposed=transposed), "uint32")


def multiply(a: Registers, b: Registers, c: Registers, dtype: str) -> Registers:
    """`c` plus the product of fragments of 16 by 16 and 16 by 8 (`mma`)."""
    types = f"f32.{ELEMENTS[dtype]}.{ELEMENTS[dtype]}.f32"
    return like(c, mma(values_of(a), values_of(b), values_of(c), "m16n8k16", types))


def load_shared(address: Scalar, count: int) -> Registers:
    """`count` contiguous f32 of shared memory: 1, 2 or 4."""
    return scalars(memory.ld_shared_asm(address.value, count), "float32")


def load_cluster(address: Scalar, rank: Scalar, count: int) -> Registers:
    """As `load_shared`, from where a block of the cluster, a uint32, has the same address."""
    there = mapa(address.value, rank.value)
    return scalars(ld_shared_cluster(there, count, ir.F32Type.get(), type_="f32"), "float32")


def store_shared(address: Scalar, values: Sequence[Scalar]) -> None:
    """Write neighbouring registers to shared memory: 1, 2 or 4 of 32 bits, or one of 16."""
    memory.st_shared_asm(address.value, values_of(values))


def store_global(address: Scalar, values: Sequence[Scalar]) -> None:
    """Write 1, 2 or 4 neighbouring registers of 32 bits to global memory."""
    memory.st_global(address.value, values_of(values))


def shared_address(pointer: ir.Value) -> Scalar:
    """The address of a pointer into shared memory."""
    return Scalar(memory.shared_address(pointer), "uint32")


def global_address(place: ir.Value, item_bytes: int) -> Scalar:
    """The address at which a memref of static layout starts."""
    start = Scalar(memory.global_address(place), "uint64")
    first = view_offset(place) * item_bytes
    return start + first if first else start


def start_address(located: Located, outer: Outer) -> Scalar:
    """Return the address, a uint64, at which the matrix of one head starts."""
    base = global_address(located.matrix.memory, located.item_bytes)
    return base + located.start(outer) * located.item_bytes
