# SPDX-License-Identifier: MIT OR Apache-2.0
"""How large a part of the output one block, and one thread of it, computes."""

from __future__ import annotations

from dataclasses import dataclass

_ENOUGH_BLOCKS = 132  # one for every multiprocessor of a large device
VECTOR = 4
"""Neighbours that a thread takes at once from shared memory."""


@dataclass(frozen=True)
class TileShape:
    """A tile of `rows` by `columns`, of which a thread computes a part.

    Attributes:
        rows: of the tile.
        columns: of the tile.
        depth: steps of the reduction that are in shared memory at once.
        thread_rows: rows of one thread, a multiple of four.
        thread_columns: columns of one thread, likewise.
    """

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows * self.columns // (self.thread_rows * self.thread_columns)

    @property
    def thread_grid(self) -> tuple[int, int]:
        """Threads along the rows, and along the columns."""
        return self.rows // self.thread_rows, self.columns // self.thread_columns

    def blocks(self, rows: int, columns: int, batch: int) -> int:
        """Return how many tiles cover `batch` outputs of `rows` by `columns`."""
        return batch * -(-rows // self.rows) * -(-columns // self.columns)

    def offsets(self, columns: bool) -> list[int]:
        """Return where the vectors of a thread start, for the first thread.

        Vectors of one thread lie apart by the vectors of all threads, so that neighbouring threads
        read neighbouring words.
        """
        total = self.columns if columns else self.rows
        own = self.thread_columns if columns else self.thread_rows
        step = total * VECTOR // own
        return [number * step for number in range(own // VECTOR)]


_SHAPES = (
    TileShape(128, 128, 8, 8, 8),
    TileShape(64, 64, 16, 4, 8),
    TileShape(64, 64, 16, 4, 4),
    TileShape(32, 64, 16, 4, 4),
    TileShape(32, 32, 16, 4, 4),
)


def choose_shape(rows: int, columns: int, batch: int) -> TileShape:
    """Return the largest tile that still gives every multiprocessor one, else the smallest."""
    for shape in _SHAPES:
        is_wasteful = shape.rows >= 2 * max(rows, 16) or shape.columns >= 2 * max(columns, 16)
        if not is_wasteful and shape.blocks(rows, columns, batch) >= _ENOUGH_BLOCKS:
            return shape
    return _SHAPES[-1]
