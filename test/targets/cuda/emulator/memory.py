# SPDX-License-Identifier: MIT OR Apache-2.0
"""Global and shared memory, with bounds and alignment.

A global address has the number of its array in its upper bits, so that no array has a neighbour.
Shared memory has a window of addresses of 32 bits; those of another block of the cluster have its
number plus one in their upper bits, as `mapa` makes them.

The last vector of 16 bytes of an array may be read as a whole, since no page ends within it; what
is behind the end is poison.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from emulator.errors import require
from emulator.parse import SharedArray
from emulator.types import Array

__all__ = ["POISON", "GlobalMemory", "SharedMemory"]

POISON = 0xFF
_VECTOR = 16
_ARRAY_BITS = 36
_BLOCK_BITS = 24
_WINDOW = 1024  # where a block's arrays begin; what lies before is the driver's


class GlobalMemory:
    """Arrays of bytes, each at addresses of its own.

    Args:
        arrays: bytes that launches read and write in place.
        lasting: numbers of those that no launch in flight writes; None where that is not known.
    """

    def __init__(self, arrays: Sequence[Array], lasting: Set[int] | None = None) -> None:
        self.arrays = list(arrays)
        self._lasting = None if lasting is None else sorted(lasting)
        for array in arrays:
            require(array.dtype == np.uint8 and array.ndim == 1, "memory is bytes")

    def address(self, number: int) -> int:
        """Return where an array begins."""
        return (number + 1) << _ARRAY_BITS

    def read(self, addresses: Array, nbytes: int) -> Array:
        """Return [n, nbytes] bytes at addresses that are multiples of `nbytes`."""
        return self._at(addresses, nbytes, None)

    def write(self, addresses: Array, data: Array) -> None:
        """Write [n, nbytes] bytes; where addresses are equal, the last stays."""
        self._at(addresses, data.shape[1], data)

    def may_change(self, addresses: Array) -> Array:
        """Tell of addresses whether a launch that has not ended may write there."""
        if self._lasting is None:
            return np.zeros(len(addresses), bool)
        return ~np.isin((addresses >> _ARRAY_BITS) - 1, self._lasting)

    def place(self, address: int) -> tuple[Array, int]:
        """Return the array that an address is in, and the byte in it."""
        number = (address >> _ARRAY_BITS) - 1
        require(0 <= number < len(self.arrays), f"{address:#x} is in no array")
        return self.arrays[number], address - self.address(number)

    def _at(self, addresses: Array, nbytes: int, data: Array | None) -> Array:
        require(not (addresses % nbytes).any(), f"an address is no multiple of {nbytes} bytes")
        numbers = (addresses >> _ARRAY_BITS) - 1
        offsets = addresses & ((1 << _ARRAY_BITS) - 1)
        found = np.empty((len(addresses), nbytes), np.uint8)
        for number in np.unique(numbers).tolist():
            require(0 <= number < len(self.arrays), f"array {number} does not exist")
            array, chosen = self.arrays[number], numbers == number
            first = offsets[chosen]
            limit = len(array) if data is not None else -(-len(array) // _VECTOR) * _VECTOR
            end = int(first.max()) + nbytes
            require(end <= limit, f"byte {end - 1} of array {number}, which has {len(array)}")
            places = first[:, None] + np.arange(nbytes)
            if data is not None:
                array[places] = data[chosen]
            elif end <= len(array):
                found[chosen] = array[places]
            else:
                inside = np.where(places < len(array), places, 0)
                found[chosen] = np.where(places < len(array), array[inside], POISON)
        return found


class SharedMemory:
    """The shared memory of some blocks.

    Attributes:
        bytes: [blocks, bytes of a block], from the first address that a program may use.
        addresses: of the arrays, by name.

    Args:
        arrays: of the launch's entry point.
        dynamic: bytes of the array that has no size.
        blocks: how many.
    """

    def __init__(self, arrays: Sequence[SharedArray], dynamic: int, blocks: int) -> None:
        self.addresses: dict[str, int] = {}
        end = _WINDOW
        for array in sorted(arrays, key=lambda each: each.nbytes is None):
            end = -(-end // array.alignment) * array.alignment
            self.addresses[array.name] = end
            end += dynamic if array.nbytes is None else array.nbytes
        self.nbytes = end - _WINDOW
        self.bytes = np.full((blocks, self.nbytes), POISON, np.uint8)

    def places(self, blocks: Array, addresses: Array, nbytes: int) -> tuple[Array, Array]:
        """Return rows and first bytes in `bytes` for addresses of [n] threads.

        Args:
            blocks: of the threads, by their number in `bytes`.
            addresses: in the window of the block, or of another one of its cluster.
            nbytes: that are accessed at each.
        """
        addresses = addresses.astype(np.int64)
        require(not (addresses % nbytes).any(), f"an address is no multiple of {nbytes} bytes")
        others = addresses >> _BLOCK_BITS
        rows = np.where(others > 0, others - 1, blocks)
        first = (addresses & ((1 << _BLOCK_BITS) - 1)) - _WINDOW
        if len(first):
            low, high = int(first.min()), int(first.max()) + nbytes
            require(low >= 0, "shared memory before the first array")
            require(high <= self.nbytes, f"byte {high} of {self.nbytes} of shared memory")
        return rows, first

    def remote(self, addresses: Array, rows: Array) -> Array:
        """Return addresses of the same bytes in the blocks `rows`."""
        return ((rows.astype(np.uint32) + 1) << _BLOCK_BITS) + addresses.astype(np.uint32)

    def read(self, rows: Array, first: Array, nbytes: int) -> Array:
        """Return [n, nbytes] bytes."""
        found: Array = self.bytes[rows[:, None], first[:, None] + np.arange(nbytes)]
        return found

    def write(self, rows: Array, first: Array, data: Array) -> None:
        """Write [n, nbytes] bytes."""
        self.bytes[rows[:, None], first[:, None] + np.arange(data.shape[1])] = data
