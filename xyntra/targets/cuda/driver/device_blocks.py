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

    Attributes:
        held: bytes of blocks that arrays have.
        peak: the most that they had.
        waiting: bytes of blocks that wait to be taken again.
        spilled: bytes that were moved to the host so far, for want of room.
        limit: the most bytes that all blocks may have; None for what the GPU has.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[int, int], list[DeviceMemory]] = {}
        self.held = 0
        self.peak = 0
        self.waiting = 0
        self.spilled = 0
        self.limit: int | None = None

    def take(self, nbytes: int, stream: int) -> DeviceMemory:
        """Return memory for `nbytes` that `stream` may write; the GPU's context is current.

        Raises:
            DeviceError: `gpu-memory`: the GPU has not so much, or the limit is reached.
        """
        found = self.take_free(nbytes, stream)
        if found is None:
            found = self._new(_rounded(nbytes))
            self._count(found.nbytes)
        return found

    def take_free(self, nbytes: int, stream: int) -> DeviceMemory | None:
        """As `take`, of what was given back; None where there is nothing. It asks no driver."""
        size = _rounded(nbytes)
        try:
            block = self._free[size, stream].pop()
        except (KeyError, IndexError):  # another thread may have taken the last
            return None
        self.waiting -= size
        self._count(size)
        return block

    def give_back(self, block: DeviceMemory, stream: int) -> None:
        """Let later work on `stream` reuse a block."""
        self.held -= block.nbytes
        if self.waiting + block.nbytes > _KEPT:
            return  # the driver waits for the GPU before it takes memory back
        self.waiting += block.nbytes
        self._free.setdefault((block.nbytes, stream), []).append(block)

    def release(self) -> None:
        """Give what waits back to the driver."""
        self._free = {}
        self.waiting = 0

    def _count(self, size: int) -> None:
        self.held += size
        self.peak = max(self.peak, self.held)

    def _new(self, size: int) -> DeviceMemory:
        if self.limit is not None and self.held + self.waiting + size > self.limit:
            self.release()
            if self.held + size > self.limit:
                raise self._refused(size, f"the limit is {self.limit:,}")
        try:
            return DeviceMemory(size)
        except DeviceError as error:
            if error.code != "gpu-memory":
                raise
            if not self._free:
                raise self._refused(size, error.cause) from None
        self.release()
        try:
            return DeviceMemory(size)
        except DeviceError as error:
            raise self._refused(size, error.cause) from None

    def _refused(self, size: int, why: str | None) -> DeviceError:
        """Return the error that says what holds memory."""
        return DeviceError(
            "gpu-memory",
            f"an array of {size:,} bytes has no room on the GPU",
            cause=f"arrays hold {self.held:,} bytes, at most {self.peak:,} so far; executables,"
            f" and other programs, have memory of their own" + (f"; {why}" if why else ""),
            hint="let go of arrays and executables, or compute on less at once; what a function"
            " keeps for its gradient, xa.checkpoint computes again",
        )


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _UNIT) * _UNIT or _UNIT
