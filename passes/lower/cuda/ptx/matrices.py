# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fragments of matrices in the registers of a warp (PTX ISA, "ldmatrix", "stmatrix", "mma")."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import nvvm

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.assembly import (
    assembly,
    attribute,
    integer,
    listed,
    shared_pointer,
)


def ldmatrix(address: ir.Value, *, transposed: bool = False) -> list[ir.Value]:
    """Load four 8x8 matrices of 16-bit elements from shared memory (`ldmatrix.x4`).

    Args:
        address: of row `lane % 8` of matrix `lane / 8`, in this thread, an i32.
        transposed: threads get neighbours of a column.

    Returns:
        Four i32s: of each matrix, two neighbours of row `lane / 4`, or of that column.
    """
    suffix = ".trans" if transposed else ""
    text = f"ldmatrix.sync.aligned.m8n8.x4{suffix}.shared.b16 {listed(0, 4)}, [$4];"
    return assembly(text, [address], [integer(32)] * 4)


def stmatrix(address: ir.Value, words: Sequence[ir.Value]) -> None:
    """Store four 8x8 matrices of 16-bit elements in shared memory (`stmatrix.x4`).

    Args:
        address: of row `lane % 8` of matrix `lane / 8`, in this thread, an i32.
        words: a pair of elements of each matrix, i32s.
    """
    nvvm.stmatrix(
        shared_pointer(address),
        list(words),
        attribute("#nvvm.mma_layout<row>"),
        attribute("#nvvm.ld_st_matrix_shape<m=8,n=8>"),
        attribute("#nvvm.ld_st_matrix_elt_type<b16>"),
    )


def mma(
    a: Sequence[ir.Value], b: Sequence[ir.Value], c: Sequence[ir.Value], shape: str, types: str
) -> list[ir.Value]:
    """Return `c` plus the product of two fragments (`mma.sync`).

    Args:
        a: 16 rows of K elements, four i32s.
        b: K rows of 8 elements, two i32s.
        c: 16 rows of 8 elements, four f32s or i32s.
        shape: M, N and K, as the instruction spells them: `m16n8k16`.
        types: of result, A, B and C, as the instruction spells them: `f32.f16.f16.f32`.
    """
    text = (
        f"mma.sync.aligned.{shape}.row.col.{types} "
        f"{listed(0, 4)}, {listed(4, 4)}, {listed(8, 2)}, {listed(10, 4)};"
    )
    return assembly(text, [*a, *b, *c], [each.type for each in c], pure=True)
