# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies arrays of the host, and of other libraries, into memory of a GPU that we own."""

from __future__ import annotations

from typing import Any

import numpy as np

from xyntra.errors import InputError
from xyntra.plan.plan import numpy_dtype
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.arrays.foreign_arrays import described, library_of
from xyntra.targets.cuda.driver.driver import checked, driver
from xyntra.targets.cuda.driver.gpu import Gpu

__all__ = ["placed"]


def placed(array: Any, used: Gpu) -> DeviceArray:
    """Return the elements of an array in memory of its own on a GPU.

    Args:
        array: of numpy, or of any library on that GPU.
        used: the GPU.

    Raises:
        InputError: the array lies on another GPU, or cannot be read through DLPack.
        DeviceError: the GPU failed, or has not so much memory.
    """
    library = library_of(array)
    ordinal = None if library is None else library.ordinal(array)
    if ordinal is None:
        return _uploaded(np.ascontiguousarray(array), np.shape(array), used)
    if ordinal != used.ordinal:
        return placed(np.asarray(array), used) if isinstance(array, DeviceArray) else _far(ordinal)
    return _copied(array, used)


def _uploaded(array: np.ndarray[Any, Any], shape: tuple[int, ...], used: Gpu) -> DeviceArray:
    with used.entered():
        stream = used.stream
        block = used.blocks.take(array.nbytes, stream)
        used.transfers.upload(array, block.address, stream)
    return DeviceArray(used, block, shape, array.dtype, stream)


def _copied(array: Any, used: Gpu) -> DeviceArray:
    """Copy on the GPU, and wait: the array's own library does not know of our stream."""
    with used.entered():
        stream = used.stream
        capsule, found = described(array, f"a {type(array).__name__}", stream)
        if not found.is_contiguous:
            raise InputError(
                "input-layout", "the array is not contiguous", hint="make a contiguous copy of it"
            )
        dtype = numpy_dtype(found.dtype)
        result = DeviceArray(
            used, used.blocks.take(_bytes(found.shape, dtype), stream), found.shape, dtype, stream
        )
        if result.nbytes:
            used.direct.between(result.address, found.address, result.nbytes, stream)
            checked(driver().cuStreamSynchronize(stream), "copying an array")
        del capsule
    return result


def _bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize


def _far(ordinal: int) -> DeviceArray:
    raise InputError(
        "input-device",
        f"the array lies on GPU {ordinal}",
        hint="move it to the GPU that computes, or to the host",
    )
