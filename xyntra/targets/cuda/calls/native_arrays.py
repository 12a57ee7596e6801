# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls with small arrays of numpy's through native code."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from xyntra.targets.cpu.memory import address_of
from xyntra.targets.cuda.calls.staging import Slot
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.stream_order import StreamOrder
from xyntra.targets.cuda.native.array_code import (
    DATA,
    DTYPE,
    FLAGS,
    PLAIN,
    RANK,
    SHAPE,
    ArrayTable,
    ExpectedArray,
)
from xyntra.targets.cuda.native.builtins import LoadedCode
from xyntra.targets.cuda.native.driver_functions import address_of_words, fill_functions

__all__ = ["NativeArrayCalls", "arrays_are_known"]

_LOOKS = 15_000  # at words in the processor's cache, some 20 us in all


class NativeArrayCalls:
    """The two halves of calls through one piece of page-locked memory.

    Attributes:
        start: copies inputs there and launches; returns the driver's status, None with nothing done
            where they do not fit.
        finish: copies outputs from there, once the GPU has said that they are there; 1, with
            nothing done, if it has not for some microseconds.

    Args:
        slot: the memory, all arrays staged.
        gpu: where.
        order: of calls on several streams.
        code: with `start` and `finish`.
    """

    def __init__(self, slot: Slot, gpu: Gpu, order: StreamOrder, code: LoadedCode) -> None:
        arrays = [each for each in (*slot.inputs, *slot.outputs) if each is not None]
        words = slot.words
        self._held: list[Any] = [arrays, words, order]
        self._expected = (ExpectedArray * max(len(arrays), 1))()
        for expected, array in zip(self._expected, arrays, strict=False):
            self._held.append(array.dtype)
            expected.dtype = id(self._held[-1])
            expected.shape = address_of_words(array.shape, self._held)
            expected.rank = array.ndim
            expected.staged = address_of(array)
            expected.nbytes = array.nbytes
        table = self._table = ArrayTable()
        fill_functions(table, gpu)
        table.copy = ctypes.cast(ctypes.CDLL(None).memcpy, ctypes.c_void_p).value
        table.array, table.expected = id(np.ndarray), ctypes.addressof(self._expected)
        table.graph, table.stream = slot.graph.handle, order.own
        table.last_stream, table.fence = ctypes.addressof(order.word), order.fence
        table.words, table.word_count, table.looks = address_of(words), words.size, _LOOKS
        table.inputs, table.outputs = len(slot.inputs), len(slot.outputs)
        self.start = code.builtin("start", table)
        self.finish = code.builtin("finish", table)


@cache
def arrays_are_known() -> bool:
    """Tell whether numpy's arrays lie in memory as the code expects."""
    if np.ndarray.__basicsize__ < FLAGS + ctypes.sizeof(ctypes.c_int):
        return False
    probe = np.zeros((2, 3), np.float32)
    dtype, start = probe.dtype, id(probe)
    data, shape, kind = (
        ctypes.c_void_p.from_address(start + offset).value for offset in (DATA, SHAPE, DTYPE)
    )
    rank, flags = (ctypes.c_int.from_address(start + offset).value for offset in (RANK, FLAGS))
    if (data, rank, kind) != (address_of(probe), probe.ndim, id(dtype)) or not shape:
        return False
    return flags & PLAIN == PLAIN and tuple((ctypes.c_int64 * rank).from_address(shape)) == (2, 3)
