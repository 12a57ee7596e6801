# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays of other libraries on a GPU: where they lie, and which stream uses them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from xyntra.errors import InputError
from xyntra.plan.calls.arguments import wrong_dtype, wrong_shape
from xyntra.plan.plan import Port, numpy_dtype
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.arrays.dlpack import (
    CUDA,
    CUDA_MANAGED,
    LEGACY_STREAM,
    Described,
    describe,
)


class GivenArray(NamedTuple):
    """An array of a call.

    Attributes:
        address: of its first element.
        keep: what keeps its memory until the call has finished on the GPU; None where the
            library's own allocator sees to that.
    """

    address: int
    keep: Any


class ArrayLibrary(Protocol):
    """The access to the arrays of one library."""

    def ordinal(self, array: Any) -> int | None:
        """Return the GPU that holds an array, None for the memory of the host."""

    def stream(self, array: Any, ordinal: int) -> int | None:
        """Return the stream that the caller uses now, None where the library does not say."""

    def read(self, array: Any, port: Port, stream: int, *, is_output: bool = False) -> GivenArray:
        """Return where an array lies, for use on a stream.

        Raises:
            InputError: it does not fit the port.
        """


class _Torch:
    """PyTorch, asked for pointers and its current stream: DLPack would take longer."""

    def __init__(self, torch: Any) -> None:
        self._current = torch._C._cuda_getCurrentRawStream if torch.cuda.is_available() else None
        self._names: dict[Any, str] = {}

    def ordinal(self, array: Any) -> int | None:
        found = array.get_device() if array.is_cuda else -1
        return None if found < 0 else int(found)

    def stream(self, array: Any, ordinal: int) -> int | None:
        return None if self._current is None else int(self._current(ordinal))

    def read(self, array: Any, port: Port, stream: int, *, is_output: bool = False) -> GivenArray:
        name = self._names.get(array.dtype)
        if name is None:
            name = self._names[array.dtype] = str(array.dtype).removeprefix("torch.")
        if name != port.dtype or array.shape != port.shape:
            raise _wrong(port, name, tuple(array.shape), is_output)
        if not array.is_contiguous() or array.is_neg():
            if is_output:
                raise _gaps(port)
            array = array.contiguous().resolve_neg()
            return GivenArray(array.data_ptr(), array)
        return GivenArray(array.data_ptr(), None)


class _Own:
    """Results of other calls."""

    def ordinal(self, array: DeviceArray) -> int | None:
        return array.device

    def stream(self, array: DeviceArray, ordinal: int) -> int | None:
        return array.stream

    def read(
        self, array: DeviceArray, port: Port, stream: int, *, is_output: bool = False
    ) -> GivenArray:
        if array.shape != port.shape or array.dtype != numpy_dtype(port.dtype):
            raise _wrong(port, array.dtype.name, array.shape, is_output)
        array.make_visible(stream)
        return GivenArray(array.address, None if stream == array.stream else array)


class _Dlpack:
    """Whatever else describes its arrays through DLPack."""

    def ordinal(self, array: Any) -> int | None:
        kind, number = array.__dlpack_device__()
        return int(number) if int(kind) in (CUDA, CUDA_MANAGED) else None

    def stream(self, array: Any, ordinal: int) -> int | None:
        if type(array).__module__.partition(".")[0] == "cupy":
            return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
        return None

    def read(self, array: Any, port: Port, stream: int, *, is_output: bool = False) -> GivenArray:
        capsule, found = described(array, f"'{port.name}'", stream)
        if found.dtype != port.dtype or found.shape != port.shape:
            raise _wrong(port, found.dtype, found.shape, is_output)
        if not found.is_contiguous:
            raise _gaps(port)
        return GivenArray(found.address, capsule)


_OWN, _DLPACK = _Own(), _Dlpack()
_known: dict[type, ArrayLibrary | None] = {np.ndarray: None, DeviceArray: _OWN}


def described(array: Any, what: str, stream: int) -> tuple[Any, Described]:
    """Read an array of the GPU through DLPack.

    Args:
        array: of any library.
        what: it is, for an error.
        stream: on which it will be read.

    Returns:
        What keeps its memory, and what lies there.

    Raises:
        InputError: `input-type`: its library does not give it away.
    """
    try:
        capsule = array.__dlpack__(stream=stream or LEGACY_STREAM)
        return capsule, describe(capsule)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            "input-type",
            f"{what} cannot be read through DLPack",
            cause=str(error),
            hint="detach it" if "grad" in str(error) else "copy it to an array of numpy",
        ) from None


def library_of(value: Any) -> ArrayLibrary | None:
    """Return how to use an array; None for numpy's and for what is no array of a GPU's library."""
    kind = type(value)
    try:
        return _known[kind]
    except KeyError:
        found = _known[kind] = _find(value)
        return found


def usable_torch(libraries: Sequence[ArrayLibrary | None]) -> Any:
    """Return PyTorch's module if it is among some libraries and can use a GPU, else None."""
    if not any(isinstance(each, _Torch) for each in libraries):
        return None
    torch = sys.modules["torch"]
    return torch if torch.cuda.is_available() else None


def _find(value: Any) -> ArrayLibrary | None:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        for kind, library in _known.items():
            if isinstance(library, _Torch) and issubclass(kind, torch.Tensor):
                return library
        return _Torch(torch)
    if isinstance(value, np.ndarray) or not hasattr(type(value), "__dlpack_device__"):
        return None
    return _DLPACK


def check_apart(addresses: Sequence[tuple[int, int]], port: Port, place: tuple[int, int]) -> None:
    """Check that memory for a result shares nothing with other arrays of the call.

    Args:
        addresses: the first byte, and the one past the last, of every other array.
        port: the output.
        place: the same of its memory.

    Raises:
        InputError: `output-overlap`.
    """
    start, end = place
    if any(start < other_end and other < end for other, other_end in addresses):
        raise InputError(
            "output-overlap",
            "the array shares memory with an input or another output",
            place=f"out= for output '{port.name}'",
        )


def _gaps(port: Port) -> InputError:
    return InputError(
        "input-layout",
        f"the array for '{port.name}' is not contiguous",
        hint="make a contiguous copy of it",
    )


def _wrong(port: Port, dtype: str, shape: Sequence[int], is_output: bool) -> InputError:
    if is_output:
        return InputError(
            "input-dtype" if dtype != port.dtype else "input-shape",
            f"'{port.name}' is {port.dtype} of shape {port.shape}",
            cause=f"{dtype} of shape {tuple(shape)} was given",
        )
    if dtype != port.dtype:
        return wrong_dtype(dtype, port)
    return wrong_shape(tuple(shape), port)
