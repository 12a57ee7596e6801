# SPDX-License-Identifier: MIT OR Apache-2.0
"""Blocks that live at once do not overlap, and the arena is not wasteful."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from xyntra.plan.memory import ALIGNMENT, Lifetime, place


def rounded(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT


@st.composite
def lifetimes(draw: st.DrawFn) -> Lifetime:
    first = draw(st.integers(0, 12))
    return Lifetime(draw(st.integers(0, 1000)), first, first + draw(st.integers(0, 6)))


@settings(deadline=None)
@given(st.lists(lifetimes(), max_size=24))
def test_blocks_that_live_at_once_do_not_overlap(blocks: list[Lifetime]) -> None:
    arena = place(blocks)
    assert len(arena.offsets) == len(blocks)
    placed = list(zip(blocks, arena.offsets, strict=True))
    for index, (one, at) in enumerate(placed):
        assert at % ALIGNMENT == 0
        assert 0 <= at <= arena.nbytes - rounded(one.nbytes)
        for other, there in placed[:index]:
            if one.first <= other.last and other.first <= one.last:
                assert at + rounded(one.nbytes) <= there or there + rounded(other.nbytes) <= at


@settings(deadline=None)
@given(st.lists(lifetimes(), min_size=1, max_size=24))
def test_the_arena_is_between_what_it_must_and_may_take(blocks: list[Lifetime]) -> None:
    arena = place(blocks)
    assert arena.nbytes <= sum(rounded(block.nbytes) for block in blocks)
    for step in range(20):
        live = [block for block in blocks if block.first <= step <= block.last]
        assert arena.nbytes >= sum(rounded(block.nbytes) for block in live)
    assert place(blocks) == arena


def test_nothing_takes_nothing() -> None:
    assert place([]).nbytes == 0


def test_empty_blocks_have_an_address_of_their_own() -> None:
    arena = place([Lifetime(0, 0, 1), Lifetime(0, 1, 1)])
    assert sorted(arena.offsets) == [0, ALIGNMENT]


def test_memory_is_reused() -> None:
    chain = [Lifetime(1000, step, step + 1) for step in range(10)]
    assert place(chain).nbytes == 2 * rounded(1000)
    apart = [Lifetime(1000, step, step) for step in range(10)]
    assert place(apart).nbytes == rounded(1000)


def test_a_gap_is_filled() -> None:
    blocks = [Lifetime(640, 0, 9), Lifetime(256, 0, 3), Lifetime(128, 4, 9), Lifetime(128, 4, 9)]
    assert place(blocks).nbytes == 640 + 256
