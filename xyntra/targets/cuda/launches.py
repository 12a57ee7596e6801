# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loaded kernels, and launches with their arguments bound."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from xyntra.errors import CompileError
from xyntra.targets.cuda.driver import checked, driver
from xyntra.targets.cuda.kernel_image import ImageLaunch, KernelImage


class LoadedKernel:
    """The code of one kernel on the current GPU."""

    def __init__(self, name: str, image: KernelImage) -> None:
        self.name = name
        self.image = image
        self.functions: list[Any] = []
        if not image.launches:
            return
        cuda = driver()
        code = ctypes.create_string_buffer(image.ptx.encode())
        self._module = checked(
            cuda.cuModuleLoadData(ctypes.addressof(code)), "loading a kernel", name
        )
        for launch in image.launches:
            result = cuda.cuModuleGetFunction(self._module, launch.entry.encode())
            self.functions.append(checked(result, "loading a kernel", name))

    def bind(self, pointers: Sequence[int], scratch: int) -> list[BoundLaunch]:
        """Return the launches with their arguments.

        Args:
            pointers: addresses of inputs and of results that are not written in place.
            scratch: address of the kernel's scratch memory.
        """
        sizes = self.image.scratch
        slots = [scratch + start for start in accumulate(sizes[:-1], initial=0)] if sizes else []
        arguments = [*pointers, *slots]
        return [
            BoundLaunch(self.name, function, launch, arguments)
            for function, launch in zip(self.functions, self.image.launches, strict=True)
        ]


class BoundLaunch:
    """One launch: a function, its grid, and the pointers that it is given."""

    def __init__(
        self, kernel: str, function: Any, launch: ImageLaunch, arguments: Sequence[int]
    ) -> None:
        self.kernel = kernel
        self._function = function
        self._launch = launch
        self._values = (ctypes.c_uint64 * max(len(arguments), 1))(*arguments)
        start = ctypes.addressof(self._values)
        places = [start + 8 * number for number in range(len(arguments))]
        self._pointers = (ctypes.c_void_p * max(len(arguments), 1))(*places)

    def __call__(self, stream: Any) -> None:
        """Put the launch on a stream."""
        grid, block = self._launch.grid, self._launch.block
        arguments = ctypes.addressof(self._pointers)
        result = driver().cuLaunchKernel(
            self._function, grid, 1, 1, block, 1, 1, 0, stream, arguments, 0
        )
        checked(result, "launching a kernel", self.kernel)


def load_kernels(objects: Mapping[str, bytes | memoryview]) -> dict[str, LoadedKernel]:
    """Load the kernels of an artifact onto the current GPU.

    Raises:
        CompileError: the code is damaged.
        DeviceError: the driver refuses it.
    """
    found = {}
    for name, code in objects.items():
        try:
            image = KernelImage.from_bytes(code)
        except (KeyError, TypeError, ValueError) as error:
            raise CompileError(
                "object-load", "compiled kernels could not be loaded", cause=repr(error)
            ) from error
        found[name] = LoadedKernel(name, image)
    return found
