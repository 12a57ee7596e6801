# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses how many queries and keys a block, and each of its warps, works on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.passes.lower.gpu.attention.problem import Problem
from xyntra.passes.lower.gpu.device import GpuDevice

ROWS = 16
"""Queries of a warp."""
_LANES = 32
_PADDING = 16  # bytes behind a row, so that eight rows lie in different banks
_SHARED = 99 << 10  # bytes of a block at most, so that an H100's multiprocessor holds two
_FEW_KEYS = 256
_STEP = 16  # keys
_APART = 8  # f32s behind a row of a warp's own results
_ONE_STEP = 128  # keys of a warp that may be all there are
_HELD = 112  # registers of such a step for scores, sums and queries
_WASTED = 1.125  # times as many keys in several steps
_SHARES = ((4, 1), (2, 2), (1, 8), (1, 4), (1, 2), (1, 1))  # warps along queries, and along keys


@dataclass(frozen=True)
class FlashPlan:
    """Sizes of one block.

    Attributes:
        row_warps: warps along the queries, 16 each.
        key_warps: warps that share the keys of the same queries.
        warp_keys: keys that a warp looks at in one step, a multiple of 16.
        stages: tiles of keys, and of values, that shared memory holds.
        key_bytes: bytes of a row of the query or key that are used, with zeros behind the last.
        value_bytes: likewise of a value.
        value_size: elements of a value that are computed: those it has, and zeros up to a multiple
            of eight, where warps multiply f32 of 32.
        own_bytes: shared memory of each warp by itself.
    """

    row_warps: int
    key_warps: int
    warp_keys: int
    stages: int
    key_bytes: int
    value_bytes: int
    value_size: int
    own_bytes: int

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return ROWS * self.row_warps

    @property
    def keys(self) -> int:
        """Keys of one step."""
        return self.warp_keys * self.key_warps

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return self.row_warps * self.key_warps

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _LANES * self.warps

    @property
    def key_pitch(self) -> int:
        """Bytes from row to row of queries and keys."""
        return self.key_bytes + _PADDING

    @property
    def value_pitch(self) -> int:
        """Bytes from row to row of values."""
        return self.value_bytes + _PADDING

    @property
    def key_start(self) -> int:
        """Byte at which keys begin, behind the queries."""
        return self.rows * self.key_pitch

    @property
    def value_start(self) -> int:
        """Byte at which values begin."""
        return self.key_start + self.stages * self.keys * self.key_pitch

    @property
    def own_start(self) -> int:
        """Byte at which the memory of the first warp begins."""
        return self.value_start + self.stages * self.keys * self.value_pitch

    @property
    def sum_pitch(self) -> int:
        """Elements from row to row of the warps' results."""
        return _rounded(self.value_size, _STEP) + _APART

    @property
    def total_start(self) -> int:
        """Byte at which maxima and totals of rows begin, behind the warps' results."""
        return 4 * self.key_warps * self.rows * self.sum_pitch

    @property
    def shared(self) -> int:
        """Bytes of shared memory; results take the place of what was read."""
        results = self.total_start + 8 * self.key_warps * self.rows
        return max(self.own_start + self.warps * self.own_bytes, results)


def plan_flash(problem: Problem, device: GpuDevice) -> FlashPlan:
    """Choose blocks, of which there should be at least one for every multiprocessor.

    With few of them, warps share the keys of sixteen queries.
    """
    return flash_plans(problem, device)[0]


def flash_plans(problem: Problem, device: GpuDevice) -> list[FlashPlan]:
    """Return every plan by which this kernel computes an attention, the best first."""
    most = min(_SHARED, device.block_shared_bytes)
    found = dict.fromkeys([*_candidates(problem, device), *_others(problem)])
    return [each for each in found if each.shared <= most]


def _others(problem: Problem) -> Iterator[FlashPlan]:
    """Yield every plan, whatever it is worth."""
    for row_warps, key_warps in _SHARES:
        for keys in (16, 32, 64):
            for stages in (1, 2) if keys <= _warp_keys(problem, key_warps) else ():
                yield _plan(problem, row_warps, key_warps, keys, stages)


def _candidates(problem: Problem, device: GpuDevice) -> Iterator[FlashPlan]:
    for row_warps, key_warps in _warps(problem, device):
        widest = _warp_keys(problem, key_warps)
        for stages in _stages(problem, key_warps * widest):
            for keys in sorted({widest, 32, 16}, reverse=True):
                if keys <= widest and (keys == widest or stages == 2 or row_warps == 1):
                    yield _plan(problem, row_warps, key_warps, keys, stages)
    for keys in (32, 16):
        yield _plan(problem, 1, 1, keys, 1)


def _warps(problem: Problem, device: GpuDevice) -> list[tuple[int, int]]:
    b, h, s, t, _, _ = problem.sizes
    shared_keys = (1, 4 if t <= _FEW_KEYS else 8)
    choices = [shared_keys, (1, 4), (1, 2)]
    if b * h * -(-s // 32) >= device.multiprocessors:
        choices = [(2, 2), *choices]
    if b * h * -(-s // 64) >= device.multiprocessors:
        choices = [(4, 1), *choices]
    return choices


def _warp_keys(problem: Problem, key_warps: int) -> int:
    """Equal shares of few steps; all keys in one, where steps would have many that do not exist."""
    _, _, _, t, d, e = problem.sizes
    own = -(-t // key_warps)
    steps = -(-own // (64 if max(d, e) <= 128 else 32))
    share, whole = _rounded(-(-own // steps), _STEP), _rounded(own, _STEP)
    held = whole // 2 + _rounded(e, 8) // 2 + _rounded(d, 16) // 4
    fits = problem.query.item_bytes < 4 and whole <= _ONE_STEP and held <= _HELD
    return whole if fits and steps * share > _WASTED * whole else share


def _stages(problem: Problem, keys: int) -> tuple[int, ...]:
    return (1,) if problem.sizes[3] <= keys else (2, 1)


def _plan(problem: Problem, row_warps: int, key_warps: int, keys: int, stages: int) -> FlashPlan:
    stages = min(stages, max(_stages(problem, keys * key_warps)))
    return sized(problem, row_warps, key_warps, keys, stages)


def sized(problem: Problem, row_warps: int, key_warps: int, keys: int, stages: int) -> FlashPlan:
    """A plan with the numbers of `FlashPlan` that are not given by the problem."""
    item = problem.query.item_bytes
    _, _, _, _, d, e = problem.sizes
    is_wide = item == 4
    value_bytes = _rounded(e, 32 if is_wide else 16) * item
    return FlashPlan(
        row_warps,
        key_warps,
        keys,
        stages,
        _rounded(d, 8 if is_wide else 16) * item,
        value_bytes,
        _rounded(e, 32 if is_wide else 8),
        4 * ROWS * (keys + _APART) if is_wide else 0,
    )


def _rounded(size: int, step: int) -> int:
    return -(-size // step) * step
