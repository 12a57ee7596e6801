# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads names of CUDA targets, and finds the architecture of a GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xyntra.errors import UnsupportedError
from xyntra.passes.lower.gpu.device import DEVICES, device_of

_BY_CAPABILITY = {
    capability: each.name for each in DEVICES.values() for capability in each.capabilities
}
_TARGET = re.compile(r"cuda(?::(?:(?P<ordinal>\d{1,4})|(?P<architecture>sm_\w+)))?")


@dataclass(frozen=True)
class CudaTarget:
    """A device that `target=` names: by its number, or by its architecture alone.

    Attributes:
        ordinal: the device; 0 where none was named.
        architecture: what to generate code for; "" for that of the device.
    """

    ordinal: int = 0
    architecture: str = ""


def parse_target(target: str) -> CudaTarget:
    """Read "cuda", "cuda:1" or "cuda:sm_90a".

    Raises:
        UnsupportedError: `target-unsupported`.
    """
    match = _TARGET.fullmatch(target)
    architecture = match["architecture"] or "" if match else ""
    if match is None or (architecture and architecture not in DEVICES):
        raise UnsupportedError(
            "target-unsupported",
            f"target '{target}' is not supported",
            hint=f"cuda, cuda:N, or cuda:ARCHITECTURE with one of {', '.join(DEVICES)}",
        )
    return CudaTarget(int(match["ordinal"] or 0), architecture)


def ptx_feature(architecture: str) -> str:
    """LLVM's name of the version of PTX that is generated for `architecture`."""
    return device_of(architecture).ptx


def architecture_of(capability: tuple[int, int]) -> str:
    """The architecture of a device by its compute capability.

    Raises:
        UnsupportedError: `device-unsupported`.
    """
    found = _BY_CAPABILITY.get(capability)
    if found is None:
        known = ", ".join(f"{major}.{minor}" for major, minor in _BY_CAPABILITY)
        raise UnsupportedError(
            "device-unsupported",
            f"GPUs of compute capability {capability[0]}.{capability[1]} are not supported",
            hint=f"supported are {known}",
        )
    return found
