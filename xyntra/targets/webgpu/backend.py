# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles, loads and runs kernels on GPUs behind WebGPU."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xyntra.errors import DeviceError, MissingExtraError, UnsupportedError
from xyntra.passes.lower.gpu.device import ADAPTERS, WEBGPU, Feature, device_of
from xyntra.passes.targets.table import TargetName
from xyntra.targets.base import Backend, Device, WrongMachine
from xyntra.targets.compiler_key import compiler_key
from xyntra.targets.kernel import CompiledKernel, KernelSource
from xyntra.targets.program import Program
from xyntra.targets.webgpu.adapter import architecture_in

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir
    from xyntra.passes.lower.kernels.schedule_place import SchedulePlace
    from xyntra.plan.artifact import Artifact

__all__ = ["BACKEND"]

_TARGET = re.compile(r"webgpu(?::(?:(?P<ordinal>\d{1,4})|(?P<architecture>webgpu[a-z0-9-]*)))?")


class WebgpuBackend(Backend):
    """GPUs of any vendor. Code asks for what WebGPU promises, unless an adapter is named."""

    name: ClassVar[TargetName] = "webgpu"
    writes_inputs: ClassVar[bool] = False

    def locate(self, target: str) -> tuple[str, int]:
        """Read "webgpu", "webgpu:1" or "webgpu:webgpu-discrete".

        Code for "webgpu" runs on every adapter, that for an adapter on those like it.
        """
        found = _TARGET.fullmatch(target)
        architecture = WEBGPU.name if found is None else found["architecture"] or WEBGPU.name
        if found is None or architecture not in ADAPTERS:
            raise UnsupportedError(
                "target-unsupported",
                f"target '{target}' is not supported",
                hint="webgpu, webgpu:N with the number of an adapter (xyntra devices), or "
                + ", ".join(f"webgpu:{each}" for each in ADAPTERS),
            )
        if found["ordinal"] is None:
            return architecture, 0
        return self._architecture_of(int(found["ordinal"])), int(found["ordinal"])

    def _architecture_of(self, ordinal: int) -> str:
        """Return the architecture of an adapter; the portable one where it is not there."""
        from xyntra.targets.webgpu.adapter import adapters, architecture_of

        try:
            found = adapters()
        except (DeviceError, MissingExtraError):
            return WEBGPU.name
        return architecture_of(found[ordinal]) if ordinal < len(found) else WEBGPU.name

    def locate_saved(self, machine_key: str, target: str) -> tuple[str, int]:
        """Return the adapter that is named, or the first; it is asked for what the code needs."""
        architecture = architecture_in(machine_key)
        if architecture not in ADAPTERS or machine_key != self.machine_key(architecture):
            raise WrongMachine(f"this version of Xyntra runs {self.machine_key(WEBGPU.name)}")
        return architecture, self.locate(self.name if target == "auto" else target)[1]

    def device_name(self, ordinal: int) -> str:
        """Return "webgpu:0" for the first adapter."""
        return f"{self.name}:{ordinal}"

    def features(self, architecture: str) -> frozenset[Feature]:
        """Return what adapters of the architecture have beside what all have."""
        return device_of(architecture).features

    def tuning_key(self, ordinal: int, threads: int | None) -> str:
        """Return the adapter."""
        found = self.devices().get(self.device_name(ordinal))
        if found is None:
            raise DeviceError("no-device", f"there is no adapter {ordinal}")
        return f"webgpu {found.summary}"

    def machine_key(self, architecture: str) -> str:
        """Return the interface of kernels."""
        return f"{self.name};abi=1;{architecture}"

    def code_key(self, architecture: str) -> str:
        """Return the interface of kernels, and what generates code."""
        return f"{compiler_key()};{self.machine_key(architecture)}"

    def summary_of(self, machine_key: str) -> str:
        """Return the name of the target, and of an architecture that not every adapter has."""
        architecture = architecture_in(machine_key)
        return self.name if architecture == WEBGPU.name else f"{self.name} ({architecture})"

    def compile(self, module: ir.Module, kernel: KernelSource) -> CompiledKernel:
        """Compile a kernel to WGSL and its launches."""
        from xyntra.targets.webgpu.code.kernels import compile_image

        image = compile_image(module, kernel.architecture, kernel.level, kernel.assembly)
        schedules = tuple(each.schedule for each in image.launches)
        return CompiledKernel(image.to_bytes(), sum(image.scratch), schedules=schedules)

    def schedule_places(self, module: ir.Module, kernel: KernelSource) -> Sequence[SchedulePlace]:
        """Return the stages of a kernel."""
        from xyntra.passes.lower.gpu.emitters.schedule_places import schedule_places

        return schedule_places(module, device_of(kernel.architecture))

    def text_at(self, module: ir.Module, kernel: KernelSource, level: str) -> tuple[str, str]:
        """Return the module of a kernel, and its WGSL at that level."""
        from xyntra.targets.webgpu.code.kernels import kernel_text

        return kernel_text(module, kernel.architecture, kernel.level, level, kernel.assembly)

    def llvm_ir(self, module: ir.Module, kernel: KernelSource) -> str:
        """Refuse: there is none on the way to SPIR-V."""
        raise UnsupportedError("level-target", "kernels for WebGPU have no LLVM IR")

    def assembly_files(self, objects: Mapping[str, bytes | memoryview]) -> Mapping[str, str]:
        """Return WGSL, with the launches of a kernel in a comment at its head."""
        from xyntra.targets.webgpu.code.shader_image import ShaderImage

        found = {}
        for name, code in sorted(objects.items()):
            image = ShaderImage.from_bytes(code)
            if image.launches:
                head = [f"// {e.entry}: {e.grid} x {e.block} threads" for e in image.launches]
                found[name] = "\n".join([*head, image.wgsl])
        return found

    def site_files(
        self, artifact: Artifact, weights: Mapping[str, Any], title: str
    ) -> Iterator[tuple[str, bytes]]:
        """Yield a page, its runtime, WGSL, plan and weights."""
        from xyntra.targets.webgpu.web.site import site_files

        return site_files(artifact, weights, title)

    def program(
        self, artifact: Artifact, weights: Mapping[str, Any], ordinal: int, threads: int | None
    ) -> Program:
        """Return what runs the artifact on a GPU."""
        from xyntra.targets.webgpu.program import WebgpuProgram

        return WebgpuProgram(artifact, weights, ordinal)

    def devices(self) -> Mapping[str, Device]:
        """Return every adapter that wgpu finds; none where it is not installed."""
        from xyntra.targets.webgpu.adapter import adapters, describe

        try:
            found = adapters()
        except (DeviceError, MissingExtraError):
            return {}
        return {self.device_name(number): describe(each) for number, each in enumerate(found)}

    def no_device_reason(self) -> str:
        """Return that wgpu is missing, or finds nothing."""
        from xyntra.targets.webgpu.adapter import adapters

        try:
            adapters()
        except (DeviceError, MissingExtraError) as error:
            return error.message
        return "wgpu finds no adapter"


BACKEND = WebgpuBackend()
