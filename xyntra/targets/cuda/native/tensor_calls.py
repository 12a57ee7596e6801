# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls with PyTorch's tensors through native code."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from xyntra.plan.plan import Plan, Port, numpy_dtype
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.arrays.dlpack import CUDA, type_words
from xyntra.targets.cuda.driver.driver import failure
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.memory import Address, DeviceMemory
from xyntra.targets.cuda.driver.stream_order import StreamOrder
from xyntra.targets.cuda.graphs.sets import GraphSets
from xyntra.targets.cuda.native.builtins import LoadedCode
from xyntra.targets.cuda.native.driver_functions import address_of_words, fill_functions
from xyntra.targets.cuda.native.tensor_table import Expected, TensorTable

__all__ = ["NativeTensorCalls", "exchange_functions"]

_NAMES = ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__")
_CAPSULE = b"dlpack_exchange_api"
_VERSION = 1
# Words of DLPack's table: version, older table, allocator, two conversions, and those used here.
_READ, _STREAM_OF, _WORDS = 5, 6, 7
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class NativeTensorCalls:
    """Calls of the usual kind: tensors that fit, at addresses that were seen before.

    Args:
        torch: the module.
        functions: DLPack's of its tensors, as `exchange_functions` returns them.
        plan: what is run.
        gpu: where.
        sets: its graphs.
        order: of calls on several streams.
        code: with `call_tensors`.
        place: the kernels, for errors.
        device: DLPack's kind and number; that of `gpu` where not given.
    """

    def __init__(
        self,
        torch: Any,
        functions: tuple[int, int],
        plan: Plan,
        gpu: Gpu,
        sets: GraphSets,
        order: StreamOrder,
        code: LoadedCode,
        place: str | None = None,
        device: tuple[int, int] | None = None,
    ) -> None:
        ports = (*plan.inputs, *plan.results)
        self._gpu = gpu
        self._place = place
        self._inputs = [(p.shape, numpy_dtype(p.dtype)) for p in plan.inputs]
        self._results = [(p.nbytes, p.shape, numpy_dtype(p.dtype)) for p in plan.results]
        self._current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self._expected = (Expected * max(len(ports), 1))()
        self._addresses = (ctypes.c_uint64 * max(len(ports), 1))()
        self._table = TensorTable()
        self._held: list[Any] = [torch.Tensor, torch.Tensor.is_neg, sets, order]
        for expected, port in zip(self._expected, ports, strict=False):
            self._expect(expected, port)
        self._fill(functions, (len(plan.inputs), len(ports)), device or (CUDA, gpu.ordinal))
        self._table.sets, self._table.capacity = sets.address, sets.capacity
        self._table.last_stream = ctypes.addressof(order.word)
        self._table.fence = order.fence
        self._call = code.builtin("call_tensors", self._table)

    def start(
        self, arrays: Sequence[Any], out: Sequence[Any] | None, lock: threading.Lock
    ) -> Sequence[Any] | None:
        """Launch a call and return its outputs; None, with nothing done, where it is unusual.

        Raises:
            DeviceError: the launch failed.
        """
        if DeviceArray in map(type, arrays):
            arrays = self._addresses_of(arrays)
        if out is None:
            out = self._new()
            with lock:
                status = self._call(*arrays, *[each.address for each in out])
        else:
            with lock:
                status = self._call(*arrays, *out)
        if status:
            raise failure(status, "replaying launches", self._place)
        return None if status is None else out

    def _stream(self) -> int:
        return int(self._current_stream(self._gpu.ordinal)) if self._current_stream else 0

    def _addresses_of(self, arrays: Sequence[Any]) -> list[Any]:
        """Replace results of other calls on this stream by addresses where they fit."""
        if len(arrays) != len(self._inputs):
            return list(arrays)
        stream, ordinal = self._stream(), self._gpu.ordinal
        return [
            array.address
            if type(array) is DeviceArray
            and array.stream == stream
            and array.device == ordinal
            and array.shape == shape
            and array.dtype == dtype
            else array
            for array, (shape, dtype) in zip(arrays, self._inputs, strict=True)
        ]

    def _new(self) -> list[DeviceArray]:
        used, stream = self._gpu, self._stream()
        return [
            DeviceArray(used, self._block(nbytes, stream), shape, dtype, stream)
            for nbytes, shape, dtype in self._results
        ]

    def _block(self, nbytes: int, stream: int) -> DeviceMemory:
        used = self._gpu
        block = used.blocks.take_free(nbytes, stream)
        if block is not None:
            return block
        with used.entered():
            return used.blocks.take(nbytes, stream)

    def _expect(self, expected: Expected, port: Port) -> None:
        dtype = numpy_dtype(port.dtype)
        code, bits = type_words(dtype.name, dtype.itemsize)
        lanes = 1
        expected.kind = len(port.shape) | code << 32 | bits << 40 | lanes << 48
        strides = list(accumulate((1, *port.shape[:0:-1]), mul))[::-1] if port.shape else []
        expected.shape = address_of_words(port.shape, self._held)
        expected.strides = address_of_words(strides, self._held)
        expected.nbytes = port.nbytes

    def _fill(
        self, functions: tuple[int, int], counts: tuple[int, int], device: tuple[int, int]
    ) -> None:
        table = self._table
        fill_functions(table, self._gpu)
        table.read, table.stream_of = functions
        table.inputs, table.arguments = counts
        table.device = device[0] | device[1] << 32
        table.tensor, table.is_negated = map(id, self._held[:2])
        table.checked, table.no = id(Address), id(False)
        table.expected = ctypes.addressof(self._expected)
        table.addresses = ctypes.addressof(self._addresses)


def exchange_functions(tensor: type) -> tuple[int, int] | None:
    """Return DLPack's functions that describe a tensor and say its stream, None where it has none.

    Args:
        tensor: the type of a library's arrays.
    """
    found = (vars(tensor).get(name) for name in _NAMES)
    capsule = next((each for each in found if each is not None), None)
    if capsule is None or not _is_valid(capsule, _CAPSULE):
        return None
    words = (ctypes.c_uint64 * _WORDS).from_address(_pointer_in(capsule, _CAPSULE))
    major = words[0] & 0xFFFFFFFF if sys.byteorder == "little" else 0
    if major != _VERSION or not words[_READ] or not words[_STREAM_OF]:
        return None
    return words[_READ], words[_STREAM_OF]
