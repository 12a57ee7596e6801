# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks the driver what the launches of a call occupy of a multiprocessor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xyntra.plan.plan import Step
from xyntra.targets.cuda.code.kernel_image import ImageLaunch
from xyntra.targets.cuda.driver.driver import checked, driver
from xyntra.targets.cuda.graphs.launches import LoadedKernel
from xyntra.targets.launch_resources import LaunchResources

_WARP = 32


def launch_resources(
    steps: Sequence[Step], kernels: Mapping[str, LoadedKernel], ordinal: int
) -> list[LaunchResources]:
    """Return what every launch of a call occupies, in order.

    Args:
        steps: what a call runs.
        kernels: their code, loaded onto the current GPU.
        ordinal: the GPU.
    """
    cuda = driver()
    names = cuda.CUdevice_attribute
    asked = (
        names.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        names.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    )
    threads, processors = (
        int(checked(cuda.cuDeviceGetAttribute(each, ordinal), "asking a GPU")) for each in asked
    )
    found = []
    for number, step in enumerate(steps):
        kernel = kernels[step.kernel]
        for function, launch in zip(kernel.functions, kernel.image.launches, strict=True):
            found.append(_resources(number, function, launch, threads, processors))
    return found


def _resources(
    kernel: int, function: Any, launch: ImageLaunch, threads: int, processors: int
) -> LaunchResources:
    cuda = driver()
    names = cuda.CUfunction_attribute

    def ask(attribute: Any) -> int:
        result = cuda.cuFuncGetAttribute(attribute, function)
        return int(checked(result, "asking a kernel", launch.entry))

    result = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, launch.block, launch.shared)
    resident = int(checked(result, "asking a kernel", launch.entry))
    warps = -(-launch.block // _WARP)
    return LaunchResources(
        kernel=kernel,
        entry=launch.entry,
        grid=launch.grid,
        block=launch.block,
        cluster=launch.cluster,
        registers=ask(names.CU_FUNC_ATTRIBUTE_NUM_REGS),
        shared=ask(names.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + launch.shared,
        spilled=ask(names.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        resident=resident,
        occupancy=resident * warps * _WARP / threads,
        waves=launch.grid / max(resident * processors, 1),
        overlaps=launch.programmatic,
    )
