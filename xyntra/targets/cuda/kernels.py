# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel, from its function to PTX."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from xyntra.targets.cuda.kernel_image import ImageLaunch, KernelImage
from xyntra.targets.cuda.ptx import to_ptx

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir


def compile_image(module: ir.Module, architecture: str) -> KernelImage:
    """Compile a kernel in this process, in the current context.

    Args:
        module: holds its function; it is changed.
        architecture: such as "sm_90a".

    Raises:
        CompileError: the module is not a kernel, or a library below failed on it.
    """
    from xyntra.passes.lower.cuda import lower_kernel

    lowered = lower_kernel(module, architecture)
    launches = tuple(
        ImageLaunch.from_fields({"entry": each.entry, **asdict(each.shape)})
        for each in lowered.launches
    )
    ptx = to_ptx(lowered.llvm_ir, architecture) if launches else ""
    return KernelImage(launches, lowered.scratch, ptx)
