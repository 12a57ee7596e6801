# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays for large results, in page-locked memory that goes back when the caller drops them."""

from __future__ import annotations

from xyntra.plan.plan import Port, numpy_dtype
from xyntra.targets.cuda.driver.memory import Array, PinnedMemory

_LIMIT = 1 << 30  # bytes that may be page-locked, as the rest of the machine cannot use them


class PinnedArrays:
    """Page-locked memory by size, reused in the order of one stream."""

    def __init__(self) -> None:
        self._free: dict[int, list[PinnedMemory]] = {}
        self._allocated = 0

    def new(self, port: Port) -> Array | None:
        """Return an array for an output; None where too much is in use."""
        size = port.nbytes
        waiting = self._free.get(size)
        if waiting:
            memory = waiting.pop()
        elif self._allocated + size > _LIMIT:
            return None
        else:
            memory = PinnedMemory(size)
            self._allocated += size
        lease = _Lease(memory, self._free.setdefault(size, []))
        return memory.array(port.shape, numpy_dtype(port.dtype), owner=lease)


class _Lease:
    """Gives memory back when the last array over it is gone."""

    def __init__(self, memory: PinnedMemory, waiting: list[PinnedMemory]) -> None:
        self._memory = memory
        self._waiting = waiting

    def __del__(self) -> None:
        self._waiting.append(self._memory)
