# SPDX-License-Identifier: MIT OR Apache-2.0
"""The levels of a kernel for NVIDIA GPUs, and how it is lowered from one to another."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    check_buffers,
    check_contract,
    kernel_function,
    kernel_named,
)
from xyntra.passes.lower.cuda.to_llvm import LoweredCudaKernel, from_nvvm, to_nvvm
from xyntra.passes.lower.gpu.device import GpuDevice, device_of
from xyntra.passes.lower.gpu.to_gpu import to_gpu
from xyntra.passes.lower.gpu.to_stages import to_stages

LEVELS = ("kernels", "stages", "gpu", "nvvm")
"""The forms of a kernel on its way to LLVM IR, from functions on tensors down.

Each says all of a kernel: `lower_to` goes on from the text of any of them.
"""


def lower_kernel(module: ir.Module, architecture: str, level: str = "kernels") -> LoweredCudaKernel:
    """Lower the kernel function of `module` to LLVM IR; `module` cannot be used afterwards.

    Args:
        module: holds one kernel, in the form that it has at `level`.
        architecture: what the code is for: one of `DEVICES`, such as "sm_90a".
        level: one of `LEVELS`.

    Raises:
        CompileError: the function breaks the kernel contract, or a pass failed on it.
    """
    return from_nvvm(lower_to(module, architecture, level, "nvvm"))


def lower_to(module: ir.Module, architecture: str, start: str, level: str) -> ir.Operation:
    """Lower a kernel from the level `start` to `level`; `module` cannot be used afterwards.

    Args:
        module: holds one kernel, in the form that it has at `start`.
        architecture: what the code is for.
        start: one of `LEVELS`.
        level: the same, or one below it.

    Raises:
        CompileError: the function breaks the kernel contract, or a pass failed on it.
    """
    operation = module.operation
    function = kernel_function(operation)
    (check_contract if start == "kernels" else check_buffers)(function)
    device = device_of(architecture)
    with kernel_named(function), operation.context, operation.location:
        for each in LEVELS[LEVELS.index(start) : LEVELS.index(level)]:
            operation = _next_level(each, operation, device)
    return operation


def _next_level(level: str, module: ir.Operation, device: GpuDevice) -> ir.Operation:
    if level == "kernels":
        return to_stages(module, device)
    return to_gpu(module, device) if level == "stages" else to_nvvm(module)
