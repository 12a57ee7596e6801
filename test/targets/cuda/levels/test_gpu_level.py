# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stages, MLIR's `gpu` dialect and NVVM say all of a kernel: their text is lowered like itself."""

from __future__ import annotations

import pytest
from test_attention_code import CAUSAL, attention
from test_device_limits import KERNELS

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda import from_nvvm, lower_kernel, to_nvvm
from xyntra.passes.lower.gpu.device import device_of
from xyntra.passes.lower.gpu.to_gpu import to_gpu
from xyntra.passes.lower.gpu.to_stages import to_stages
from xyntra.targets.cuda.code.ptx import to_ptx

_KERNELS = KERNELS | {"flash attention": attention((2, 16, 2048, 2048, 128, 128), "bf16", CAUSAL)}


def stage_text(kernel: str, architecture: str) -> str:
    """A kernel on tensors at the level of stages."""
    with make_context() as context:
        module = ir.Module.parse(kernel)
        with context, ir.Location.unknown():
            return str(to_stages(module.operation, device_of(architecture)))


def gpu_text(kernel: str, architecture: str) -> str:
    """A kernel on tensors at the level of the `gpu` dialect, by the text of its stages."""
    with make_context() as context:
        module = ir.Module.parse(stage_text(kernel, architecture))
        with context, ir.Location.unknown():
            return str(to_gpu(module.operation, device_of(architecture)))


def nvvm_text(gpu: str) -> str:
    """The text of a kernel in the dialects of LLVM and NVVM."""
    with make_context():
        return str(to_nvvm(ir.Module.parse(gpu).operation))


@pytest.mark.parametrize("name", _KERNELS)
def test_lowering_goes_on_from_the_text(name: str) -> None:
    with make_context():
        expected = lower_kernel(ir.Module.parse(_KERNELS[name]), "sm_90a")
    text = nvvm_text(gpu_text(_KERNELS[name], "sm_90a"))
    with make_context():
        found = from_nvvm(ir.Module.parse(text).operation)
    assert found == expected
    assert ".entry" in to_ptx(found.llvm_ir, "sm_90a")


def test_it_is_of_what_every_gpu_has() -> None:
    text = gpu_text(KERNELS["short rows"], "sm_80")
    assert "gpu.shuffle" in text
    assert "gpu.launch_func" in text
    assert "nvvm" not in text
    assert "llvm." not in text.replace("llvm.align", "")
