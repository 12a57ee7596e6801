# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses how many queries a block works on, and how many threads share a query's work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.passes.lower.gpu.attention.problem import Problem
from xyntra.passes.lower.gpu.device import GpuDevice

LARGEST_SIZE = 128
"""Elements of a key or value: every thread holds a query."""
FEWEST_QUERIES = 16
"""With fewer, threads would have nothing to do."""
_VECTOR = 4  # elements
_ITEM = 4  # bytes
_PADDING = 4  # elements behind a row of weights, so that rows lie in different banks
_WIDE = 64  # elements of a key or value from which on a thread looks at one key a step
_ROWS = (32, 16, 64)
_SHARES = (8, 4, 2, 1, 16)


@dataclass(frozen=True)
class RowsPlan:
    """Sizes of one block.

    Attributes:
        rows: queries.
        shares: threads of a query. They share the keys of a step, and the columns of the result.
        own: keys that a thread looks at in one step.
        key_size: elements of a query or key, with zeros up to a multiple of four.
        value_size: likewise of a value, with as many for every thread of a query.
    """

    rows: int
    shares: int
    own: int
    key_size: int
    value_size: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows * self.shares

    @property
    def keys(self) -> int:
        """Keys of one step."""
        return self.shares * self.own

    @property
    def columns(self) -> int:
        """Columns of the result that a thread computes."""
        return self.value_size // self.shares

    @property
    def pitch(self) -> int:
        """Elements from row to row of scores and weights."""
        return -(-self.keys // _VECTOR) * _VECTOR + _PADDING

    @property
    def shared(self) -> int:
        """Bytes of shared memory: of keys, values, scores and weights."""
        tile = self.keys * (self.key_size + self.value_size)
        return _ITEM * (tile + 2 * self.rows * self.pitch)


def row_plans(problem: Problem, device: GpuDevice) -> list[RowsPlan]:
    """Return every plan by which threads compute an attention, the best first; none if too wide."""
    *_, d, e = problem.sizes
    if max(d, e) > LARGEST_SIZE:
        return []
    found = dict.fromkeys(_candidates(problem, device))
    return [each for each in found if _fits(each, device)]


def _candidates(problem: Problem, device: GpuDevice) -> Iterator[RowsPlan]:
    """Yield plans: queries first that there are, and threads that have columns of their own.

    Blocks have few queries where there would not be one for every multiprocessor.
    """
    b, h, s, _, d, e = problem.sizes
    few = b * h * -(-s // _ROWS[0]) < device.multiprocessors
    first = 1 if max(d, e) > _WIDE else 2
    most = min(_ROWS) if few else max(s, min(_ROWS))
    rows = sorted(_ROWS, key=lambda each: (each > most, _ROWS.index(each)))
    shares = sorted(_SHARES, key=lambda each: (each * _VECTOR > _rounded(e), _SHARES.index(each)))
    for own in (first, 3 - first, 4):
        for row in rows:
            for share in shares:
                value_size = _rounded(e, _VECTOR * share)
                yield RowsPlan(row, share, own, _rounded(d), value_size)


def _fits(plan: RowsPlan, device: GpuDevice) -> bool:
    is_block = plan.threads % device.subgroup == 0 and plan.threads <= device.block_threads
    return is_block and plan.shared <= device.static_bytes


def _rounded(size: int, step: int = _VECTOR) -> int:
    return -(-size // step) * step
