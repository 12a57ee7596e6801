# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions that LLVM calls for what a processor has no instruction for."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.replay import StepTable

# LLVM narrows by the function under test where the processor has no such instruction.
ROUND_ALL = """
define void @round_all(ptr %arguments) {
entry:
  %source = load ptr, ptr %arguments
  %slot = getelementptr ptr, ptr %arguments, i64 1
  %target = load ptr, ptr %slot
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %from = getelementptr float, ptr %source, i64 %i
  %value = load float, ptr %from
  %narrow = call bfloat @__truncsfbf2(float %value)
  %bits = bitcast bfloat %narrow to i16
  %to = getelementptr i16, ptr %target, i64 %i
  store i16 %bits, ptr %to
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, COUNT
  br i1 %last, label %done, label %loop
done:
  ret void
}
declare bfloat @__truncsfbf2(float)
"""


def test_bfloat16_is_rounded_to_nearest_even() -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 32, 100_000, np.uint32)
    ties = (np.arange(0, 1 << 16, dtype=np.uint32) << 16) + 0x8000
    x = np.concatenate([bits, ties, ties - 1, ties + 1]).view(np.float32)
    y = np.zeros(x.size, np.uint16)
    code = compile_object(ROUND_ALL.replace("COUNT", str(x.size)), opt_level=1)
    library = ObjectLibrary({"round_all": code})
    StepTable([(library.address("round_all"), [x.ctypes.data, y.ctypes.data])]).run()
    with np.errstate(invalid="ignore", over="ignore"):
        expected = x.astype(ml_dtypes.bfloat16)
    found = y.view(ml_dtypes.bfloat16)
    assert np.array_equal(np.isnan(found), np.isnan(x))
    numbers = ~np.isnan(x)
    assert np.array_equal(y[numbers], expected.view(np.uint16)[numbers])
