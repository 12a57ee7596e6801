# SPDX-License-Identifier: MIT OR Apache-2.0
"""Approximations and conversions of numbers (PTX ISA, "ex2", "rcp", "lg2", "div", "cvt", "mov")."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.assembly import assembly, integer


def ex2_approx(x: ir.Value) -> ir.Value:
    """Return 2**x of an f32, with a relative error of 2**-22.5; subnormals are zeros."""
    return _pure("ex2.approx.ftz.f32 $0, $1;", [x], ir.F32Type.get())


def rcp_approx(x: ir.Value) -> ir.Value:
    """Return 1 / x of an f32, with a relative error of 2**-23; subnormals are zeros."""
    return _pure("rcp.approx.ftz.f32 $0, $1;", [x], ir.F32Type.get())


def lg2_approx(x: ir.Value) -> ir.Value:
    """Return log2(x) of an f32, to 2**-22 of it, or absolutely where 1/2 < x < 2."""
    return _pure("lg2.approx.f32 $0, $1;", [x], ir.F32Type.get())


def div_full(x: ir.Value, y: ir.Value) -> ir.Value:
    """Return x / y of f32s, to two units in the last place."""
    return _pure("div.full.f32 $0, $1, $2;", [x, y], ir.F32Type.get())


def cvt_tf32(word: ir.Value) -> ir.Value:
    """Return the bits of an f32, as i32s, rounded to what tensor cores multiply as tf32."""
    return _pure("cvt.rna.tf32.f32 $0, $1;", [word], integer(32))


def cvt_pair(low: ir.Value, high: ir.Value, element: str) -> ir.Value:
    """Return two f32s rounded to `element`, f16 or bf16, in one i32."""
    return _pure(f"cvt.rn.{element}x2.f32 $0, $1, $2;", [high, low], integer(32))


def cvt_to_float8(low: ir.Value, high: ir.Value, element: str) -> ir.Value:
    """Return two f32s rounded to `element`, e4m3 or e5m2, in one i16; limited, NaN stays NaN."""
    text = f"cvt.rn.satfinite.{element}x2.f32 $0, $1, $2;"
    return _pure(text, [high, low], integer(16))


def cvt_from_float8(pair: ir.Value, element: str) -> ir.Value:
    """Return two floats of `element`, e4m3 or e5m2, in an i16, as f16s in one i32."""
    return _pure(f"cvt.rn.f16x2.{element}x2 $0, $1;", [pair], integer(32))


def mov(value: ir.Value) -> ir.Value:
    """Return the same value of 32 bits, of which LLVM then knows nothing."""
    return assembly("mov.b32 $0, $1;", [value], [value.type])[0]


def _pure(text: str, operands: list[ir.Value], kind: ir.Type) -> ir.Value:
    return assembly(text, operands, [kind], pure=True)[0]
