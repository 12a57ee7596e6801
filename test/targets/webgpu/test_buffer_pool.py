# SPDX-License-Identifier: MIT OR Apache-2.0
"""Blocks share a buffer only where they do not live at once."""

from __future__ import annotations

import numpy as np

from xyntra.plan.memory import Lifetime
from xyntra.targets.webgpu.buffer_pool import share_buffers


def test_blocks_that_live_at_once_have_buffers_of_their_own() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        firsts = rng.integers(0, 20, 30)
        lives = {
            number: Lifetime(int(rng.integers(1, 1000)), int(first), int(first + rng.integers(4)))
            for number, first in enumerate(firsts)
        }
        pool = share_buffers(lives)
        for one, a in lives.items():
            assert pool.sizes[pool.numbers[one]] >= a.nbytes
            for other, b in lives.items():
                if one != other and pool.numbers[one] == pool.numbers[other]:
                    assert a.last < b.first or b.last < a.first
        assert sum(pool.sizes) <= sum(each.nbytes for each in lives.values())


def test_a_chain_takes_two_buffers() -> None:
    lives = {number: Lifetime(64, number, number + 1) for number in range(10)}
    assert share_buffers(lives).sizes == (64, 64)
