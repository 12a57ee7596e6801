# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that LLVM leaves barriers, and other assembly of a whole warp, where all threads meet."""

from __future__ import annotations

import pytest
from test_device_limits import KERNELS

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda import lower_kernel
from xyntra.passes.lower.cuda.ptx.collective_assembly import mark_collective_assembly
from xyntra.targets.cuda.code.ptx import to_ptx

# One thread has something to do before the assembly, and behind it: LLVM would rather give each of
# the two ways its own copy than ask twice which thread it is.
_TWO_WAYS = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr addrspace(1) %p) "nvvm.reqntid"="64" {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %before, label %meet
before:
  %old = load volatile i32, ptr addrspace(1) %p
  br label %meet
meet:
  %held = phi i32 [ %old, %before ], [ 0, %0 ]
  call void asm sideeffect "{text}", "~{{memory}}"()
  br i1 %first, label %behind, label %done
behind:
  store volatile i32 %held, ptr addrspace(1) %p
  br label %done
done:
  ret void
}}
"""


@pytest.mark.parametrize(
    "text", ["barrier.cluster.arrive.release.aligned;", "bar.warp.sync 0xffffffff;"]
)
def test_no_way_gets_a_copy(text: str) -> None:
    plain = _TWO_WAYS.format(text=text)
    assert to_ptx(plain, "sm_90a").count(text) == 2
    assert to_ptx(mark_collective_assembly(plain), "sm_90a").count(text) == 1


@pytest.mark.parametrize(
    "text", ["griddepcontrol.wait;", "mbarrier.arrive.shared::cta.b64 _, [0];"]
)
def test_what_each_thread_does_alone_is_left(text: str) -> None:
    plain = _TWO_WAYS.format(text=text)
    assert mark_collective_assembly(plain) == plain


@pytest.mark.parametrize("name", KERNELS)
def test_all_of_a_kernel_is_marked(name: str) -> None:
    with make_context():
        code = lower_kernel(ir.Module.parse(KERNELS[name]), "sm_90a").llvm_ir
    calls = [line for line in code.splitlines() if " asm " in line]
    collective = [line for line in calls if ".aligned" in line or ".sync" in line]
    assert all(line.endswith(" convergent") for line in collective)
    assert not any(line.endswith(" convergent") for line in calls if line not in collective)
