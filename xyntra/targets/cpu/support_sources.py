# SPDX-License-Identifier: MIT OR Apache-2.0
"""LLVM IR of functions that LLVM calls for what a processor has no instruction for."""

from __future__ import annotations

__all__ = ["SOURCES"]

_ROUND_TO_BFLOAT = """
define bfloat @__truncsfbf2(float %value) {
  %bits = bitcast float %value to i32
  %kept = lshr i32 %bits, 16
  %last = and i32 %kept, 1
  %half = add i32 %last, 32767
  %rounded = add i32 %bits, %half
  %number = lshr i32 %rounded, 16
  %quiet = or i32 %kept, 64
  %is_nan = fcmp uno float %value, %value
  %result = select i1 %is_nan, i32 %quiet, i32 %number
  %narrow = trunc i32 %result to i16
  %bfloat = bitcast i16 %narrow to bfloat
  ret bfloat %bfloat
}
"""
SOURCES = {"__truncsfbf2": _ROUND_TO_BFLOAT}
"""LLVM IR by symbol. A bfloat that is kept in a float register comes back through __truncsfbf2:
to nearest, ties to even; a NaN stays one."""
