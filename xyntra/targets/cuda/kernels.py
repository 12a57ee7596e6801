# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel, from the text of its function to PTX."""

from __future__ import annotations

from xyntra.targets.cuda.kernel_image import ImageLaunch, KernelImage
from xyntra.targets.cuda.ptx import to_ptx


def compile_image(mlir: str, place: str, architecture: str) -> KernelImage:
    """Compile a kernel in this process.

    Args:
        mlir: the module that holds its function, as text.
        place: the kernel and its nodes, for messages.
        architecture: such as "sm_90a".

    Raises:
        CompileError: the text is not a kernel, or a library below failed on it.
    """
    from dataclasses import asdict

    from xyntra.dialects.mlir import ir
    from xyntra.errors import CompileError
    from xyntra.passes.lower.cuda import lower_kernel
    from xyntra.targets.cpu.kernels import compiler_context

    with compiler_context():
        try:
            module = ir.Module.parse(mlir)
        except ir.MLIRError as error:
            message = "the text of a kernel does not parse"
            raise CompileError("kernel-text", message, place=place, cause=str(error)) from error
        lowered = lower_kernel(module, architecture)
    launches = tuple(
        ImageLaunch.from_fields({"entry": each.entry, **asdict(each.shape)})
        for each in lowered.launches
    )
    ptx = to_ptx(lowered.llvm_ir, architecture) if launches else ""
    return KernelImage(launches, lowered.scratch, ptx)
