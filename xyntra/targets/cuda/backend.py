# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles, loads and runs kernels on NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

from xyntra.passes.lower.gpu.device import Feature, device_of
from xyntra.passes.targets.table import TargetName
from xyntra.targets.base import Backend, Device, WrongMachine
from xyntra.targets.compiler_key import compiler_key
from xyntra.targets.cuda.code.architecture import CudaTarget, parse_target
from xyntra.targets.kernel import CompiledKernel, FreeSource, KernelSource
from xyntra.targets.program import Program

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir
    from xyntra.passes.lower.kernels.schedule_place import SchedulePlace
    from xyntra.plan.artifact import Artifact
    from xyntra.targets.array_pool import ArrayPool
    from xyntra.targets.launch_resources import LaunchResources

__all__ = ["BACKEND"]

_TIMED_NANOSECONDS, _TIMED_LAUNCHES = 100_000, 16


class CudaBackend(Backend):
    """NVIDIA GPUs: architectures are those of `passes/lower/gpu/device.py`."""

    name: ClassVar[TargetName] = "cuda"
    sizes_by_value: ClassVar[bool] = True
    keeps_arrays: ClassVar[bool] = True
    schedules_by_size: ClassVar[bool] = True

    def locate(self, target: str) -> tuple[str, int]:
        """Read a target, and ask the GPU for its architecture where none is named."""
        named = parse_target(target)
        if named.architecture:
            return named.architecture, named.ordinal
        from xyntra.targets.cuda.driver.device import cuda_device

        return cuda_device(named.ordinal).architecture, named.ordinal

    def locate_saved(self, machine_key: str, target: str) -> tuple[str, int]:
        """Return the architecture of the code, and the GPU that is named."""
        architecture = _architecture(machine_key)
        named = CudaTarget() if target == "auto" else parse_target(target)
        if named.architecture not in ("", architecture):
            raise WrongMachine(f"{target} was asked for")
        return architecture, named.ordinal

    def device_name(self, ordinal: int) -> str:
        """Return "cuda:0" for the first GPU."""
        return f"{self.name}:{ordinal}"

    def features(self, architecture: str) -> frozenset[Feature]:
        """Return what the architecture has."""
        return device_of(architecture).features

    def tuning_key(self, ordinal: int, threads: int | None) -> str:
        """Return the GPU's name and architecture."""
        from xyntra.targets.cuda.driver.device import cuda_device

        device = cuda_device(ordinal)
        return f"cuda {device.name}, {device.architecture}"

    def tuning_class(self, architecture: str, threads: int | None) -> str:
        """Return the architecture."""
        return f"{self.name}-{architecture}"

    def timed_launches(self, nanoseconds: float) -> int:
        """Return enough launches for what it costs to begin them not to count.

        Weights of many launches are also more than the second-level cache holds, as in a model.
        """
        return min(max(2, ceil(_TIMED_NANOSECONDS / max(nanoseconds, 1.0))), _TIMED_LAUNCHES)

    def machine_key(self, architecture: str) -> str:
        """Return the architecture and the interface of kernels."""
        return f"{self.name};abi=1;{architecture}"

    def code_key(self, architecture: str) -> str:
        """Return the architecture, and what generates code."""
        return f"{compiler_key()};{self.machine_key(architecture)}"

    def summary_of(self, machine_key: str) -> str:
        """Return the architecture."""
        return f"{self.name} ({_architecture(machine_key)})"

    def compile(self, module: ir.Module, kernel: KernelSource) -> CompiledKernel:
        """Compile a kernel to PTX and its launches."""
        from xyntra.targets.cuda.code.kernels import compile_image

        if kernel.free:
            return _compiled_free(kernel)
        image = compile_image(module, kernel.architecture, kernel.level, kernel.assembly)
        schedules = tuple(each.schedule for each in image.launches)
        return CompiledKernel(image.to_bytes(), sum(image.scratch), schedules=schedules)

    def free_variants(self) -> Sequence[str]:
        """Return the names of `xyntra.passes.lower.gpu.free_stages`."""
        from xyntra.passes.lower.gpu.free_stages import VARIANTS

        return VARIANTS

    def schedule_places(self, module: ir.Module, kernel: KernelSource) -> Sequence[SchedulePlace]:
        """Return the stages of a kernel."""
        from xyntra.passes.lower.gpu.emitters.schedule_places import schedule_places

        return schedule_places(module, device_of(kernel.architecture))

    def text_at(self, module: ir.Module, kernel: KernelSource, level: str) -> tuple[str, str]:
        """Return the module of a kernel, and its PTX at that level."""
        from xyntra.targets.cuda.code.kernels import kernel_text

        return kernel_text(module, kernel.architecture, kernel.level, level, kernel.assembly)

    def llvm_ir(self, module: ir.Module, kernel: KernelSource) -> str:
        """Return what is given to LLVM's NVPTX backend."""
        from xyntra.passes.lower.cuda import lower_kernel

        return lower_kernel(module, kernel.architecture, kernel.level).llvm_ir

    def assembly_files(self, objects: Mapping[str, bytes | memoryview]) -> Mapping[str, str]:
        """Return PTX, with the launches of a kernel in a comment at its head."""
        from xyntra.targets.cuda.code.kernel_image import KernelImage

        found = {}
        for name, code in sorted(objects.items()):
            image = KernelImage.from_bytes(code)
            if image.launches:
                head = [f"// {e.entry}: {e.grid} x {e.block} threads" for e in image.launches]
                found[name] = "\n".join([*head, image.ptx])
        return found

    def predicted_resources(self, artifact: Artifact) -> Sequence[LaunchResources]:
        """Return what follows from the registers and the shared memory that ptxas reports."""
        from xyntra.targets.cuda.code.resources import predicted_resources

        steps = [step for step in artifact.plan.steps if not step.once]
        return predicted_resources(steps, artifact.objects, _architecture(artifact.target))

    def call_code(self) -> str:
        """Return the LLVM IR of Python builtins that start calls."""
        from xyntra.targets.cuda.native.call_code import CALL_CODE

        return CALL_CODE

    def compile_call_code(self) -> bytes:
        """Return these builtins as data."""
        from xyntra.targets.cuda.native.call_code import compile_call_code

        return compile_call_code()

    def program(
        self, artifact: Artifact, weights: Mapping[str, Any], ordinal: int, threads: int | None
    ) -> Program:
        """Return what runs the artifact on a GPU."""
        from xyntra.targets.cuda.program import CudaProgram

        if artifact.plan.free is not None:
            from xyntra.targets.cuda.free_program import FreeCudaProgram

            return FreeCudaProgram(artifact, weights, ordinal)
        return CudaProgram(artifact, weights, ordinal)

    def place(self, array: Any, ordinal: int) -> Any:
        """Return a `DeviceArray` with the elements of an array."""
        from xyntra.targets.cuda.arrays.placing import placed
        from xyntra.targets.cuda.driver.gpu import gpu

        return placed(array, gpu(ordinal))

    def pool(self, ordinal: int) -> ArrayPool:
        """Return the memory that arrays on a GPU take."""
        from xyntra.targets.cuda.driver.gpu import gpu

        return gpu(ordinal).blocks

    def devices(self) -> Mapping[str, Device]:
        """Return every GPU that code can be generated for; none without a driver."""
        from xyntra.targets.cuda.driver.device import cuda_devices

        return {self.device_name(each.ordinal): each for each in cuda_devices()}

    def no_device_reason(self) -> str:
        """Return what the driver says, or that it is missing."""
        from xyntra.targets.cuda.driver.device import no_device_reason

        return no_device_reason()


def _compiled_free(kernel: KernelSource) -> CompiledKernel:
    """Compile a kernel whose sizes are told when it is launched."""
    from xyntra.dialects.mlir import ir
    from xyntra.dialects.sizes import ProductLimit
    from xyntra.passes.lower.kernels.told_sizes import Symbols
    from xyntra.targets.cuda.code.kernels import compile_free_image

    free = FreeSource.from_json(kernel.free)
    modules = [ir.Module.parse(text) for text in free.texts]
    limit = ProductLimit(*free.limit) if free.limit else None
    symbols = Symbols(free.samples, free.hints, free.ranges, free.definitions, limit)
    image, guards = compile_free_image(modules, symbols, kernel.architecture, free.variant)
    schedules = tuple(each.schedule for each in image.launches)
    sizes = tuple(dict.fromkeys(text for _, text in image.told))
    return CompiledKernel(
        image.to_bytes(), sum(image.scratch), schedules=schedules, sizes=sizes, guards=guards
    )


def _architecture(machine_key: str) -> str:
    return machine_key.rpartition(";")[2]


BACKEND = CudaBackend()
