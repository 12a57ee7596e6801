# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks the driver what the launches of a call occupy of a multiprocessor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xyntra.passes.lower.gpu.device import GpuDevice, device_of
from xyntra.plan.plan import Step
from xyntra.targets.cuda.code.kernel_image import ImageLaunch
from xyntra.targets.cuda.code.resources import EntryUsage, resources_of
from xyntra.targets.cuda.driver.device import cuda_device
from xyntra.targets.cuda.driver.driver import checked, driver
from xyntra.targets.cuda.graphs.launches import LoadedKernel
from xyntra.targets.launch_resources import LaunchResources


def launch_resources(
    steps: Sequence[Step], kernels: Mapping[str, LoadedKernel], ordinal: int
) -> list[LaunchResources]:
    """Return what every launch of a call occupies, in order.

    Args:
        steps: what a call runs.
        kernels: their code, loaded onto the current GPU.
        ordinal: the GPU.
    """
    gpu = cuda_device(ordinal)
    device = replace(device_of(gpu.architecture), multiprocessors=gpu.cores)
    found = []
    for number, step in enumerate(steps):
        kernel = kernels[step.kernel]
        for function, launch in zip(kernel.functions, kernel.image.launches, strict=True):
            found.append(_resources(number, function, launch, device))
    return found


def _resources(
    kernel: int, function: Any, launch: ImageLaunch, device: GpuDevice
) -> LaunchResources:
    """Return what the driver says; what limits the number of blocks is a conclusion from it."""
    cuda = driver()
    names = cuda.CUfunction_attribute

    def ask(attribute: Any) -> int:
        result = cuda.cuFuncGetAttribute(attribute, function)
        return int(checked(result, "asking a kernel", launch.entry))

    usage = EntryUsage(
        ask(names.CU_FUNC_ATTRIBUTE_NUM_REGS),
        ask(names.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
        ask(names.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
    )
    expected = resources_of(kernel, launch, usage, device)
    result = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, launch.block, launch.shared)
    resident = int(checked(result, "asking a kernel", launch.entry))
    warps = -(-launch.block // device.subgroup)
    return replace(
        expected,
        resident=resident,
        occupancy=resident * warps * device.subgroup / device.threads,
        waves=launch.grid / max(resident * device.multiprocessors, 1),
        limits=expected.limits if resident == expected.resident else ("driver",),
    )
