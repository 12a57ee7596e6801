# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays in the memory of a GPU, which other libraries take through DLPack without a copy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from xyntra.errors import DeviceError
from xyntra.targets.cuda.arrays.dlpack import CUDA, LEGACY_STREAM, capsule_of
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.memory import DeviceMemory, Event

Array = np.ndarray[Any, Any]


class DeviceArray:
    """A row-major array that a model has written into the memory of a GPU.

    It can be given to another model, copied to the host with `numpy()`, and taken without a copy by
    whatever knows DLPack: `torch.from_dlpack(array)`, `cupy.from_dlpack`, `jax.dlpack.from_dlpack`.
    Its contents are there once its stream has come so far: `numpy()` waits, and streams that take
    the array through DLPack wait, too.

    Attributes:
        shape: the dimensions.
        dtype: the dtype, one of numpy's or ml_dtypes'.
        device: the number of the GPU.
        stream: the handle of the stream that writes it.
        address: of the first element.
    """

    __slots__ = (
        "__weakref__",
        "_gpu",
        "_memory",
        "_readers",
        "_source",
        "address",
        "device",
        "dtype",
        "shape",
        "stream",
    )

    def __init__(
        self,
        gpu: Gpu,
        memory: DeviceMemory,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        stream: int,
        source: str | None = None,
    ) -> None:
        self._source = source  # the kernels that write it, for errors
        self._gpu = gpu
        self._memory = memory
        self._readers: set[int] | None = None  # other streams that were given the memory
        self.shape = shape
        self.dtype = dtype
        self.stream = stream
        self.device = gpu.ordinal
        self.address = memory.address

    @property
    def nbytes(self) -> int:
        """Size of the array in bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def is_read_elsewhere(self) -> bool:
        """Whether other streams were given the memory, whose work may not have ended."""
        return bool(self._readers)

    def numpy(self) -> Array:
        """Return a copy in the memory of the host.

        Raises:
            DeviceError: what computes the array failed.
        """
        array = np.empty(self.shape, self.dtype)
        try:
            with self._gpu.entered():
                self._gpu.transfers.download(self.address, array, self.stream)
        except DeviceError as error:
            error.place = error.place or self._source
            raise
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an array on a GPU cannot be seen from the host without a copy")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CUDA, self.device)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule of DLPack; `stream` waits until the array is written.

        Args:
            stream: as DLPack says: None or 1 for the legacy default stream, -1 for no wait.
            max_version: the newest version of DLPack that is understood; every one is served.
            dl_device: where the array is wanted.
            copy: whether a copy is wanted.

        Raises:
            BufferError: the array is wanted elsewhere, or as a copy.
        """
        del max_version
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the array is given away as it is, where it is")
        if stream != -1:
            self.make_visible(LEGACY_STREAM if stream is None else stream)
        dtype = self.dtype
        return capsule_of(self, self.address, self.device, dtype.name, dtype.itemsize, self.shape)

    def make_visible(self, stream: int) -> None:
        """Let another stream wait until the array is written; it may read it from there on."""
        stream = 0 if stream == LEGACY_STREAM else stream
        if stream == self.stream:
            return
        with self._gpu.entered():
            self._order(first=self.stream, then=stream)
        self._read_on(stream)

    def written_on(self, stream: int) -> None:
        """Note that work on `stream`, which waits for the array already, overwrites it."""
        if stream != self.stream:
            self._read_on(self.stream)
            self.stream = stream

    def _read_on(self, stream: int) -> None:
        if self._readers is None:
            self._readers = set()
        self._readers.add(stream)

    def __repr__(self) -> str:
        shape = ",".join(map(str, self.shape))
        return f"DeviceArray({self.dtype.name}[{shape}] on cuda:{self.device})"

    def __del__(self, _is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # At the end of the process modules are torn down, and their names may be gone.
        if _is_ending():
            return
        try:
            if self._readers:
                self._let_readers_end(self._readers)
            self._gpu.blocks.give_back(self._memory, self.stream)
        except (AttributeError, DeviceError):
            return  # memory of a GPU that is lost is left to the end of the process

    def _let_readers_end(self, readers: set[int]) -> None:
        """Let work that reuses the memory not overtake what still reads it elsewhere."""
        with self._gpu.entered():
            for reader in readers - {self.stream}:
                self._order(first=reader, then=self.stream)

    def _order(self, first: int, then: int) -> None:
        event = Event()
        self._gpu.direct.record(event.handle, first)
        self._gpu.direct.wait(then, event.handle)
