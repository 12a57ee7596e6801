# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel, from its function, or any level below, to PTX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from xyntra.dialects.sizes import parse
from xyntra.errors import CompileError
from xyntra.passes.analysis.sizes.size import Size
from xyntra.targets.cuda.code.kernel_image import ImageLaunch, KernelImage, Place
from xyntra.targets.cuda.code.ptx import to_ptx

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir
    from xyntra.passes.analysis.sizes.session import Guard
    from xyntra.passes.lower.cuda import LaunchCode, LoweredCudaKernel
    from xyntra.passes.lower.kernels.told_sizes import Symbols

__all__ = ["LEVELS", "compile_free_image", "compile_image", "kernel_text"]

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


def compile_free_image(
    modules: Sequence[ir.Module], symbols: Symbols, architecture: str, variant: str
) -> tuple[KernelImage, tuple[Guard, ...]]:
    """Compile a kernel whose sizes are told when it is launched; returns what has to hold of them.

    Args:
        modules: hold it at samples of the sizes; they are changed.
        symbols: what is known of the sizes.
        architecture: such as "sm_90a".
        variant: how it is scheduled.

    Raises:
        CompileError: `kernel-not-free`, or as `compile_image`.
    """
    from xyntra.passes.lower.cuda import from_gpu
    from xyntra.passes.lower.gpu.device import device_of
    from xyntra.passes.lower.gpu.free_stages import lower_free

    def finish(module: ir.Operation) -> tuple[LoweredCudaKernel, KernelImage]:
        lowered = from_gpu(module)
        image = KernelImage(_image_launches(lowered.launches), lowered.scratch, "")
        return replace(lowered, launches=()), _with_usual_sizes(image, symbols)

    device = device_of(architecture)
    (lowered, image), guards = lower_free(modules, symbols, device, variant, finish)
    ptx = to_ptx(lowered.llvm_ir, architecture) if image.launches else ""
    return replace(image, ptx=ptx), guards


def _with_usual_sizes(image: KernelImage, symbols: Symbols) -> KernelImage:
    """Return an image whose numbers that are sizes have usual values, and expressions."""
    told: list[tuple[Place, str]] = []

    def usual(value: Any, place: Place) -> Any:
        if isinstance(value, dict):
            return {name: usual(each, (*place, name)) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return tuple(usual(each, (*place, number)) for number, each in enumerate(value))
        expression = None
        if isinstance(value, str) and "sizes" in place:
            expression = parse(value)
        elif isinstance(value, Size):
            expression = value.expression
        if expression is None:
            return value
        told.append((place, str(expression)))
        return expression.at(symbols.hints)

    launches = [usual(asdict(each), (number,)) for number, each in enumerate(image.launches)]
    return replace(image, launches=tuple(map(ImageLaunch.from_fields, launches)), told=tuple(told))


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
