# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the options that LLVM is given when it makes PTX."""

from __future__ import annotations

import pytest

from xyntra.errors import CompileError
from xyntra.targets.cuda.code.ptx import to_ptx

LOOP = """
define ptx_kernel void @loop(ptr %out, i32 %count, i32 %factor) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i32 %i, %count
  br i1 %more, label %body, label %end
body:
  %fixed = mul i32 %factor, %factor
  %place = getelementptr i32, ptr %out, i32 %i
  store volatile i32 %fixed, ptr %place
  %next = add i32 %i, 1
  br label %head
end:
  ret void
}
"""


def test_what_a_loop_computes_anew_each_time_is_computed_before_it() -> None:
    ptx = to_ptx(LOOP, "sm_90a")
    before, found, behind = ptx.partition("mul.lo.s32")
    assert found, ptx
    assert "st.volatile" not in before, ptx
    assert "mul.lo.s32" not in behind, ptx


def test_ir_that_llvm_does_not_read_is_an_error() -> None:
    with pytest.raises(CompileError, match="does not accept"):
        to_ptx("define void @f( {", "sm_90a")
