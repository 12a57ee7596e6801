# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks the driver for the GPUs of this machine and their properties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xyntra.errors import DeviceError
from xyntra.targets.cuda.code.architecture import architecture_of
from xyntra.targets.cuda.driver.driver import checked, driver


@dataclass(frozen=True)
class CudaDevice:
    """A GPU.

    Attributes:
        ordinal: its number.
        name: NVIDIA's name.
        architecture: what code is generated for it, such as "sm_90a".
        cores: multiprocessors.
        vector_bits: bits that one warp's instruction works on.
        memory_bytes: of the device.
        shared_bytes: of shared memory that one block may use.
    """

    ordinal: int
    name: str
    architecture: str
    cores: int
    vector_bits: int
    memory_bytes: int
    shared_bytes: int

    def __repr__(self) -> str:
        return f"<cuda:{self.ordinal}: {self.summary}>"

    @property
    def summary(self) -> str:
        """Return what it is, on one line."""
        memory = f"{self.memory_bytes / (1 << 30):.0f} GiB"
        return f"{self.name}, {self.architecture}, {self.cores} multiprocessors, {memory}"


@lru_cache(maxsize=16)
def cuda_device(ordinal: int) -> CudaDevice:
    """Return a GPU by its number.

    Raises:
        DeviceError: there is none of that number, or no driver.
        UnsupportedError: no code can be generated for it.
    """
    cuda = driver()
    count = checked(cuda.cuDeviceGetCount(), "counting GPUs")
    if ordinal >= count:
        raise DeviceError("no-gpu", f"there is no GPU {ordinal}", cause=f"{count} were found")
    handle = checked(cuda.cuDeviceGet(ordinal), "opening a GPU")
    kinds = cuda.CUdevice_attribute
    name = checked(cuda.cuDeviceGetName(128, handle), "asking a GPU's name")

    def ask(attribute: Any) -> int:
        return int(checked(cuda.cuDeviceGetAttribute(attribute, handle), "asking a GPU"))

    capability = (
        ask(kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        ask(kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    )
    return CudaDevice(
        ordinal=ordinal,
        name=name.split(b"\0")[0].decode(),
        architecture=architecture_of(capability),
        cores=ask(kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        vector_bits=32 * ask(kinds.CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        memory_bytes=int(checked(cuda.cuDeviceTotalMem(handle), "asking a GPU's memory")),
        shared_bytes=ask(kinds.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    )


def no_device_reason() -> str:
    """Why `cuda_devices` returns none."""
    from xyntra.errors import XyntraError

    try:
        count = checked(driver().cuDeviceGetCount(), "counting GPUs")
        if not count:
            return "no GPU was found"
        cuda_device(0)
    except XyntraError as error:
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return "none"


def cuda_devices() -> list[CudaDevice]:
    """Return every GPU that code can be generated for; none without a driver."""
    from xyntra.errors import XyntraError

    try:
        count = checked(driver().cuDeviceGetCount(), "counting GPUs")
    except XyntraError:
        return []
    found = []
    for ordinal in range(count):
        try:
            found.append(cuda_device(ordinal))
        except XyntraError:
            continue
    return found
