# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel, from its function, or any level below, to WGSL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from xyntra.errors import CompileError
from xyntra.targets.webgpu.code.shader_image import ShaderImage, ShaderLaunch
from xyntra.targets.webgpu.code.wgsl import check_wgsl, entry_points, wgsl_of

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir
    from xyntra.passes.lower.webgpu import LoweredWebgpuKernel, WebgpuLaunch

__all__ = ["LEVELS", "compile_image", "kernel_text"]

LEVELS = ("kernels", "stages", "gpu", "spirv", "wgsl")
"""The forms of a kernel that have text, from functions on tensors down."""


def compile_image(
    module: ir.Module, architecture: str, level: str = "kernels", wgsl: str = ""
) -> ShaderImage:
    """Compile a kernel in this process, in the current context.

    Args:
        module: holds it in the form that it has at `level`; it is changed.
        architecture: "webgpu".
        level: one of `LEVELS`.
        wgsl: its WGSL, at that level.

    Raises:
        CompileError: the module is not a kernel, or a library below failed on it.
        UnsupportedError: it computes in f64.
    """
    from xyntra.passes.lower.webgpu import launches_of, lower_kernel

    if level == "wgsl":
        launches, scratch = launches_of(module.operation)
        if launches:
            check_wgsl(wgsl)
        return ShaderImage(_image_launches(launches, wgsl), scratch, wgsl if launches else "")
    return _image_of(lower_kernel(module, architecture, level))


def kernel_text(
    module: ir.Module, architecture: str, start: str, level: str, wgsl: str = ""
) -> tuple[str, str]:
    """Return a kernel at `level` as the text of a module, and its WGSL where that is the level.

    Args:
        module: holds it in the form that it has at `start`; it cannot be used afterwards.
        architecture: "webgpu".
        start: one of `LEVELS`.
        level: the same, or one below it.
        wgsl: its WGSL, at that level.

    Raises:
        CompileError: as `compile_image`.
        UnsupportedError: likewise.
    """
    from xyntra.passes.lower.webgpu import from_spirv, lower_to, without_code

    if start == level:
        return _text(module.operation), wgsl
    if level != "wgsl":
        return _text(lower_to(module, architecture, start, level)), ""
    operation = lower_to(module, architecture, start, "spirv")
    code = _image_of(from_spirv(operation)).wgsl
    without_code(operation)
    return _text(operation), code


def _text(module: ir.Operation) -> str:
    text: str = module.get_asm(use_local_scope=True)
    return text


def _image_of(lowered: LoweredWebgpuKernel) -> ShaderImage:
    text = wgsl_of(lowered.spirv) if lowered.spirv else ""
    return ShaderImage(_image_launches(lowered.launches, text), lowered.scratch, text)


def _image_launches(launched: Sequence[WebgpuLaunch], text: str) -> tuple[ShaderLaunch, ...]:
    """Return launches of the entry points that naga has made, whose names it may have changed."""
    names = {each.rstrip("_"): each for each in entry_points(text)}
    launches = []
    for launch in launched:
        entry = names.get(launch.entry.rstrip("_"))
        if entry is None:
            message = f"the WGSL of a kernel has no entry point '{launch.entry}'"
            raise CompileError("kernel-text", message)
        fields = {**asdict(launch), "entry": entry}
        launches.append(ShaderLaunch.from_fields(fields))
    return tuple(launches)
