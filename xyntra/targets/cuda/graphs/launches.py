# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loaded kernels, and launches with their arguments bound."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from itertools import accumulate
from typing import Any

from xyntra.errors import CompileError
from xyntra.targets.cuda.code.cubins import machine_codes
from xyntra.targets.cuda.code.kernel_image import ImageLaunch, ImageMap, KernelImage
from xyntra.targets.cuda.driver.direct import Direct
from xyntra.targets.cuda.driver.driver import checked, driver
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.prepared_launch import PreparedLaunch
from xyntra.targets.cuda.driver.tensor_maps import MAP_ALIGNMENT, MAP_BYTES, encode_map

_POINTER = 8  # bytes
_THREADS = 8
_KEPT_MAPS = 64  # of a launch
_PORTABLE_CLUSTER = 8  # blocks; larger clusters exist on some GPUs only


class LoadedKernel:
    """The code of one kernel on the current GPU.

    Where there is no machine code, or none that the driver takes, the driver assembles the PTX, or
    takes what its own cache on disk has of an earlier load. (Its linker would hand out machine code
    for a cache of ours, but assembles for separate compilation: `setmaxnreg` is ignored there, and
    kernels of several roles spill.)

    Args:
        name: of the kernel.
        image: its launches and PTX.
        direct: the driver's functions.
        code: its machine code, if there is some.
    """

    def __init__(
        self, name: str, image: KernelImage, direct: Direct, code: bytes | None = None
    ) -> None:
        self.name = name
        self._direct = direct
        self.image = image
        self.functions: list[Any] = []
        if not image.launches:
            return
        cuda = driver()
        self._module = _loaded(name, image.ptx, code)
        for launch in image.launches:
            result = cuda.cuModuleGetFunction(self._module, launch.entry.encode())
            self.functions.append(checked(result, "loading a kernel", name))
            self._allow(self.functions[-1], launch)

    def bind(self, pointers: Sequence[int], scratch: int) -> list[BoundLaunch]:
        """Return the launches with their arguments, but for those that have no blocks.

        Args:
            pointers: addresses of inputs and of results that are not written in place.
            scratch: address of the kernel's scratch memory.
        """
        sizes = self.image.scratch
        slots = [scratch + start for start in accumulate(sizes[:-1], initial=0)] if sizes else []
        arguments = [*pointers, *slots]
        return [
            BoundLaunch(self.name, function, launch, arguments, self._direct)
            for function, launch in zip(self.functions, self.image.launches, strict=True)
            if launch.grid  # of a part that has no elements at some sizes
        ]

    def with_image(self, image: KernelImage) -> LoadedKernel:
        """Return the same code with launches of other sizes."""
        other = copy(self)
        other.image = image
        return other

    def _allow(self, function: Any, launch: ImageLaunch) -> None:
        """Let a function have what it must ask for: shared memory, large clusters."""
        cuda = driver()
        names = cuda.CUfunction_attribute
        wanted = {}
        if launch.shared:
            wanted[names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = launch.shared
        if launch.cluster > _PORTABLE_CLUSTER:
            wanted[names.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] = 1
        for attribute, value in wanted.items():
            result = cuda.cuFuncSetAttribute(function, attribute, value)
            checked(result, "loading a kernel", self.name)


class BoundLaunch(PreparedLaunch):
    """One launch of a kernel, with the pointers, tensor maps and sizes that it is given."""

    def __init__(
        self,
        kernel: str,
        function: Any,
        launch: ImageLaunch,
        arguments: Sequence[int],
        direct: Direct,
    ) -> None:
        words = [*arguments, *launch.sizes]
        self._values = (ctypes.c_uint64 * max(len(words), 1))(*words)
        start = ctypes.addressof(self._values)
        of_words = [start + _POINTER * number for number in range(len(words))]
        places, sizes = of_words[: len(arguments)], of_words[len(arguments) :]
        self._maps = ctypes.create_string_buffer(MAP_BYTES * len(launch.maps) + MAP_ALIGNMENT)
        first = -(-ctypes.addressof(self._maps) // MAP_ALIGNMENT) * MAP_ALIGNMENT
        self._described = [(m, first + MAP_BYTES * n) for n, m in enumerate(launch.maps)]
        self._encoded: dict[tuple[int, int], bytes] = {}
        for each, place in self._described:
            places.append(place)
            encode_map(each, arguments[each.argument], place, kernel)
        super().__init__(direct, kernel, int(function), launch, [*places, *sizes])

    def move(self, argument: int, address: int) -> None:
        """Let an array that it is given lie elsewhere from the next launch on.

        Args:
            argument: the array's number among its arguments.
            address: where it lies.
        """
        self._values[argument] = address
        for each, place in self._described:
            if each.argument == argument:
                self._describe(each, address, place)

    def _describe(self, image: ImageMap, address: int, place: int) -> None:
        """Put a tensor map in its place; those of earlier addresses are kept."""
        known = self._encoded.get((place, address))
        if known is not None:
            ctypes.memmove(place, known, MAP_BYTES)
            return
        encode_map(image, address, place, self.kernel)
        if len(self._encoded) >= _KEPT_MAPS:
            self._encoded.clear()
        self._encoded[place, address] = ctypes.string_at(place, MAP_BYTES)


def _loaded(name: str, ptx: str, code: bytes | None) -> Any:
    """Return a module of the driver."""
    cuda = driver()
    if code is not None:
        status, module = cuda.cuModuleLoadData(code)
        if not int(status):
            return module
    text = ctypes.create_string_buffer(ptx.encode())
    loaded = cuda.cuModuleLoadData(ctypes.addressof(text))
    return checked(loaded, "loading a kernel", name)


def load_kernels(objects: Mapping[str, bytes | memoryview], gpu: Gpu) -> dict[str, LoadedKernel]:
    """Load the kernels of an artifact onto a GPU, whose context is current.

    Raises:
        CompileError: the code is damaged.
        DeviceError: the driver refuses it.
    """
    try:
        images = {name: KernelImage.from_bytes(code) for name, code in objects.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise CompileError(
            "object-load", "compiled kernels could not be loaded", cause=repr(error)
        ) from error

    ptx = {name: image.ptx for name, image in images.items() if image.launches}
    codes = machine_codes(ptx, gpu.device.architecture)

    def load(name: str) -> LoadedKernel:
        with gpu.entered():
            return LoadedKernel(name, images[name], gpu.direct, codes.get(name))

    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1), "xyntra-load") as threads:
        return dict(zip(images, threads.map(load, images), strict=True))
