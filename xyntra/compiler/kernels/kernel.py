# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel, from the text of its function to machine code."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from xyntra.cache import DiskCache, cache_key
from xyntra.errors import CompileError
from xyntra.targets.base import CALLS
from xyntra.targets.kernel import CompiledKernel, KernelSource
from xyntra.targets.table import backend_for

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir

_FIRST = """
func.func @first(%a: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %e = tensor.empty() : tensor<16x16xf32>
  %r = linalg.negf ins(%a: tensor<16x16xf32>) outs(%e: tensor<16x16xf32>) -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}"""


def kernel_key(kernel: KernelSource) -> str:
    """Return what equal kernels have in common, for one compiler and one processor."""
    return _key(kernel, kernel.architecture)


def code_key(kernel: KernelSource) -> str:
    """Return the cache key of a kernel's machine code."""
    return _key(kernel, backend_for(kernel.architecture).code_key(kernel.architecture))


def _key(kernel: KernelSource, target: str) -> str:
    options = str(kernel.opt_level), kernel.level, kernel.assembly, kernel.free
    return cache_key("kernel", kernel.mlir, target, *options)


def compile_kernel(kernel: KernelSource) -> CompiledKernel:
    """Compile in this process.

    Raises:
        CompileError: the text is not a kernel, or a library below failed on it.
    """
    backend = backend_for(kernel.architecture)
    if kernel.name == CALLS:
        return CompiledKernel(backend.compile_call_code(), 0)
    with compiler_context():
        return backend.compile(parse_kernel(kernel), kernel)


def parse_kernel(kernel: KernelSource) -> ir.Module:
    """Return the module of a kernel in the current context, its stages where the user has them.

    Raises:
        CompileError: `kernel-text`, its text does not parse.
    """
    from xyntra.dialects.mlir import ir

    try:
        module = ir.Module.parse(kernel.mlir)
        if kernel.lines:
            scheduled = backend_for(kernel.architecture).target.scheduled
            _move_stages(module, scheduled, kernel.lines)
        return module
    except ir.MLIRError as error:
        message = "the text of a kernel does not parse"
        raise CompileError("kernel-text", message, place=kernel.place, cause=str(error)) from error


def _move_stages(module: ir.Module, name: str, lines: tuple[int, ...]) -> None:
    """Say of every stage, which is of that name, in which line of the user's text it is."""
    from xyntra.dialects.mlir import ir
    from xyntra.passes.analysis.kernel_function import operations_named

    stages = operations_named(module.operation, name)
    for stage, line in zip(stages, lines, strict=True):
        stage.location = ir.Location.file("-", line, 1, module.context)


def load_compiler(architecture: str = "") -> None:
    """Load what `compile_kernel` needs, and use it once: processes forked later find it ready."""
    compile_kernel(KernelSource("first", _FIRST, architecture=architecture))
    gc.freeze()


def load_emitters(architecture: str = "") -> Iterator[None]:
    """Load what only some kernels need, a module at each step."""
    for name in backend_for(architecture).late_modules():
        import_module(name)
        gc.freeze()
        yield


@lru_cache(maxsize=1)
def compiler_context() -> ir.Context:
    """Return the MLIR context of this process: making one takes longer than lowering a kernel."""
    from xyntra.dialects import make_context

    return make_context()


def load_cached(cache: DiskCache | None, kernel: KernelSource) -> CompiledKernel | None:
    """Return the kernel as it is stored, or None."""
    data = cache.get(code_key(kernel)) if cache else None
    return CompiledKernel.from_bytes(data) if data is not None else None
