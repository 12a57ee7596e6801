# SPDX-License-Identifier: MIT OR Apache-2.0
"""States what a pool of memory for arrays on a device tells and does."""

from __future__ import annotations

from typing import Protocol

__all__ = ["ArrayPool"]


class ArrayPool(Protocol):
    """Memory that arrays on a device take and give back.

    Attributes:
        held: bytes that arrays have.
        peak: the most that they had.
        waiting: bytes that were given back, and wait for the next arrays.
        spilled: bytes that were moved to the host so far, for want of room.
        limit: the most bytes of both; None for what the device has. It may be set.
    """

    held: int
    peak: int
    waiting: int
    spilled: int
    limit: int | None

    def release(self) -> None:
        """Give what waits back to the device, for other programs."""
