# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builders for the PTX instructions that kernels use, named as in the PTX ISA.

Operands are `ir.Value`s. Addresses of shared memory are i32s and those of global memory i64s;
tensor maps are LLVM pointers. Everything is emitted at the current insertion point. The text of an
instruction stands here and nowhere else.

Kernels use some instructions in two ways. The plain name is then the operation of MLIR's NVVM or
LLVM dialect, which LLVM understands: it may fold addresses and move code across. The name with
`_asm` is the same instruction as inline assembly, in which constants are immediates and which
nothing that touches memory is moved across.
"""
