# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses how many query rows and keys an attention kernel works on at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xyntra.dialects.attention_layout import KEY, KEY_SIZE, QUERY, VALUE_SIZE
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.cpu.schedule.emitter import Choices

__all__ = ["AttentionChoices", "AttentionPlan", "plan_attention"]

_MOST_KEYS = 128
_MOST_ROWS = 48
_MOST_TILE_ROWS = 20  # in more, a tile is longer than it is faster
_VECTORS = 2
_LEAST_ROWS = 4  # of a tile that hides the latency of its sums
_CHAINS = 2  # vectors of exponentials that are computed at a time, which hides their latency

# Costs, in products of two vectors.
_SUMS_IN_FLIGHT = 8  # as many products are begun before the first one has ended
_TILE = 24.0
_EXPONENTIALS = 14.0  # of a vector
_STORED = 4.0  # a vector of sums that goes through memory


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
        width: neighbouring scores of which exponentials are computed at a time, one or more panels.
        keys: keys of a chunk, a multiple of `width`.
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
        if chunk % width:
            width = choices.panel
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

    @property
    def is_even(self) -> bool:
        """Whether all tiles are of `tile_rows`: blocks are full of them, or they are low."""
        most = self.tile_rows
        return most <= _LEAST_ROWS or self.rows % most == self.last_rows % most == 0

    def rows_of_tiles(self, rows: int) -> int:
        """Return how many rows tiles of `rows` queries compute; some are a row lower."""
        tiles = -(-rows // self.tile_rows)
        whole = tiles * self.tile_rows
        return whole if self.is_even else whole - min(whole - rows, tiles)


def plan_attention(sizes: Sequence[int], lanes: int, registers: int) -> AttentionChoices:
    """Choose the tiles that compute least in vain, and blocks of them.

    A block of scores, a panel of keys or values and a block of queries share the first-level cache.

    Args:
        sizes: of the loops of the attention.
        lanes: elements of a vector register.
        registers: how many of them there are.
    """
    if any(isinstance(size, Size) for size in sizes):
        rows = min(sizes[QUERY], _most_rows(_VECTORS, registers))
        return _blocks_of(sizes, lanes, _VECTORS, rows)
    tried = [_blocks_of(sizes, lanes, *tile) for tile in _tiles(sizes[QUERY], registers)]
    return min(tried, key=lambda choices: (_cost(sizes, choices), choices.rows))


def _most_rows(vectors: int, registers: int) -> int:
    """Return the rows of a tile that leaves registers for a row of columns and a broadcast."""
    return (registers - vectors - 2) // vectors


def _tiles(queries: int, registers: int) -> Iterator[tuple[int, int]]:
    """Yield tiles that hide the latency of their sums, as vectors of a row and rows."""
    for vectors in (_VECTORS, 1):
        most = min(queries, _most_rows(vectors, registers), _MOST_TILE_ROWS)
        yield from ((vectors, rows) for rows in range(most, most // 2, -1))


def _blocks_of(sizes: Sequence[int], lanes: int, vectors: int, tile_rows: int) -> AttentionChoices:
    queries, keys = sizes[QUERY], sizes[KEY]
    chunks = -(-keys // _MOST_KEYS)
    chunk = _rounded(-(-keys // chunks), vectors * lanes)
    blocks = -(-queries // max(tile_rows, _MOST_ROWS // tile_rows * tile_rows))
    rows = _rounded(-(-queries // blocks), tile_rows)
    return AttentionChoices(lanes, tile_rows, (rows, chunk), vectors)


def _cost(sizes: Sequence[int], choices: AttentionChoices) -> float:
    """Estimate the time that one head takes.

    Every product loads a number of its row, and every step of a tile its columns. Rows and columns
    that only fill the last tile cost as much as others.
    """
    queries, keys = sizes[QUERY], sizes[KEY]
    plan = AttentionPlan.of(choices, queries, keys)
    scores, values = (-(-size // plan.panel) for size in (keys, sizes[VALUE_SIZE]))
    computed = (queries // plan.rows) * plan.rows + plan.rows_of_tiles(queries % plan.rows)
    tiles = -(-queries // plan.tile_rows)
    rows, vectors = computed / tiles, choices.vectors
    loads = (rows + vectors) / (rows * vectors)
    each = max(1.0, loads, _SUMS_IN_FLIGHT / (rows * vectors))
    steps = vectors * (scores * sizes[KEY_SIZE] + values * keys)
    is_direct = plan.chunks == 1 and plan.has_full_tiles and not sizes[VALUE_SIZE] % plan.panel
    stored = 0.0 if is_direct else _STORED * computed * values * vectors * plan.chunks
    exponentials = queries * _rounded(keys, plan.width) / plan.lanes
    started = tiles * (scores + values * plan.chunks)
    return each * computed * steps + stored + _EXPONENTIALS * exponentials + _TILE * started


def _rounded(size: int, step: int) -> int:
    return -(-size // step) * step
