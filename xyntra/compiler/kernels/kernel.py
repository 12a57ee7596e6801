# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel, from the text of its function to machine code."""

from __future__ import annotations

import gc
import json
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
    from xyntra.passes.lower.cpu import LoweringOptions

SCHEDULED = {True: "xyntra.stage", False: "linalg.generic"}
"""What schedules stand on, at the level of stages: on GPUs, and on processors."""
_HEADER = struct.Struct("<QQQQ")
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
        level: the level that `mlir` is at.
        ptx: the kernel's PTX, at the level "ptx".
        lines: of its stages, or nests, in the user's text, in order, for messages; at the level
            "stages".
    """

    name: str
    mlir: str
    nodes: tuple[str, ...] = ()
    opt_level: int = 2
    architecture: str = ""
    level: str = "kernels"
    ptx: str = ""
    lines: tuple[int, ...] = ()

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
        schedules: what the emitters of its launches, or nests, were told, in order and in words.
    """

    code: bytes
    scratch_bytes: int
    private_bytes: int = 0
    prepared_bytes: int = 0
    schedules: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads."""
        sizes = self.scratch_bytes, self.private_bytes, self.prepared_bytes
        schedules = json.dumps(self.schedules).encode()
        return _HEADER.pack(*sizes, len(schedules)) + schedules + self.code

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> CompiledKernel:
        """Rebuild the kernel that `to_bytes` described."""
        scratch, private, prepared, length = _HEADER.unpack_from(data)
        start = _HEADER.size + length
        schedules = json.loads(bytes(data[_HEADER.size : start]))
        return cls(bytes(data[start:]), scratch, private, prepared, tuple(schedules))


def kernel_key(kernel: KernelSource) -> str:
    """Return what equal kernels have in common, for one compiler and one processor."""
    return _key(kernel, kernel.architecture)


def code_key(kernel: KernelSource) -> str:
    """Return the cache key of a kernel's machine code."""
    from xyntra.targets.cpu.codegen import compiler_key, target_key

    target = f"{compiler_key()};{kernel.architecture}" if kernel.architecture else target_key()
    return _key(kernel, target)


def _key(kernel: KernelSource, target: str) -> str:
    return cache_key("kernel", kernel.mlir, target, str(kernel.opt_level), kernel.level, kernel.ptx)


def compile_kernel(kernel: KernelSource) -> CompiledKernel:
    """Compile in this process.

    Raises:
        CompileError: the text is not a kernel, or a library below failed on it.
    """
    if kernel.name == CALLS:
        from xyntra.targets.cuda.native.call_code import compile_call_code

        return CompiledKernel(compile_call_code(), 0)
    with compiler_context():
        module = parse_kernel(kernel)
        return _for_gpu(module, kernel) if kernel.architecture else _for_cpu(module, kernel)


def parse_kernel(kernel: KernelSource) -> ir.Module:
    """Return the module of a kernel in the current context, its stages where the user has them.

    Raises:
        CompileError: `kernel-text`, its text does not parse.
    """
    from xyntra.dialects.mlir import ir

    try:
        module = ir.Module.parse(kernel.mlir)
        if kernel.lines:
            _move_stages(module, SCHEDULED[bool(kernel.architecture)], kernel.lines)
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


def host_options() -> LoweringOptions:
    """Return what code for this processor is made for."""
    from xyntra.passes.lower.cpu import LoweringOptions
    from xyntra.targets.cpu.device import host_device

    device = host_device()
    return LoweringOptions(
        device.vector_bits,
        device.vector_registers,
        device.dot_products,
        cache_bytes=device.l3_bytes * 3 // 4,
    )


def _for_cpu(module: ir.Module, kernel: KernelSource) -> CompiledKernel:
    from xyntra.passes.lower.cpu import from_nests, lower_kernel
    from xyntra.targets.cpu.codegen import compile_object

    lower = lower_kernel if kernel.level == "kernels" else from_nests
    lowered = lower(module, host_options())
    code = compile_object(
        lowered.llvm_ir,
        opt_level=kernel.opt_level,
        vectorize=lowered.plain_loops,
        is_tiled=lowered.is_tiled,
        reduce_strength=not lowered.has_attention,
    )
    sizes = lowered.scratch_bytes, lowered.private_bytes, lowered.prepared_bytes
    return CompiledKernel(code, *sizes, lowered.schedules)


def _for_gpu(module: ir.Module, kernel: KernelSource) -> CompiledKernel:
    from xyntra.targets.cuda.code.kernels import compile_image

    image = compile_image(module, kernel.architecture, kernel.level, kernel.ptx)
    schedules = tuple(each.schedule for each in image.launches)
    return CompiledKernel(image.to_bytes(), sum(image.scratch), schedules=schedules)


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
def compiler_context() -> ir.Context:
    """Return the MLIR context of this process: making one takes longer than lowering a kernel."""
    from xyntra.dialects import make_context

    return make_context()


def load_cached(cache: DiskCache | None, kernel: KernelSource) -> CompiledKernel | None:
    """Return the kernel as it is stored, or None."""
    data = cache.get(code_key(kernel)) if cache else None
    return CompiledKernel.from_bytes(data) if data is not None else None
