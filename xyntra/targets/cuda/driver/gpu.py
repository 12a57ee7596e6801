# SPDX-License-Identifier: MIT OR Apache-2.0
"""A GPU in use by this process: its context, and what all programs on it share."""

from __future__ import annotations

from functools import cached_property, lru_cache

from xyntra.errors import DeviceError
from xyntra.targets.cuda.driver.device import cuda_device
from xyntra.targets.cuda.driver.device_blocks import DeviceBlocks
from xyntra.targets.cuda.driver.direct import direct
from xyntra.targets.cuda.driver.driver import LOST, checked, driver, lost_again
from xyntra.targets.cuda.driver.small_copies import SmallCopies
from xyntra.targets.cuda.driver.transfers import Transfers


class Gpu:
    """The primary context of a GPU, which other libraries use as well.

    Attributes:
        ordinal: the GPU.
        context: its handle.
        direct: the driver's functions.
        blocks: memory that device arrays take and give back.
        transfers: copies from and to pageable memory.
    """

    def __init__(self, ordinal: int) -> None:
        self.device = cuda_device(ordinal)  # a clear error where there is none
        self.ordinal = ordinal
        self.direct = direct()
        cuda = driver()
        handle = checked(cuda.cuDeviceGet(ordinal), "opening a GPU")
        self.context = int(checked(cuda.cuDevicePrimaryCtxRetain(handle), "opening a GPU"))
        self.blocks = DeviceBlocks()
        self.transfers = Transfers(self.direct, self.context)
        self._lost: DeviceError | None = None

    @cached_property
    def small_copies(self) -> SmallCopies:
        """Copies of small arrays; loaded when first asked for, by a thread that has entered."""
        return SmallCopies(self.direct)

    stream = 0
    """The stream in whose order arrays are placed on the GPU: the default one."""

    def check(self) -> None:
        """Raise if an earlier error has made the GPU unusable to this process."""
        if self._lost is not None:
            raise lost_again(self._lost)

    @property
    def is_lost(self) -> bool:
        """Tell whether an earlier error has made the GPU unusable to this process."""
        return self._lost is not None

    def note(self, error: DeviceError) -> None:
        """Remember an error after which the context cannot be used any more."""
        if error.hint is not None and error.hint.startswith(LOST) and self._lost is None:
            self._lost = error

    def entered(self) -> Entry:
        """Make the context current in this thread, by `with`."""
        return Entry(self)


class Entry:
    """A use of a GPU by a thread; what makes the GPU unusable meanwhile is noted."""

    __slots__ = ("_entered", "_gpu")

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu

    def __enter__(self) -> None:
        gpu = self._gpu
        gpu.check()
        self._entered = gpu.direct.enter(gpu.context)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, DeviceError):
            self._gpu.note(error)
        if self._entered:
            self._gpu.direct.leave()


@lru_cache(maxsize=16)
def gpu(ordinal: int) -> Gpu:
    """Return a GPU by its number.

    Raises:
        DeviceError: there is none of that number, or no driver.
        UnsupportedError: no code can be generated for it.
    """
    return Gpu(ordinal)
