# SPDX-License-Identifier: MIT OR Apache-2.0
"""Binds the launches of a plan to the buffers of a GPU, before there is one.

Weights, constants, inputs and outputs have a buffer each. Temporaries and scratch memory share
buffers by their lifetimes. Both the runtime on wgpu and exported web pages follow what is
decided here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from xyntra.errors import CompileError
from xyntra.plan.artifact import Artifact
from xyntra.plan.memory import Lifetime
from xyntra.plan.plan import Plan
from xyntra.targets.webgpu.buffer_pool import share_buffers
from xyntra.targets.webgpu.code.shader_image import ShaderImage, ShaderLaunch

__all__ = [
    "BoundPlan",
    "BoundShader",
    "BufferCopy",
    "GpuBuffer",
    "bind_plan",
    "images_of",
    "places",
]

WORD = 4
"""Bytes of a word: buffers, and what is copied into them, have whole ones."""


@dataclass(frozen=True)
class GpuBuffer:
    """Memory of a GPU.

    Attributes:
        nbytes: whole words, one at least.
        what: it holds, for messages.
        source: the plan's buffer that it is filled from when the model is loaded; None for none.
    """

    nbytes: int
    what: str
    source: int | None = None


@dataclass(frozen=True)
class BufferCopy:
    """A buffer that is copied into another one, ahead of a launch.

    Attributes:
        source, destination: numbers of buffers.
        offset: of the first byte in the destination.
        nbytes: how many are copied.
    """

    source: int
    destination: int
    offset: int
    nbytes: int


@dataclass(frozen=True)
class BoundShader:
    """A launch with everything that it is given.

    Attributes:
        launch: of the kernel.
        buffers: numbers of the buffers that it is bound to, in order.
        ranges: first byte, and bytes, of each of these that are bound.
        copies: made ahead of it.
    """

    launch: ShaderLaunch
    buffers: tuple[int, ...]
    ranges: tuple[tuple[int, int], ...]
    copies: tuple[BufferCopy, ...] = ()


@dataclass(frozen=True)
class BoundPlan:
    """What a GPU needs to run a plan.

    Attributes:
        buffers: all memory.
        numbers: of the buffer that holds each buffer of the plan, at its beginning.
        steps: the launches of every step of the plan.
    """

    buffers: tuple[GpuBuffer, ...]
    numbers: Mapping[int, int]
    steps: tuple[tuple[BoundShader, ...], ...]


def bind_plan(plan: Plan, images: Mapping[str, ShaderImage]) -> BoundPlan:
    """Decide which buffer each launch is bound to.

    Args:
        plan: of the model.
        images: its kernels by name.

    Raises:
        CompileError: a kernel is given what it does not have.
    """
    if any(buffer.kind == "part" for buffer in plan.buffers):
        raise CompileError(
            "webgpu-code",
            "a kernel is called with a part of a buffer",
            hint="put the slice into the kernel that reads it",
        )
    return _Binder(plan, images).bound()


def images_of(artifact: Artifact) -> dict[str, ShaderImage]:
    """Return the kernels of an artifact by name.

    Raises:
        CompileError: the code of one is damaged.
    """
    found = {}
    for name, code in artifact.objects.items():
        try:
            found[name] = ShaderImage.from_bytes(code)
        except (KeyError, TypeError, ValueError) as error:
            message = f"the code of kernel '{name}' is damaged"
            raise CompileError("webgpu-code", message, cause=str(error)) from error
    return found


def places(plan: Plan) -> dict[str, str]:
    """Return, for every kernel, its name and the source nodes that it holds."""
    nodes: dict[str, list[str]] = {}
    for step in plan.steps:
        nodes.setdefault(step.kernel, []).extend(step.nodes)
    return {
        name: f"kernel '{name}' ({', '.join(dict.fromkeys(found)) or 'no nodes'})"
        for name, found in nodes.items()
    }


def whole_words(nbytes: int) -> int:
    """Return the bytes of whole words, one at least."""
    return max(WORD, -(-nbytes // WORD) * WORD)


class _Binder:
    """Collects buffers while launches are bound."""

    def __init__(self, plan: Plan, images: Mapping[str, ShaderImage]) -> None:
        self._plan, self._images = plan, images
        self._places = places(plan)
        self._buffers: list[GpuBuffer] = []
        self._numbers: dict[Hashable, int] = {}

    def bound(self) -> BoundPlan:
        """Return the whole."""
        for number, buffer in enumerate(self._plan.buffers):
            if buffer.kind != "temporary":
                source = number if buffer.kind in ("constant", "parameter") else None
                self._numbers["buffer", number] = self._add(
                    buffer.nbytes, buffer.name or "a tensor", source
                )
        pool = share_buffers(_lives(self._plan, self._images))
        first = len(self._buffers)
        for nbytes in pool.sizes:
            self._add(nbytes, "a temporary tensor")
        self._numbers.update({key: first + number for key, number in pool.numbers.items()})
        steps = tuple(self._step(number) for number in range(len(self._plan.steps)))
        held = {
            number: self._numbers["buffer", number]
            for number in range(len(self._plan.buffers))
            if ("buffer", number) in self._numbers
        }
        return BoundPlan(tuple(self._buffers), held, steps)

    def _add(self, nbytes: int, what: str, source: int | None = None) -> int:
        self._buffers.append(GpuBuffer(whole_words(nbytes), what, source))
        return len(self._buffers) - 1

    def _step(self, number: int) -> tuple[BoundShader, ...]:
        step = self._plan.steps[number]
        image = self._images[step.kernel]
        keys: list[Hashable] = [("buffer", each) for each in self._plan.argument_buffers(step)]
        keys += [("scratch", number, slot) for slot in range(len(image.scratch))]
        given = [self._numbers[key] for key in keys]
        sizes = [self._plan.buffers[each].nbytes for each in self._plan.argument_buffers(step)]
        sizes = [whole_words(each) for each in (*sizes, *image.scratch)]
        return tuple(self._bound(each, given, sizes, step.kernel) for each in image.launches)

    def _bound(
        self, launch: ShaderLaunch, given: Sequence[int], sizes: Sequence[int], kernel: str
    ) -> BoundShader:
        pointers = [*launch.buffers, *(pointer for pointer, _ in launch.packed)]
        starts = [start for _, start in launch.packed]
        if any(not 0 <= each < len(given) for each in pointers) or min(starts, default=0) < 0:
            raise CompileError(
                "webgpu-code",
                "a kernel is given what it does not have",
                place=self._places[kernel],
            )
        copies = self._copies(launch, given)
        whole = tuple(copy.destination for copy in copies[:1])
        ranges = _ranges(launch, sizes) + [(0, self._buffers[each].nbytes) for each in whole]
        buffers = (*(given[each] for each in launch.buffers), *whole)
        return BoundShader(launch, buffers, tuple(ranges), copies)

    def _copies(self, launch: ShaderLaunch, given: Sequence[int]) -> tuple[BufferCopy, ...]:
        """Add the buffer that a launch reads several from; returns how it is filled."""
        if not launch.packed:
            return ()
        sources = [given[pointer] for pointer, _ in launch.packed]
        sizes = [self._buffers[source].nbytes for source in sources]
        starts = [WORD * start for _, start in launch.packed]
        ends = [*starts[1:], starts[-1] + sizes[-1]]
        whole = self._add(ends[-1], "a copy of several tensors")
        parts = zip(sources, sizes, starts, ends, strict=True)
        return tuple(
            BufferCopy(source, whole, start, min(end - start, size))
            for source, size, start, end in parts
        )


def _ranges(launch: ShaderLaunch, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return first byte and bytes of what a launch is bound to: a part ends where the next begins.

    Args:
        launch: of the kernel.
        sizes: bytes of all that the kernel is given.
    """
    starts = launch.starts or (0,) * len(launch.buffers)
    bound = list(zip(launch.buffers, starts, strict=True))
    found = []
    for (pointer, start), (following, end) in zip(bound, [*bound[1:], (-1, 0)], strict=True):
        is_part = following == pointer and end > start
        found.append((start, max(WORD, (end if is_part else sizes[pointer]) - start)))
    return found


def _lives(plan: Plan, images: Mapping[str, ShaderImage]) -> dict[Hashable, Lifetime]:
    """Return what shares buffers, by ("buffer", number) and ("scratch", step, slot)."""
    lives: dict[Hashable, Lifetime] = {}
    uses: dict[int, list[int]] = {}
    for index, step in enumerate(plan.steps):
        for buffer in (*step.inputs, *step.outputs):
            if plan.buffers[buffer].kind == "temporary":
                uses.setdefault(buffer, []).append(index)
        for slot, nbytes in enumerate(images[step.kernel].scratch):
            lives["scratch", index, slot] = Lifetime(nbytes, index, index)
    for buffer, steps in uses.items():
        lives["buffer", buffer] = Lifetime(plan.buffers[buffer].nbytes, steps[0], steps[-1])
    return lives
