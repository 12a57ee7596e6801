# SPDX-License-Identifier: MIT OR Apache-2.0
"""Predicts what launches occupy of a multiprocessor, from what ptxas says of their code."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from xyntra.errors import DeviceError
from xyntra.passes.lower.gpu.device import GpuDevice, device_of
from xyntra.plan.plan import Step
from xyntra.targets.cuda.code.cubins import assembler
from xyntra.targets.cuda.code.kernel_image import ImageLaunch, KernelImage
from xyntra.targets.launch_resources import LaunchResources

__all__ = ["EntryUsage", "entry_usages", "predicted_resources", "resources_of"]

_SECONDS = 120.0  # for one kernel
_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_SPILLED = re.compile(r"(\d+) bytes stack frame")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class EntryUsage:
    """What the code of an entry point uses.

    Attributes:
        registers: of a thread.
        shared: bytes of shared memory that the code declares.
        stack: bytes of a thread's own memory: registers that are spilled, and arrays.
    """

    registers: int
    shared: int
    stack: int


def predicted_resources(
    steps: Sequence[Step], objects: Mapping[str, bytes | memoryview], architecture: str
) -> list[LaunchResources]:
    """Return what every launch of a call would occupy of a GPU that need not be there, in order.

    Args:
        steps: what a call runs.
        objects: compiled kernels by name.
        architecture: such as "sm_90a"; the GPU is the one that the table of devices has for it.

    Raises:
        DeviceError: `no-assembler`: there is no ptxas, or it refused a kernel.
    """
    device = device_of(architecture)
    images = {step.kernel: KernelImage.from_bytes(objects[step.kernel]) for step in steps}
    usages = _usages({name: image.ptx for name, image in images.items()}, architecture)
    return [
        resources_of(number, launch, usages[step.kernel][launch.entry], device)
        for number, step in enumerate(steps)
        for launch in images[step.kernel].launches
    ]


def resources_of(
    kernel: int, launch: ImageLaunch, usage: EntryUsage, device: GpuDevice
) -> LaunchResources:
    """Return what a launch occupies.

    Args:
        kernel: number of its kernel among those of a call.
        launch: as the kernel states it.
        usage: of its code.
        device: where it runs.
    """
    shared = usage.shared + launch.shared
    limits = device.block_limits(launch.block, shared, usage.registers)
    resident = min(limits.values())
    warps = -(-launch.block // device.subgroup)
    room = resident * device.multiprocessors
    return LaunchResources(
        kernel=kernel,
        entry=launch.entry,
        grid=launch.grid,
        block=launch.block,
        cluster=launch.cluster,
        registers=usage.registers,
        shared=shared,
        spilled=usage.stack,
        resident=resident,
        occupancy=resident * warps * device.subgroup / device.threads,
        waves=launch.grid / max(room, 1),
        overlaps=launch.programmatic,
        limits=tuple(name for name, blocks in limits.items() if blocks == resident),
    )


def _usages(ptx: Mapping[str, str], architecture: str) -> dict[str, dict[str, EntryUsage]]:
    tool = assembler()
    if tool is None:
        raise DeviceError(
            "no-assembler",
            "the registers of kernels are not known without ptxas",
            hint="pip install nvidia-cuda-nvcc, or put ptxas on PATH",
        )
    with ThreadPoolExecutor(os.cpu_count() or 1, "xyntra-assemble") as threads:
        logs = threads.map(lambda code: _log(tool, code, architecture), ptx.values())
        return {name: entry_usages(log) for name, log in zip(ptx, logs, strict=True)}


def _log(tool: Path, ptx: str, architecture: str) -> str:
    if not ptx:
        return ""
    with TemporaryDirectory(prefix="xyntra-") as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx)
        command = [str(tool), "-v", f"-arch={architecture}", str(source), "-o", os.devnull]
        try:
            done = subprocess.run(
                command, capture_output=True, check=True, timeout=_SECONDS, text=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            said = str(getattr(error, "stderr", None) or error).strip()
            cause = said.partition("\n")[0]
            raise DeviceError("no-assembler", "ptxas refused a kernel", cause=cause) from None
    return done.stdout + done.stderr


def entry_usages(log: str) -> dict[str, EntryUsage]:
    """Return what entry points use by name, read from what `ptxas -v` has said."""
    _, *parts = _ENTRY.split(log)
    return {
        name: EntryUsage(_number(_REGISTERS, said), _number(_SHARED, said), _number(_SPILLED, said))
        for name, said in zip(parts[::2], parts[1::2], strict=True)
    }


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found[1]) if found else 0
