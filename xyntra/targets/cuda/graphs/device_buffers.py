# SPDX-License-Identifier: MIT OR Apache-2.0
"""A plan's buffers in the memory of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from xyntra.plan.lifetimes import lifetimes
from xyntra.plan.memory import place
from xyntra.plan.plan import Plan, Step
from xyntra.plan.storage.stored import contents
from xyntra.targets.cuda.driver.memory import DeviceMemory
from xyntra.targets.cuda.driver.transfers import Transfers

Array = np.ndarray[Any, Any]
_ALIGNMENT = 256  # bytes: what the driver's own allocations have
_PORTS = ("input", "output", "state")
_LASTING = ("parameter", "constant", "prepared")


class DeviceBuffers:
    """One block for weights, one for inputs and outputs, and one arena for everything else.

    Attributes:
        arena: the memory of what is computed in a call; `at` takes it along.

    Args:
        plan: whose buffers.
        weights: the plan's parameters by name, contiguous.
        transfers: copies constants and weights.
        stream: in whose order they are copied.
    """

    def __init__(
        self, plan: Plan, weights: Mapping[str, Array], transfers: Transfers, stream: int
    ) -> None:
        self._plan = plan
        self._steps = {id(step): index for index, step in enumerate(plan.steps)}
        self._offsets, nbytes = _offsets(plan, _LASTING)
        self._lasting = DeviceMemory(nbytes)
        self._port_offsets, self._port_bytes = _offsets(plan, _PORTS)
        self._ports: DeviceMemory | None = None
        lives = lifetimes(plan, lambda kernel: kernel.scratch)
        arena = place(list(lives.values()))
        self.arena = DeviceMemory(arena.nbytes)
        self._places = dict(zip(lives, arena.offsets, strict=True))
        self._repeated: dict[int, DeviceMemory] = {}
        for index, buffer in enumerate(plan.buffers):
            source = contents(buffer, weights)
            if source is not None:
                transfers.upload(source, self.address(index), stream)

    def at(self, plan: Plan, transfers: Transfers, stream: int) -> DeviceBuffers:
        """Return the buffers of the same plan with other sizes, in the same memory where it fits.

        Weights, constants and what is prepared of them are shared; so is the arena, which is made
        anew where it is too small, and then is that of this object, too, for those that follow.
        """
        other = copy(self)
        other._plan, other._ports = plan, None
        other._steps = {id(step): index for index, step in enumerate(plan.steps)}
        other._port_offsets, other._port_bytes = _offsets(plan, _PORTS)
        lives = lifetimes(plan, lambda kernel: kernel.scratch)
        arena = place(list(lives.values()))
        if arena.nbytes > self.arena.nbytes:
            self.arena = other.arena = DeviceMemory(arena.nbytes)
        other._places = dict(zip(lives, arena.offsets, strict=True))
        other._repeated = {}
        for index, (usual, own) in enumerate(zip(self._plan.buffers, plan.buffers, strict=True)):
            if usual.data != own.data:
                memory = other._repeated[index] = DeviceMemory(own.nbytes)
                transfers.upload(np.frombuffer(own.data, np.uint8), memory.address, stream)
        return other

    def address(self, buffer: int) -> int:
        """Return where a buffer lies; the memory of inputs and outputs is made when asked for."""
        found = self._plan.buffers[buffer]
        if found.kind == "part":
            return self.address(found.whole) + found.offset
        if buffer in self._repeated:
            return self._repeated[buffer].address
        if buffer in self._offsets:
            return self._lasting.address + self._offsets[buffer]
        if buffer in self._port_offsets:
            if self._ports is None:
                self._ports = DeviceMemory(self._port_bytes)
            return self._ports.address + self._port_offsets[buffer]
        return self.arena.address + self._places.get(("buffer", buffer), 0)

    def arguments(self, step: Step, ports: Mapping[int, int]) -> tuple[list[int], int]:
        """Return the addresses that a launch of `step` is given, and that of its scratch memory.

        Args:
            step: a step of the plan.
            ports: addresses of buffers that take the place of their own memory.
        """
        pointers = []
        for buffer in self._plan.argument_buffers(step):
            home, offset = self._plan.home(buffer), self._plan.buffers[buffer].offset
            own = ports[home] if home in ports else self.address(home)
            pointers.append(own + offset)
        scratch = self._places.get(("scratch", self._steps[id(step)]), 0)
        return pointers, self.arena.address + scratch


def _offsets(plan: Plan, kinds: tuple[str, ...]) -> tuple[dict[int, int], int]:
    """Return where every buffer of some kinds lies in their block, and the block's bytes."""
    offsets: dict[int, int] = {}
    total = 0
    for index, buffer in enumerate(plan.buffers):
        if buffer.kind in kinds:
            offsets[index] = total
            total += -(-buffer.nbytes // _ALIGNMENT) * _ALIGNMENT
    return offsets, total
