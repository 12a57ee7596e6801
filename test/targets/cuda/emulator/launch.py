# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the launches of a compiled kernel, or of a whole compiled model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache

import numpy as np

from emulator import arithmetic, barriers, bulk, copies, moves, warp, wgmma  # noqa: F401
from emulator.errors import require
from emulator.machine import Launch, Machine
from emulator.memory import POISON, GlobalMemory
from emulator.parse import Module, parse
from emulator.types import Array
from xyntra.plan.artifact import Artifact
from xyntra.plan.plan import numpy_dtype
from xyntra.targets.cuda.code.kernel_image import KernelImage
from xyntra.targets.cuda.sized_images import sized_images

__all__ = ["run_artifact", "run_image", "run_sized"]

_THREADS = 4096
"""That are interpreted at once."""


def run_image(image: KernelImage, arrays: Sequence[Array], lasting: Set[int] | None = None) -> int:
    """Run all launches of a kernel.

    Args:
        image: the kernel.
        arrays: bytes of what it reads and writes, in place.
        lasting: numbers of the arrays that nobody has written since the launch before the one
            ahead, if that is known: only these may be touched before the launch ahead has ended.

    Returns:
        How many instructions were interpreted, each for many threads.

    Raises:
        EmulatorError: it did what it must not do.
    """
    module = _parsed(image.ptx)
    scratch = [np.full(nbytes, POISON, np.uint8) for nbytes in image.scratch]
    given = [*arrays, *scratch]
    constants = [np.frombuffer(each, np.uint8) for each in module.constants.values()]
    count = len(given)
    if lasting is not None:
        lasting |= set(range(count, count + len(constants)))
    memory = GlobalMemory([*given, *constants], lasting)
    return sum(_run(Launch(module, shape, memory, count)) for shape in image.launches)


@lru_cache(maxsize=8)
def _parsed(ptx: str) -> Module:
    return parse(ptx)


def _run(launch: Launch) -> int:
    shape = launch.shape
    require(launch.entry.threads == shape.block, "a launch of another number of threads")
    step = max(_THREADS // (shape.block * shape.cluster), 1) * shape.cluster
    executed = 0
    for first in range(0, shape.grid, step):
        machine = Machine(launch, range(first, min(first + step, shape.grid)))
        machine.run()
        executed += machine.executed
    return executed


def run_artifact(
    artifact: Artifact, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> list[Array]:
    """Run a compiled model.

    Args:
        artifact: the model.
        inputs: in order.
        weights: by name.

    Returns:
        Its outputs, then the flags of its requirements.

    Raises:
        EmulatorError: a kernel did what it must not do.
    """
    plan = artifact.plan
    buffers = [np.full(buffer.nbytes, POISON, np.uint8) for buffer in plan.buffers]
    for index, buffer in enumerate(plan.buffers):
        if buffer.kind == "constant":
            buffers[index] = np.frombuffer(buffer.data, np.uint8)
        elif buffer.kind == "parameter":
            buffers[index] = _bytes(weights[buffer.name])
    for port, array in zip(plan.inputs, inputs, strict=True):
        buffers[port.buffer][:] = _bytes(array)
    for index, buffer in enumerate(plan.buffers):
        if buffer.kind == "part":
            buffers[index] = buffers[buffer.whole][buffer.offset :][: buffer.nbytes]
    images = {name: KernelImage.from_bytes(code) for name, code in artifact.objects.items()}
    for each in plan.steps:
        arguments = plan.argument_buffers(each)
        kinds = ("parameter", "constant") if each.once else ("parameter", "constant", "prepared")
        lasting = {n for n, index in enumerate(arguments) if plan.buffers[index].kind in kinds}
        run_image(images[each.kernel], [buffers[index] for index in arguments], lasting)
    ports = (*plan.outputs, *(each.flag for each in plan.requirements))
    return [
        buffers[port.buffer].view(numpy_dtype(port.dtype)).reshape(port.shape) for port in ports
    ]


def run_sized(
    artifact: Artifact, inputs: Sequence[Array], weights: Mapping[str, Array], **sizes: int
) -> list[Array]:
    """Run a model with free dimensions at sizes of its symbols, as `run_artifact` does."""
    plan, free = artifact.plan, artifact.plan.free
    require(free is not None, "no dimension is free")
    images = {name: KernelImage.from_bytes(code) for name, code in artifact.objects.items()}
    static, sized = sized_images(plan, free, images, sizes)
    objects = {name: image.to_bytes() for name, image in sized.items()}
    return run_artifact(replace(artifact, plan=static, objects=objects), inputs, weights)


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
