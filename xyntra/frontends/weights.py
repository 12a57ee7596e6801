# SPDX-License-Identifier: MIT OR Apache-2.0
"""Weights that stay in the file they came in: references, and read-only arrays made from them.

A `WeightRef` says where a tensor's bytes are and how they are stored. It is small, can be sent to
another process as JSON, and is checked against the file before use. A `WeightSource` maps every
file once and hands out read-only numpy arrays: views of the mapping where the bytes are the array,
decoded copies where they are not. Hosts are little-endian, like the formats.

A mapped file must not be truncated while views of it are alive: reading beyond the new end stops
the process (SIGBUS), which no check here can prevent. Replacing a file by renaming another over it
is safe.
"""

from __future__ import annotations

import math
import mmap
import os
import stat
import weakref
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from xyntra.errors import ModelError
from xyntra.frontends.weight_types import DTYPE_BITS, dtype_of, stored_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENCODINGS = ("raw", "varint", "tagged-fixed", "tagged-varint")
"""raw: little-endian elements, those of less than a byte packed from the low bits up. varint: a
protobuf varint an element (a byte, where elements are smaller). tagged: fixed-size elements or
varints, each behind the one-byte tag of its field."""

Fingerprint = tuple[int, int]
"""Size in bytes and modification time in nanoseconds of a file."""

MAX_ELEMENTS = 1 << 48
"""Bound on the product of a shape's dimensions, zeros counted as ones."""


@dataclass(frozen=True)
class WeightRef:
    """The place of a stored tensor, and its format.

    `shape` and `dtype` (a key of `DTYPE_BITS`) are those of the array; `offset` and `nbytes`
    delimit the stored bytes in `file`, or in the scanned bytes where `file` is None; `encoding` is
    one of `ENCODINGS`. `fingerprint` is that of `file` when it was scanned.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str | None
    offset: int
    nbytes: int
    encoding: str = "raw"
    fingerprint: Fingerprint | None = None

    @property
    def contiguous(self) -> bool:
        """Tell whether the stored bytes are the array's bytes."""
        return self.encoding == "raw" and DTYPE_BITS[self.dtype] >= 8

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def load(self, buffer: memoryview | bytes | None = None) -> NDArray[Any]:
        """The array, read-only, from `buffer` (the scanned bytes or the whole file) or from `file`.

        Raises:
            ModelError: `weights-changed`, `weights-missing`, or the bytes do not decode.
        """
        if buffer is None:
            return WeightSource().load(self)
        return _decode(self, _slice(self, memoryview(buffer)), aligned=True)

    def to_json(self) -> dict[str, Any]:
        """A dictionary of JSON values, from which `from_json` makes an equal reference."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> WeightRef:
        """The reference that `to_json` described.

        Raises:
            ModelError: `weight-ref-invalid`, a value is missing, unknown or out of range.
        """
        try:
            fields = dict(data)
            fields["shape"] = tuple(fields["shape"])
            mark = fields.get("fingerprint")
            fields["fingerprint"] = None if mark is None else (int(mark[0]), int(mark[1]))
            ref = cls(**fields)
            _validate(ref)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelError(
                "weight-ref-invalid", "a weight reference is not valid", cause=str(error)
            ) from None
        return ref


class MappedFile:
    """A regular file mapped read-only, with what is needed to see later that it has changed.

    Raises:
        OSError: the file cannot be opened; IsADirectoryError also for anything not a regular file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        # Opening a FIFO would wait for a writer.
        self._fd = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
        weakref.finalize(self, os.close, self._fd)
        status = os.fstat(self._fd)
        if not stat.S_ISREG(status.st_mode):
            raise IsADirectoryError(f"{os.fspath(path)!r} is not a regular file")
        self.path = os.fspath(path)
        self.fingerprint: Fingerprint = (status.st_size, status.st_mtime_ns)
        # mmap refuses empty files.
        self.view = memoryview(b"")
        if status.st_size:
            self.view = memoryview(mmap.mmap(self._fd, status.st_size, access=mmap.ACCESS_READ))

    def unchanged(self) -> bool:
        """Tell whether the file still has the size and modification time it was mapped with."""
        return self._now() == self.fingerprint

    def check(self, expected: Fingerprint | None = None) -> None:
        """Refuses the file where it is no longer the one that was mapped, or not `expected`.

        Raises:
            ModelError: `weights-changed`.
        """
        now = self._now()
        then = expected or self.fingerprint
        if now == then == self.fingerprint:
            return
        cause = "its modification time differs"
        if now[0] != then[0]:
            cause = f"it has {now[0]} bytes, it had {then[0]}"
        raise ModelError(
            "weights-changed",
            "the weights file was changed after the model was read",
            place=self.path,
            cause=cause,
            hint="compile the model again",
        )

    def _now(self) -> Fingerprint:
        status = os.fstat(self._fd)
        return status.st_size, status.st_mtime_ns


