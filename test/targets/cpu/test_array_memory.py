# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the address of an array's elements."""

from __future__ import annotations

import numpy as np
import pytest

from xyntra.targets.cpu.memory import _data_member, _interface_data, address_of, allocate

ARRAYS = [
    np.arange(12.0),
    np.arange(12.0)[5:],
    np.arange(12.0)[::-2],
    np.zeros((3, 4), order="F"),
    np.zeros((0, 4), np.int8),
    np.array(3, np.float16),
    np.frombuffer(b"abcdefgh", np.int16),
    np.zeros(2, [("a", "i4"), ("b", "f8")])["b"],
    np.arange(4.0).view(np.recarray),
]


@pytest.mark.parametrize("array", ARRAYS, ids=range(len(ARRAYS)))
@pytest.mark.parametrize("function", [address_of, _data_member, _interface_data])
def test_addresses(array, function):
    assert function(array) == array.ctypes.data


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 1000])
def test_memory_is_aligned(nbytes):
    memory = allocate(nbytes)
    assert memory.nbytes == max(nbytes, 1)
    assert address_of(memory) % 64 == 0
