# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds accesses to shared memory that nothing orders (vector clocks, as in FastTrack, by warps).

Every warp of a cluster has a clock of its own and knows, of every other warp, up to which of its
times it is ordered behind it. Barriers join what their warps know (Flanagan and Freund, *FastTrack:
efficient and precise dynamic race detection*, PLDI 2009). Two bytes of memory are one place: single
bytes are not looked at. The threads of one warp are taken to be in order.

Copies by TMA have a clock of their own: what they write is ordered before a wait on the mbarrier
that counts their bytes. What wgmma reads is read until it was waited for. wgmma and TMA see what
ordinary stores wrote only behind a `fence.proxy.async`, of the thread that wrote or of the one that
starts them.
"""

from __future__ import annotations

import numpy as np

from emulator.errors import require
from emulator.types import Array

__all__ = ["PENDING", "Races"]

PENDING = np.iinfo(np.int32).max
"""The time of what has begun, and is not known to have ended."""
_PLACE = 2  # bytes


class Races:
    """What is known of the shared memory of some blocks.

    Attributes:
        clocks: [clusters, warps, warps + 1]: what each warp knows of each, and of copies by TMA.

    Args:
        blocks: how many.
        cluster: blocks of a cluster.
        warps: of a block.
        nbytes: of shared memory of a block.
    """

    def __init__(self, blocks: int, cluster: int, warps: int, nbytes: int) -> None:
        count, places = cluster * warps, -(-nbytes // _PLACE)
        clusters = blocks // cluster
        self.copier = count
        self.clocks = np.zeros((clusters, count, count + 1), np.int32)
        own = np.arange(count)
        self.clocks[:, own, own] = 1
        self.fenced = np.zeros_like(self.clocks)
        self.copies = np.zeros(clusters, np.int32)
        self.written_at = np.zeros((blocks, places), np.int32)
        self.written_by = np.zeros((blocks, places), np.int16)
        self.read_at = np.zeros((blocks, places, count), np.int32)

    def read(
        self, rows: Array, first: Array, nbytes: int, clusters: Array, warps: Array,
        *, by_proxy: bool = False,
    ) -> None:  # fmt: skip
        """Note that warps read bytes.

        Args:
            rows: blocks that the memory is of.
            first: first byte of each access.
            nbytes: of each access.
            clusters: of the warps.
            warps: which read.
            by_proxy: whether wgmma or a copy does; it is read until `finished` says so.

        Raises:
            EmulatorError: somebody may be writing there.
        """
        if nbytes < _PLACE or not len(rows):
            return
        row, place, cluster, warp = _spread(rows, first, nbytes, clusters, warps)
        self._behind_writer(row, place, cluster, warp, "reads")
        if by_proxy:
            self._fenced(row, place, cluster, warp)
        now = PENDING if by_proxy else self.clocks[cluster, warp, warp]
        self.read_at[row, place, warp] = now

    def write(self, rows: Array, first: Array, nbytes: int, clusters: Array, warps: Array) -> None:
        """Note that warps write bytes; arguments as for `read`.

        Raises:
            EmulatorError: somebody may be reading or writing there.
        """
        if nbytes < _PLACE or not len(rows):
            return
        row, place, cluster, warp = _spread(rows, first, nbytes, clusters, warps)
        self._free(row, place, cluster, warp)
        self.written_by[row, place] = warp
        alone = (self.written_by[row, place] == warp).all()
        require(alone, "two warps write the same place at once")
        self.written_at[row, place] = self.clocks[cluster, warp, warp]

    def copy_in(self, row: int, places: Array, cluster: int, warp: int) -> int:
        """Note that a copy writes bytes of a block, and return its time.

        Args:
            row: the block.
            places: bytes.
            cluster: of the warp.
            warp: that started the copy.

        Raises:
            EmulatorError: somebody may be reading or writing there.
        """
        found = np.unique(places // _PLACE)
        rows = np.full(len(found), row)
        self._free(rows, found, np.full(len(found), cluster), np.full(len(found), warp))
        self.copies[cluster] += 1
        self.written_by[row, found] = self.copier
        self.written_at[row, found] = self.copies[cluster]
        return int(self.copies[cluster])

    def finished(self, rows: Array, places: Array, clusters: Array, warps: Array) -> None:
        """Note that reads of wgmma or of copies have ended, as far as the warps know now."""
        self.read_at[rows, places, warps] = self.clocks[clusters, warps, warps]

    def places(self, rows: Array, first: Array, nbytes: int) -> tuple[Array, Array]:
        """Return rows and places of accesses, for `finished`."""
        row, place, _, _ = _spread(rows, first, nbytes, rows, rows)
        return row, place

    def join(self, cluster: int, warps: Array) -> None:
        """Order all that some warps have done before all that they will do."""
        known = self.clocks[cluster, warps].max(axis=0)
        self.clocks[cluster, warps] = known
        self.tick(cluster, warps)

    def tick(self, cluster: int, warps: Array) -> None:
        """Begin a new time of warps, after they have told somebody what they know."""
        self.clocks[cluster, warps, warps] += 1

    def learn(self, cluster: int, warps: Array, known: Array) -> None:
        """Let warps know what somebody told them."""
        self.clocks[cluster, warps] = np.maximum(self.clocks[cluster, warps], known)

    def fence(self, clusters: Array, warps: Array) -> None:
        """Show wgmma and copies all that warps know of ordinary stores."""
        self.fenced[clusters, warps] = self.clocks[clusters, warps]
        for cluster, warp in {*zip(clusters.tolist(), warps.tolist(), strict=True)}:
            self.tick(cluster, np.array([warp]))

    def check_end(self) -> None:
        """Check that no block ends while others of its cluster read its shared memory.

        Raises:
            EmulatorError: nothing makes sure of that.
        """
        clusters, count = self.clocks.shape[:2]
        blocks = len(self.read_at)
        warps = count * clusters // blocks
        for block in range(blocks if clusters < blocks else 0):
            cluster, first = block * clusters // blocks, block * warps % count
            known = self.clocks[cluster, first : first + warps, :count].max(axis=0)
            ordered = self.read_at[block].max(axis=0, initial=0) <= known
            ordered[first : first + warps] = True
            require(ordered.all(), f"block {block} may end while others read its shared memory")

    def _behind_writer(
        self, row: Array, place: Array, cluster: Array, warp: Array, what: str
    ) -> None:
        writer, time = self.written_by[row, place], self.written_at[row, place]
        ordered = (writer == warp) | (time <= self.clocks[cluster, warp, writer])
        if not ordered.all():
            at = int(np.flatnonzero(~ordered)[0])
            who = "a copy" if writer[at] == self.copier else f"warp {writer[at]}"
            text = f"warp {warp[at]} {what} byte {place[at] * _PLACE}, which {who} may be writing"
            require(False, f"race: {text}")

    def _free(self, row: Array, place: Array, cluster: Array, warp: Array) -> None:
        self._behind_writer(row, place, cluster, warp, "overwrites")
        count = self.read_at.shape[2]
        times, known = self.read_at[row, place], self.clocks[cluster, warp, :count]
        own = np.arange(count) == warp[:, None]
        ordered = (times <= known) | (own & (times != PENDING))
        if not ordered.all():
            at, reader = (int(i) for i in np.argwhere(~ordered)[0])
            text = f"warp {warp[at]} overwrites byte {place[at] * _PLACE}"
            require(False, f"race: {text}, which warp {reader} may be reading")

    def _fenced(self, row: Array, place: Array, cluster: Array, warp: Array) -> None:
        writer, time = self.written_by[row, place], self.written_at[row, place]
        ordinary = (writer != self.copier) & (time > 0)
        known = np.minimum(writer, self.copier - 1)
        seen = time <= self.fenced[cluster, known, known]
        seen |= time <= self.fenced[cluster, warp, known]
        require((seen | ~ordinary).all(), "an asynchronous access without a fence.proxy.async")


def _spread(
    rows: Array, first: Array, nbytes: int, clusters: Array, warps: Array
) -> tuple[Array, Array, Array, Array]:
    """All places of some accesses, each with its row, cluster and warp."""
    steps = max(nbytes // _PLACE, 1)
    place = (first[:, None] // _PLACE + np.arange(steps)).reshape(-1)
    repeated = (np.repeat(each, steps) for each in (rows, clusters, warps))
    row, cluster, warp = repeated
    return row, place, cluster, warp
