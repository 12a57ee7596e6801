# SPDX-License-Identifier: MIT OR Apache-2.0
"""What LLVM is asked for when it makes PTX."""

from __future__ import annotations

import subprocess
import sys

import pytest

from xyntra.errors import CompileError
from xyntra.targets.cuda.ptx import to_ptx

CHAIN = """
define ptx_kernel void @chain(ptr %out, i32 %a, i32 %s) {
  %x = mul i32 %a, %s
  store volatile i32 %x, ptr %out
  %b = add i32 %a, 5
  %y = mul i32 %b, %s
  store volatile i32 %y, ptr %out
  ret void
}
"""
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


def test_the_back_end_searches_no_chains_of_sums() -> None:
    ptx = to_ptx(CHAIN, "sm_90a")
    assert ptx.count("mul.lo.s32") == 2, ptx


def test_code_for_gpus_does_not_depend_on_what_was_compiled_before() -> None:
    program = f"""if True:
        from xyntra.targets.cuda.native.call_code import compile_call_code
        from xyntra.targets.cuda.ptx import to_ptx
        compile_call_code()
        print(to_ptx({CHAIN!r}, "sm_90a"))
    """
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert found.count("mul.lo.s32") == 2, found


def test_what_a_loop_computes_anew_each_time_is_computed_before_it() -> None:
    ptx = to_ptx(LOOP, "sm_90a")
    before, found, behind = ptx.partition("mul.lo.s32")
    assert found, ptx
    assert "st.volatile" not in before, ptx
    assert "mul.lo.s32" not in behind, ptx


def test_ir_that_llvm_does_not_read_is_an_error() -> None:
    with pytest.raises(CompileError, match="does not accept"):
        to_ptx("define void @f( {", "sm_90a")
