# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles, loads and runs kernels on the processor of this process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xyntra.errors import UnsupportedError
from xyntra.passes.targets.table import TargetName
from xyntra.targets.base import Backend, Device, WrongMachine
from xyntra.targets.kernel import CompiledKernel, FreeSource, KernelSource
from xyntra.targets.program import Program

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir
    from xyntra.passes.lower.cpu import LoweredKernel, LoweringOptions
    from xyntra.passes.lower.cpu.free_kernel import FreeKernel
    from xyntra.passes.lower.kernels.schedule_place import SchedulePlace
    from xyntra.plan.artifact import Artifact

__all__ = ["BACKEND"]


class CpuBackend(Backend):
    """The processor of this process: its architecture is ""."""

    name: ClassVar[TargetName] = "cpu"

    def locate(self, target: str) -> tuple[str, int]:
        """Read "cpu" or "auto"."""
        if target not in ("auto", self.name):
            message = f"target '{target}' is not supported"
            raise UnsupportedError("target-unsupported", message, hint="cpu has no numbers")
        return "", 0

    def locate_saved(self, machine_key: str, target: str) -> tuple[str, int]:
        """Return this processor, if the code is for it."""
        if machine_key != self.machine_key(""):
            raise WrongMachine(f"this is {self.machine_key('')}")
        return self.locate(target)

    def tuning_key(self, ordinal: int, threads: int | None) -> str:
        """Return the processor, its caches and the number of threads."""
        from xyntra.targets.cpu.device import host_device
        from xyntra.targets.cpu.threads.pool import default_threads

        device = host_device()
        caches = f"{device.l1_bytes}/{device.l2_bytes}/{device.l3_bytes}"
        features = hashlib.sha256(device.features.encode()).hexdigest()[:12]
        used = threads or default_threads()
        return f"cpu {device.name} {features}, caches {caches}, {used} threads"

    def tuning_class(self, architecture: str, threads: int | None) -> str:
        """Return the width of vectors and the number of threads."""
        from xyntra.targets.cpu.device import host_device
        from xyntra.targets.cpu.threads.cores import allowed_cores

        used = threads or allowed_cores()
        return f"{self.name}-{host_device().vector_bits}-bits-{used}-threads"

    def swept_bytes(self, weights: int) -> int:
        """Return the size of the last cache, where the weights do not fit there."""
        from xyntra.targets.cpu.device import host_device

        last = host_device().l3_bytes
        return last if weights > last else 0

    def machine_key(self, architecture: str) -> str:
        """Return the processor and the interface of kernels."""
        from xyntra.targets.cpu.codegen import host_key

        return host_key()

    def code_key(self, architecture: str) -> str:
        """Return the processor, and what generates code."""
        from xyntra.targets.cpu.codegen import target_key

        return target_key()

    def summary_of(self, machine_key: str) -> str:
        """Return the model of the processor."""
        names = dict(part.partition("=")[::2] for part in machine_key.split(";"))
        return f"cpu ({names.get('cpu', 'unknown')})"

    def compile(self, module: ir.Module, kernel: KernelSource) -> CompiledKernel:
        """Compile a kernel to an object file."""
        from xyntra.targets.cpu.codegen import compile_object

        free = _lowered_free(kernel) if kernel.free else None
        lowered = free.lowered if free else _lowered(module, kernel, _host_options())
        code = compile_object(
            lowered.llvm_ir,
            opt_level=kernel.opt_level,
            vectorize=lowered.plain_loops,
            is_tiled=lowered.is_tiled,
            reduce_strength=not lowered.has_attention,
        )
        sizes = lowered.scratch_bytes, lowered.private_bytes, lowered.prepared_bytes
        told = (free.sizes, free.guards) if free else ()
        return CompiledKernel(code, *sizes, lowered.schedules, *told)

    def schedule_places(self, module: ir.Module, kernel: KernelSource) -> Sequence[SchedulePlace]:
        """Return the loop nests of a kernel."""
        from xyntra.passes.lower.cpu.schedule_places import schedule_places

        return schedule_places(module, _host_options())

    def text_at(self, module: ir.Module, kernel: KernelSource, level: str) -> tuple[str, str]:
        """Return a kernel as loop nests with schedules."""
        from xyntra.passes.lower.cpu import to_nests

        lowered = module if kernel.level == level else to_nests(module, _host_options())
        return lowered.operation.get_asm(use_local_scope=True), ""

    def free_variants(self) -> Sequence[str]:
        """Return the usual schedules, and those for what they exclude."""
        from xyntra.passes.lower.cpu.free_variants import VARIANTS

        return [each.name for each in VARIANTS]

    def llvm_ir(self, module: ir.Module, kernel: KernelSource) -> str:
        """Return what is given to LLVM."""
        return _lowered(module, kernel).llvm_ir

    def late_modules(self) -> Sequence[str]:
        """Return the emitters that only some kernels have."""
        from xyntra.passes.lower.cpu import EMITTERS

        return EMITTERS

    def prepare(self, threads: int | None) -> None:
        """Compile what all programs of this process share."""
        from xyntra.targets.cpu.program import load_native_code

        load_native_code(threads)

    def program(
        self, artifact: Artifact, weights: Mapping[str, Any], ordinal: int, threads: int | None
    ) -> Program:
        """Load object files into this process."""
        if artifact.plan.free is not None:
            from xyntra.targets.cpu.free_program import FreeProgram

            return FreeProgram(artifact, weights, threads)
        from xyntra.targets.cpu.program import CpuProgram

        return CpuProgram(artifact, weights, threads)

    def devices(self) -> Mapping[str, Device]:
        """Return the processor of this process."""
        from xyntra.targets.cpu.device import host_device

        return {self.name: host_device()}


def _lowered(
    module: ir.Module, kernel: KernelSource, options: LoweringOptions | None = None
) -> LoweredKernel:
    from xyntra.passes.lower.cpu import from_nests, lower_kernel

    lower = lower_kernel if kernel.level == "kernels" else from_nests
    return lower(module, options) if options else lower(module)


def _lowered_free(kernel: KernelSource) -> FreeKernel:
    """Lower a kernel whose sizes are told when it runs."""
    from xyntra.dialects.mlir import ir
    from xyntra.passes.lower.cpu.free_kernel import lower_free_kernel
    from xyntra.passes.lower.cpu.free_variants import variant_named
    from xyntra.passes.lower.kernels.told_sizes import Symbols

    free = FreeSource.from_json(kernel.free)
    variant = variant_named(free.variant)
    modules = [variant.prepared(ir.Module.parse(text)) for text in free.texts]
    symbols = Symbols(free.samples, free.hints, free.ranges, free.definitions)
    return lower_free_kernel(modules, symbols, _host_options(), variant)


def _host_options() -> LoweringOptions:
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


BACKEND = CpuBackend()
