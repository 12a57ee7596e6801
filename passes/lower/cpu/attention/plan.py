# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses how many query rows and keys an attention kernel works on at a time."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.cpu.schedule.emitter import Choices

__all__ = ["AttentionChoices", "AttentionPlan", "plan_attention"]

_MOST_KEYS = 128
_MOST_ROWS = 48
_VECTORS = 2
_CHAINS = 2  # vectors of exponentials that are computed at a time, which hides their latency


@dataclass(frozen=True)
class AttentionChoices(Choices):
    """The choices of the attention emitter.

    Attributes:
        vector: elements of a vector.
        rows: of a register tile.
        block: queries of a block, a multiple of `rows`, and keys of a chunk, a multiple of `panel`.
        vectors: that a row of a register tile has.
        in_place: whether keys and values are read where they lie, instead of packed into panels.
    """

    vector: int = 0
    rows: int = 0
    block: tuple[int, ...] = ()
    vectors: int = _VECTORS
    in_place: bool = False

    @property
    def panel(self) -> int:
        """Columns of a register tile; keys and values are packed in panels of as many."""
        return self.vectors * self.vector


@dataclass(frozen=True)
class AttentionPlan:
    """Sizes of blocks, in elements.

    Attributes:
        lanes: elements of a vector.
        tile_rows: rows of a register tile, of `panel` columns.
        panel: columns of a register tile; keys and values are packed in panels of as many.
        rows: queries of a block, a multiple of `tile_rows`; the last block may have fewer.
        last_rows: queries of the last block.
        width: neighbouring scores of which exponentials are computed at a time.
        keys: keys of a chunk, a multiple of `width` and `panel`.
        chunks: chunks of keys; the last one may reach beyond the keys that there are.
        in_place: whether keys and values are read where they lie.
    """

    lanes: int
    tile_rows: int
    panel: int
    width: int
    rows: int
    last_rows: int
    keys: int
    chunks: int
    in_place: bool = False

    @classmethod
    def of(cls, choices: AttentionChoices, queries: int, keys: int) -> AttentionPlan:
        """Return the sizes for `queries` rows of `keys` scores each."""
        rows, chunk = choices.block
        last_rows = queries - (-(-queries // rows) - 1) * rows
        width = max(_CHAINS * choices.vector, choices.panel)
        panel, chunks = choices.panel, -(-keys // chunk)
        sizes = (choices.vector, choices.rows, panel, width, rows, last_rows, chunk, chunks)
        return cls(*sizes, in_place=choices.in_place)

    @property
    def padded_keys(self) -> int:
        """Keys with those that only fill the last chunk."""
        return self.keys * self.chunks

    @property
    def has_full_tiles(self) -> bool:
        """Whether every block has as many rows as a tile, so that its last tile can move back.

        Where the number of queries is told, the last block may have any.
        """
        if isinstance(self.last_rows, Size):
            return False
        return self.last_rows >= self.tile_rows


def plan_attention(queries: int, keys: int, lanes: int, registers: int) -> AttentionChoices:
    """Choose blocks for `queries` rows of `keys` scores each.

    A block of scores, a panel of keys or values and a block of queries share the first-level cache.

    Args:
        queries: rows of one head.
        keys: scores of a row.
        lanes: elements of a vector register.
        registers: how many of them there are.
    """
    panel = _VECTORS * lanes
    tile_rows = min(queries, (registers - _VECTORS - 2) // _VECTORS)
    chunks = -(-keys // _MOST_KEYS)
    width = max(_CHAINS * lanes, panel)
    chunk = _rounded(-(-keys // chunks), width)
    blocks = -(-queries // max(tile_rows, _MOST_ROWS // tile_rows * tile_rows))
    rows = _rounded(-(-queries // blocks), tile_rows)
    return AttentionChoices(lanes, tile_rows, (rows, chunk))


def _rounded(size: int, step: int) -> int:
    return -(-size // step) * step
