# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel, from its function, or any level below, to PTX."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from xyntra.errors import CompileError
from xyntra.targets.cuda.code.kernel_image import ImageLaunch, KernelImage
from xyntra.targets.cuda.code.ptx import to_ptx

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir
    from xyntra.passes.lower.cuda import LaunchCode, LoweredCudaKernel

__all__ = ["LEVELS", "compile_image", "kernel_text"]

LEVELS = ("kernels", "stages", "gpu", "nvvm", "ptx")
"""The forms of a kernel that have text, from functions on tensors down."""


def compile_image(
    module: ir.Module, architecture: str, level: str = "kernels", ptx: str = ""
) -> KernelImage:
    """Compile a kernel in this process, in the current context.

    Args:
        module: holds it in the form that it has at `level`; it is changed.
        architecture: such as "sm_90a".
        level: one of `LEVELS`.
        ptx: its PTX, at that level.

    Raises:
        CompileError: the module is not a kernel, or a library below failed on it.
    """
    from xyntra.passes.lower.cuda import launches_of, lower_kernel

    if level == "ptx":
        launched, scratch = launches_of(module.operation)
        _check_entries(launched, ptx)
        return KernelImage(_image_launches(launched), scratch, ptx if launched else "")
    lowered = lower_kernel(module, architecture, level)
    launches = _image_launches(lowered.launches)
    return KernelImage(launches, lowered.scratch, _to_ptx(lowered, architecture))


def kernel_text(
    module: ir.Module, architecture: str, start: str, level: str, ptx: str = ""
) -> tuple[str, str]:
    """Return a kernel at `level` as the text of a module, and its PTX where that is the level.

    Args:
        module: holds it in the form that it has at `start`; it cannot be used afterwards.
        architecture: such as "sm_90a".
        start: one of `LEVELS`.
        level: the same, or one below it.
        ptx: its PTX, at that level.

    Raises:
        CompileError: as `compile_image`.
    """
    from xyntra.passes.lower.cuda import from_nvvm, lower_to, without_code

    if start == level:
        return _text(module.operation), ptx
    if level != "ptx":
        return _text(lower_to(module, architecture, start, level)), ""
    operation = lower_to(module, architecture, start, "nvvm")
    code = _to_ptx(from_nvvm(operation), architecture)
    without_code(operation)
    return _text(operation), code


def _to_ptx(kernel: LoweredCudaKernel, architecture: str) -> str:
    if not kernel.launches:
        return ""
    ptx = to_ptx(kernel.llvm_ir, architecture)
    _check_entries(kernel.launches, ptx)
    return ptx


def _text(module: ir.Operation) -> str:
    text: str = module.get_asm(use_local_scope=True)
    return text


def _image_launches(launches: tuple[LaunchCode, ...]) -> tuple[ImageLaunch, ...]:
    return tuple(
        ImageLaunch.from_fields({"entry": each.entry, **asdict(each.shape)}) for each in launches
    )


def _check_entries(launches: tuple[LaunchCode, ...], ptx: str) -> None:
    for launch in launches:
        if f".entry {launch.entry}(" not in ptx:
            message = f"the PTX of a kernel has no entry point '{launch.entry}'"
            raise CompileError("kernel-text", message)
