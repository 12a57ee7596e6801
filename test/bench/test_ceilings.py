# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that the peaks of a machine are measured by code that does what it claims."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cpu import ceilings
from xyntra.targets.cpu.memory import address_of, allocate


@pytest.mark.parametrize("name", ["memcpy_loop", "stream_loop"])
def test_copies_copy_every_byte(name: str) -> None:
    source, target = allocate(64 * 37), allocate(64 * 37)
    source[:] = np.arange(source.size, dtype=np.uint64).astype(np.uint8)
    target.fill(0)
    ceilings._function(name)(address_of(target), address_of(source), source.size, 3)
    np.testing.assert_array_equal(target, source)


def test_every_accumulator_is_multiplied() -> None:
    iterations = 3
    factor = np.float32(1 / iterations)
    expected = factor
    for start in range(1, ceilings._ACCUMULATORS + 1):
        value = np.float32(start)
        for _ in range(iterations):
            value = value * factor + factor
        expected += value
    assert ceilings._function("fma")(iterations) == pytest.approx(expected, rel=1e-5)


def test_a_machine_does_more_than_a_million_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "_FMA_SECONDS", 1e-4)
    monkeypatch.setattr(ceilings, "_COPIED", 1 << 16)
    assert ceilings.fma_peak(2) > 1e6
    assert ceilings.copy_bandwidth(2, 1000) > 1e6
