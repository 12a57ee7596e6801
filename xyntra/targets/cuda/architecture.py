# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which GPU a target names, and which code it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xyntra.errors import UnsupportedError

# The first version of PTX with each architecture, as LLVM's NVPTX target lists them.
_PTX = {
    "sm_80": "ptx70",
    "sm_86": "ptx71",
    "sm_89": "ptx78",
    "sm_90": "ptx80",
    "sm_90a": "ptx80",
    "sm_100a": "ptx86",
    "sm_120": "ptx87",
}
_BY_CAPABILITY = {
    (8, 0): "sm_80",
    (8, 6): "sm_86",
    (8, 7): "sm_86",
    (8, 9): "sm_89",
    (9, 0): "sm_90a",
    (10, 0): "sm_100a",
    (12, 0): "sm_120",
}
_TARGET = re.compile(r"cuda(?::(?:(?P<ordinal>\d{1,4})|(?P<architecture>sm_\w+)))?")


@dataclass(frozen=True)
class CudaTarget:
    """What `target=` says: a device by its number, or only an architecture.

    Attributes:
        ordinal: the device; 0 where none was named.
        architecture: what to generate code for; "" for that of the device.
    """

    ordinal: int = 0
    architecture: str = ""


def is_cuda(target: str) -> bool:
    """Tell whether `target` begins as those of this package do."""
    return target.partition(":")[0] == "cuda"


def parse_target(target: str) -> CudaTarget:
    """Read "cuda", "cuda:1" or "cuda:sm_90a".

    Raises:
        UnsupportedError: `target-unsupported`.
    """
    match = _TARGET.fullmatch(target)
    architecture = match["architecture"] or "" if match else ""
    if match is None or (architecture and architecture not in _PTX):
        raise UnsupportedError(
            "target-unsupported",
            f"target '{target}' is not supported",
            hint=f"cuda, cuda:N, or cuda:ARCHITECTURE with one of {', '.join(_PTX)}",
        )
    return CudaTarget(int(match["ordinal"] or 0), architecture)


def ptx_feature(architecture: str) -> str:
    """LLVM's name of the version of PTX that is generated for `architecture`."""
    return _PTX[architecture]


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
