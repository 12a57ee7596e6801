# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of a GPU that device arrays take and give back."""

from __future__ import annotations

from xyntra.errors import DeviceError
from xyntra.targets.cuda.driver.memory import DeviceMemory

_UNIT = 512  # bytes
_KEPT = 4 << 30  # bytes that may wait to be taken again


class DeviceBlocks:
    """Blocks by size, reused in the order of a stream.

    A block that was given back is taken again only by work on the same stream, which runs after
    whatever still uses it there.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[int, int], list[DeviceMemory]] = {}
        self._waiting = 0

    def take(self, nbytes: int, stream: int) -> DeviceMemory:
        """Return memory for `nbytes` that `stream` may write; the GPU's context is current.

        Raises:
            DeviceError: `gpu-memory`.
        """
        return self.take_free(nbytes, stream) or self._new(_rounded(nbytes))

    def take_free(self, nbytes: int, stream: int) -> DeviceMemory | None:
        """As `take`, of what was given back; None where there is nothing. It asks no driver."""
        size = _rounded(nbytes)
        try:
            block = self._free[size, stream].pop()
        except (KeyError, IndexError):  # another thread may have taken the last
            return None
        self._waiting -= size
        return block

    def give_back(self, block: DeviceMemory, stream: int) -> None:
        """Let later work on `stream` reuse a block."""
        if self._waiting + block.nbytes > _KEPT:
            return  # the driver waits for the GPU before it takes memory back
        self._waiting += block.nbytes
        self._free.setdefault((block.nbytes, stream), []).append(block)

    def _new(self, size: int) -> DeviceMemory:
        try:
            return DeviceMemory(size)
        except DeviceError as error:
            if error.code != "gpu-memory" or not self._free:
                raise
        self._free = {}
        self._waiting = 0
        return DeviceMemory(size)


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _UNIT) * _UNIT or _UNIT
