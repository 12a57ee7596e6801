# SPDX-License-Identifier: MIT OR Apache-2.0
"""How many rows and keys of an attention are worked on at a time."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AttentionPlan", "plan_attention"]

_SCORE_BYTES = 64 << 10  # of a block of scores, which stays in the second-level cache
_MOST_KEYS = 256
_FEWER = 2  # times as small, where blocks leave out the keys that they do not see
_MOST_ROWS = 96
_ITEM_BYTES = 4
_VECTORS = 2


@dataclass(frozen=True)
class AttentionPlan:
    """Sizes of blocks, in elements.

    Attributes:
        lanes: elements of a vector.
        tile_rows: rows of a register tile, of `panel` columns.
        panel: columns of a register tile; keys and values are packed in panels of as many.
        rows: queries of a block.
        keys: keys of a chunk, a multiple of `panel`.
        chunks: chunks of keys; the last one may reach beyond the keys that there are.
    """

    lanes: int
    tile_rows: int
    panel: int
    rows: int
    keys: int
    chunks: int

    @property
    def padded_keys(self) -> int:
        """Keys with those that only fill the last chunk."""
        return self.keys * self.chunks


def plan_attention(
    queries: int, keys: int, lanes: int, registers: int, *, skips: bool = False
) -> AttentionPlan:
    """Choose blocks for `queries` rows of `keys` scores each.

    Args:
        queries: rows of one head.
        keys: scores of a row.
        lanes: elements of a vector register.
        registers: how many of them there are.
        skips: a block of queries leaves out chunks of keys that none of them sees.
    """
    share = _FEWER if skips else 1
    panel = _VECTORS * lanes
    tile_rows = (registers - _VECTORS - 2) // _VECTORS
    chunks = -(-keys // (_MOST_KEYS // share))
    chunk = -(-keys // (chunks * panel)) * panel
    most = min(_MOST_ROWS, max(tile_rows, _SCORE_BYTES // (share * _ITEM_BYTES * chunk)))
    rows = _rows_of_block(queries, tile_rows, most)
    return AttentionPlan(lanes, min(tile_rows, rows), panel, rows, chunk, chunks)


def _rows_of_block(queries: int, tile_rows: int, most: int) -> int:
    """The size of block that computes the fewest rows twice; of equals the largest."""
    if queries <= tile_rows:
        return queries
    sizes = [min(queries, size) for size in range(tile_rows, most + 1, tile_rows)]

    def computed(rows: int) -> int:
        return -(-queries // rows) * -(-rows // tile_rows) * tile_rows

    return min(sizes, key=lambda rows: (computed(rows), -rows))
