# SPDX-License-Identifier: MIT OR Apache-2.0
"""Growing memory is seen, and what stays the same is not taken for growth."""

from __future__ import annotations

import mmap
import sys

import pytest

from bench.cpu.endurance import ALLOWED, _growth, main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_what_is_kept_is_growth() -> None:
    kept: list[mmap.mmap] = []  # new pages, whatever the allocator has left

    def keep() -> None:
        kept.append(mmap.mmap(-1, 1 << 20))
        kept[-1].write(b"x" * (1 << 20))

    found = _growth(keep, times=20)
    assert 15 << 20 <= found["grown_bytes"] <= 30 << 20
    assert found["seconds"] > 0


def test_what_is_dropped_is_none() -> None:
    assert _growth(lambda: bytearray(b"x") * (1 << 20), times=20)["grown_bytes"] <= ALLOWED


def test_wrong_usage_is_refused() -> None:
    with pytest.raises(SystemExit):
        main(["--share", "x"])
