# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lines that say which launches begin while the one before ends."""

from __future__ import annotations

from xyntra.observe.gpu.launch_overlap import launch_overlap


def test_launches_that_wait_are_counted_by_kernel():
    overlaps = {"a": (False, True), "b": (True,), "c": (True, False)}
    lines = launch_overlap(["a", "b", "c", "c", "a"], overlaps)
    assert lines == [
        "launches a call: 9, of which 5 begin while the one before ends",
        "those that wait for its end:",
        "2 x  c  launch 1",
        "1 x  a  launch 0",
    ]


def test_nothing_is_listed_where_all_or_none_begin_early():
    assert launch_overlap(["a", "a"], {"a": (False,)}) == [
        "launches a call: 2, of which 0 begin while the one before ends"
    ]
    assert launch_overlap(["a", "a"], {"a": (True,)}) == [
        "launches a call: 2, of which 1 begin while the one before ends"
    ]


def test_kernels_without_launches_and_calls_without_kernels():
    assert launch_overlap(["view", "a"], {"view": (), "a": (True,)})[0].startswith(
        "launches a call: 1, of which 0"
    )
    assert launch_overlap([], {})[0].startswith("launches a call: 0")