class WeightSource:
    """Read-only arrays for references; maps each file once and keeps it mapped.

    `buffer` holds the bytes that references without a file point into; `files` are mappings to
    start with. A mapping lives until the source and every array viewing it are gone.
    """

    def __init__(
        self, buffer: memoryview | bytes | None = None, files: tuple[MappedFile, ...] = ()
    ) -> None:
        self._buffer = None if buffer is None else memoryview(buffer)
        self._files = {file.path: file for file in files}

    def load(self, ref: WeightRef, *, aligned: bool = True) -> NDArray[Any]:
        """The array of `ref`, read-only, in `ref.shape` and `ref.dtype`.

        A view of the file where the bytes are contiguous and lie at a multiple of the element's
        size; with `aligned=False` also where they do not (such a view is slower to read in place
        but saves the copy for whoever repacks it). Copies start at a multiple of 64 bytes.

        Raises:
            ModelError: `weights-changed`, `weights-missing`, or the bytes do not decode.
        """
        return _decode(ref, self.stored(ref), aligned=aligned)

    def stored(self, ref: WeightRef) -> memoryview:
        """The bytes of `ref` as they are in the file, without decoding.

        Raises:
            ModelError: `weights-changed` or `weights-missing`.
        """
        if ref.file is None:
            if self._buffer is None:
                raise ModelError(
                    "weights-missing",
                    f"weight {ref.name!r} lies in a model given as bytes, which are not at hand",
                )
            return _slice(ref, self._buffer)
        file = self._files.get(ref.file) or self._open(ref.file, ref.name)
        file.check(ref.fingerprint)
        return _slice(ref, file.view)

    def _open(self, path: str, name: str) -> MappedFile:
        try:
            file = MappedFile(path)
        except (OSError, ValueError) as error:
            raise ModelError(
                "weights-missing",
                f"the file with weight {name!r} cannot be read",
                place=path,
                cause=str(error),
            ) from None
        self._files[path] = file
        return file


def _slice(ref: WeightRef, data: memoryview) -> memoryview:
    end = ref.offset + ref.nbytes
    if end > len(data):
        raise ModelError(
            "weights-changed",
            f"weight {ref.name!r} lies beyond the end of the file",
            place=ref.file,
            cause=f"it ends at byte {end} of {len(data)}",
        )
    return data[ref.offset : end]


def _validate(ref: WeightRef) -> None:
    texts = (ref.name, ref.dtype, ref.encoding, ref.file or "")
    numbers = (*ref.shape, ref.offset, ref.nbytes)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("name, dtype, encoding and file must be text")
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("shape, offset and nbytes must be integers that are not negative")
    if ref.dtype not in DTYPE_BITS or ref.encoding not in ENCODINGS:
        raise ValueError(f"dtype {ref.dtype!r} or encoding {ref.encoding!r} is unknown")
    if math.prod(max(size, 1) for size in ref.shape) > MAX_ELEMENTS:
        raise ValueError(f"shape {ref.shape} has too many elements")
    if ref.encoding == "raw" and ref.nbytes != stored_bytes(ref.dtype, ref.count):
        raise ValueError(f"{ref.nbytes} bytes are not shape {ref.shape} of {ref.dtype}")


def _decode(ref: WeightRef, stored: memoryview, *, aligned: bool) -> NDArray[Any]:
    import numpy as np

    dtype = dtype_of(ref.dtype)
    data = np.frombuffer(stored, np.uint8) if ref.nbytes else np.empty(0, np.uint8)
    if not ref.contiguous or ref.dtype == "bool":
        from xyntra.frontends import weight_codecs

        data = weight_codecs.decode(ref, data)
    if data.nbytes != ref.count * dtype.itemsize:
        raise ModelError(
            "tensor-size-mismatch",
            f"weight {ref.name!r} does not fit its shape {ref.shape} and dtype {ref.dtype}",
            place=ref.file,
            cause=f"{ref.count * dtype.itemsize} bytes are needed, {data.nbytes} were decoded",
        )
    if aligned and data.ctypes.data % dtype.itemsize:
        data = _aligned_copy(data)
    array = data.view(dtype).reshape(ref.shape)
    array.flags.writeable = False
    return array


def _aligned_copy(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    import numpy as np

    room = np.empty(data.size + 63, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + data.size]
    copy[:] = data
    return copy
