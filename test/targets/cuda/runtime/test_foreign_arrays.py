# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays that are refused before they are read, in the words of the CPU, and the end of a process.

What is refused is looked at by its shape and dtype alone, so that no GPU is needed.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xyntra.errors import InputError
from xyntra.plan.calls.arguments import to_array
from xyntra.plan.plan import Port
from xyntra.targets.cuda.arrays import device_array, foreign_arrays
from xyntra.targets.cuda.arrays.device_array import DeviceArray

PORT = Port("series", "float32", (16, 24), 0, 0, 16 * 24 * 4)


@pytest.mark.parametrize(("shape", "dtype"), [((4, 24), "float32"), ((16, 24), "int64")])
def test_messages_are_those_of_the_cpu(shape: tuple[int, ...], dtype: str) -> None:
    with pytest.raises(InputError) as wanted:
        to_array(np.zeros(shape, dtype), PORT)
    array: Any = DeviceArray.__new__(DeviceArray)
    array.shape, array.dtype = shape, np.dtype(dtype)
    with pytest.raises(InputError) as found:
        foreign_arrays._OWN.read(array, PORT, 0)
    assert str(found.value) == str(wanted.value)


def test_an_array_outlives_the_names_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python tears modules down before the last objects are gone."""
    array: Any = DeviceArray.__new__(DeviceArray)
    given: list[Any] = []
    blocks = SimpleNamespace(give_back=lambda *each: given.append(each))
    array._readers, array._memory, array.stream = set(), "memory", 3
    array._gpu = SimpleNamespace(blocks=blocks)
    monkeypatch.setattr(device_array, "DeviceError", None)
    array.__del__(lambda: True)
    assert not given
    array.__del__()
    assert given == [("memory", 3)]
