# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays on a GPU that outputs are written over: where they lie, and whether they can be."""

from __future__ import annotations

from typing import Any

from xyntra.errors import InputError
from xyntra.plan.plan import Port, numpy_dtype
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.arrays.foreign_arrays import library_of

__all__ = ["ALIGNMENT", "address_on_gpu", "state_address"]

ALIGNMENT = 16
"""Bytes: what kernels rely on."""
_LEGACY = 0  # the default stream, behind which others come


def state_address(array: Any, port: Port) -> int:
    """Return where an array lies that an output is to be written over.

    Raises:
        InputError: `state-on-host`, `state-layout`, or it does not fit the input.
    """
    library = library_of(array)
    if library is None or library.ordinal(array) is None:
        raise InputError(
            "state-on-host",
            f"the array for '{port.name}', which an output is written over, is not on the GPU",
            cause="it would have to be copied there and back in every call",
            hint="exe.new_states() makes such arrays, and so does PyTorch",
        )
    if isinstance(array, DeviceArray):
        is_alike = array.shape == port.shape and array.dtype == numpy_dtype(port.dtype)
        address = array.address if is_alike else library.read(array, port, _LEGACY).address
    else:
        address = library.read(array, port, _LEGACY, is_output=True).address
    if address % ALIGNMENT:
        raise InputError(
            "state-layout",
            f"an output is written where input '{port.name}' lies",
            cause=f"that needs an array that starts at a multiple of {ALIGNMENT} bytes",
        )
    return address


def address_on_gpu(array: Any) -> int | None:
    """Return where an array lies; None where that is not on a GPU, or asking for it takes long."""
    if isinstance(array, DeviceArray):
        return array.address
    pointer = getattr(array, "data_ptr", None)
    if pointer is None or not getattr(array, "is_cuda", False):
        return None
    return int(pointer())
