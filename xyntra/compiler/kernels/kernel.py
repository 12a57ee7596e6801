# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel, from the text of its function to machine code."""

from __future__ import annotations

import gc
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from xyntra.cache import DiskCache, cache_key
from xyntra.errors import CompileError
from xyntra.targets.cuda.native import CALLS

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir

_HEADER = struct.Struct("<QQQ")
_FIRST = """
func.func @first(%a: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %e = tensor.empty() : tensor<16x16xf32>
  %r = linalg.negf ins(%a: tensor<16x16xf32>) outs(%e: tensor<16x16xf32>) -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}"""


@dataclass(frozen=True)
class KernelSource:
    """A kernel before lowering.

    Attributes:
        name: the name of its function, which becomes its symbol.
        mlir: the module that holds the function, as text.
        nodes: what it computes in the words of the model, for messages.
        opt_level: LLVM's, 0 to 3.
        architecture: of the GPU to generate code for; "" for this processor.
    """

    name: str
    mlir: str
    nodes: tuple[str, ...] = ()
    opt_level: int = 2
    architecture: str = ""

    @property
    def place(self) -> str:
        """The kernel and its nodes as the `place` of an error."""
        lines = [f"kernel '{self.name}'"]
        if self.nodes:
            lines.append("from " + ", ".join(self.nodes))
        return "\n".join(lines)


@dataclass(frozen=True)
class CompiledKernel:
    """Object code of one kernel.

    Attributes:
        code: defines one entry point, and with prepared constants a second one, `NAME.prepare`.
        scratch_bytes: the scratch memory that the threads of a call share.
        private_bytes: the scratch memory that each of them needs beside.
        prepared_bytes: the memory of what `NAME.prepare` makes of the kernel's constants.
    """

    code: bytes
    scratch_bytes: int
    private_bytes: int = 0
    prepared_bytes: int = 0

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads."""
        sizes = self.scratch_bytes, self.private_bytes, self.prepared_bytes
        return _HEADER.pack(*sizes) + self.code

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> CompiledKernel:
        """Rebuild the kernel that `to_bytes` described."""
        sizes = _HEADER.unpack_from(data)
        return cls(bytes(data[_HEADER.size :]), *sizes)


def kernel_key(kernel: KernelSource) -> str:
    """Return what equal kernels have in common, for one compiler and one processor."""
    return cache_key("kernel", kernel.mlir, kernel.architecture, str(kernel.opt_level))


def code_key(kernel: KernelSource) -> str:
    """Return the cache key of a kernel's machine code."""
    from xyntra.targets.cpu.codegen import compiler_key, target_key

    target = f"{compiler_key()};{kernel.architecture}" if kernel.architecture else target_key()
    return cache_key("kernel", kernel.mlir, target, str(kernel.opt_level))


def compile_kernel(kernel: KernelSource) -> CompiledKernel:
    """Compile in this process.

    Raises:
        CompileError: the text is not a kernel, or a library below failed on it.
    """
    if kernel.name == CALLS:
        from xyntra.targets.cuda.native.call_code import compile_call_code

        return CompiledKernel(compile_call_code(), 0)
    with _compiler_context():
        module = _parsed(kernel)
        return _for_gpu(module, kernel) if kernel.architecture else _for_cpu(module, kernel)


def _parsed(kernel: KernelSource) -> ir.Module:
    from xyntra.dialects.mlir import ir

    try:
        return ir.Module.parse(kernel.mlir)
    except ir.MLIRError as error:
        message = "the text of a kernel does not parse"
        raise CompileError("kernel-text", message, place=kernel.place, cause=str(error)) from error


def _for_cpu(module: ir.Module, kernel: KernelSource) -> CompiledKernel:
    from xyntra.passes.lower.cpu import LoweringOptions, lower_kernel
    from xyntra.targets.cpu.codegen import compile_object
    from xyntra.targets.cpu.device import host_device

    device = host_device()
    options = LoweringOptions(
        device.vector_bits,
        device.vector_registers,
        device.dot_products,
        cache_bytes=device.l3_bytes * 3 // 4,
    )
    lowered = lower_kernel(module, options)
    code = compile_object(lowered.llvm_ir, opt_level=kernel.opt_level)
    return CompiledKernel(
        code, lowered.scratch_bytes, lowered.private_bytes, lowered.prepared_bytes
    )


def _for_gpu(module: ir.Module, kernel: KernelSource) -> CompiledKernel:
    from xyntra.targets.cuda.kernels import compile_image

    image = compile_image(module, kernel.architecture)
    return CompiledKernel(image.to_bytes(), sum(image.scratch))


def load_compiler(architecture: str = "") -> None:
    """Load what `compile_kernel` needs, and use it once: processes forked later find it ready."""
    compile_kernel(KernelSource("first", _FIRST, architecture=architecture))
    gc.freeze()


def load_emitters(architecture: str = "") -> Iterator[None]:
    """Load what only some kernels need, a module at each step."""
    if architecture:
        return
    from xyntra.passes.lower.cpu import EMITTERS

    for name in EMITTERS:
        import_module(name)
        gc.freeze()
        yield


@lru_cache(maxsize=1)
def _compiler_context() -> ir.Context:
    """Return the MLIR context of this process: making one takes longer than lowering a kernel."""
    from xyntra.dialects import make_context

    return make_context()


def load_cached(cache: DiskCache | None, kernel: KernelSource) -> CompiledKernel | None:
    """Return the kernel as it is stored, or None."""
    data = cache.get(code_key(kernel)) if cache else None
    return CompiledKernel.from_bytes(data) if data is not None else None
