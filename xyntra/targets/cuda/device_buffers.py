# SPDX-License-Identifier: MIT OR Apache-2.0
"""A plan's buffers in the memory of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xyntra.errors import CompileError
from xyntra.plan.lifetimes import lifetimes
from xyntra.plan.memory import place
from xyntra.plan.plan import Buffer, Plan, Step
from xyntra.targets.cuda.memory import DeviceMemory, upload

Array = np.ndarray[Any, Any]
_ALIGNMENT = 256  # bytes: what the driver's own allocations have
_LASTING = ("input", "output", "parameter", "constant", "prepared")


class DeviceBuffers:
    """One block for everything that lasts, and one arena for temporaries and scratch memory.

    Args:
        plan: whose buffers.
        weights: the plan's parameters by name, contiguous.
        stream: what constants and weights are copied on; they are there once it was waited for.
    """

    def __init__(self, plan: Plan, weights: Mapping[str, Array], stream: Any) -> None:
        self._plan = plan
        self._steps = {id(step): index for index, step in enumerate(plan.steps)}
        self._offsets, nbytes = _lasting(plan)
        self._block = DeviceMemory(nbytes)
        lives = lifetimes(plan, lambda kernel: kernel.scratch)
        arena = place(list(lives.values()))
        self._arena = DeviceMemory(arena.nbytes)
        self._places = dict(zip(lives, arena.offsets, strict=True))
        self._sources: list[Array] = []  # what is copied must stay until the stream was waited for
        for index, buffer in enumerate(plan.buffers):
            source = _contents(buffer, weights)
            if source is not None:
                self._sources.append(source)
                upload(source, self.address(index), stream)

    def address(self, buffer: int) -> int:
        """Return where a buffer lies."""
        if buffer in self._offsets:
            return self._block.address + self._offsets[buffer]
        return self._arena.address + self._places.get(("buffer", buffer), 0)

    def arguments(self, step: Step) -> tuple[list[int], int]:
        """Return the addresses that a launch of `step` is given, and that of its scratch memory."""
        pointers = [self.address(buffer) for buffer in self._plan.argument_buffers(step)]
        scratch = self._places.get(("scratch", self._steps[id(step)]), 0)
        return pointers, self._arena.address + scratch


def _lasting(plan: Plan) -> tuple[dict[int, int], int]:
    """Return where every buffer that outlives a call lies in its block, and the block's bytes."""
    offsets: dict[int, int] = {}
    total = 0
    for index, buffer in enumerate(plan.buffers):
        if buffer.kind in _LASTING:
            offsets[index] = total
            total += -(-buffer.nbytes // _ALIGNMENT) * _ALIGNMENT
    return offsets, total


def _contents(buffer: Buffer, weights: Mapping[str, Array]) -> Array | None:
    if buffer.kind == "constant":
        return np.frombuffer(buffer.data, np.uint8)
    if buffer.kind != "parameter":
        return None
    if buffer.name not in weights:
        raise CompileError("weight-missing", f"the weight '{buffer.name}' is missing")
    array = weights[buffer.name]
    if array.nbytes != buffer.nbytes:
        raise CompileError(
            "weight-size",
            f"the weight '{buffer.name}' does not have the size that the plan expects",
            cause=f"{array.nbytes} bytes instead of {buffer.nbytes}",
        )
    return array
