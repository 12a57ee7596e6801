# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the schedules that come with the package, by classes of devices.

A file holds kernels that were measured as faster with other schedules than those of the cost model,
by more than the noise, on one device of its class. It counts for the version that it was made for.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from xyntra.errors import ArchiveError
from xyntra.tune.tuned import Tuned, versions

__all__ = ["FOLDER", "PackagedFile", "PackagedKernel", "packaged_schedules", "read_file"]

FOLDER = Path(__file__).parent
_FORMAT = "xyntra packaged schedules"
_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class PackagedKernel:
    """A kernel whose schedules come with the package.

    Attributes:
        kernel: its key.
        text: its function, before it is given schedules.
        schedules: what it is given.
        usual: what is chosen for it without tuning, which was measured beside these.
        nanoseconds: median of a launch.
        baseline: the same with `usual`.
    """

    kernel: str
    text: str
    schedules: str
    usual: str
    nanoseconds: float
    baseline: float

    def __post_init__(self) -> None:
        texts = self.kernel, self.text, self.schedules, self.usual
        numbers = self.nanoseconds, self.baseline
        if not all(isinstance(each, str) for each in texts):
            raise ValueError("a text of a kernel is none")
        if not all(type(each) in (int, float) and 0 < each < math.inf for each in numbers):
            raise ValueError("a time of a kernel is none")
        if not _are_schedules(json.loads(self.schedules)):
            raise ValueError(f"{self.schedules!r} are no schedules")


@dataclass(frozen=True)
class PackagedFile:
    """What a file holds.

    Attributes:
        device_class: of the devices that it is for, as `Backend.tuning_class` has it.
        device: what was measured on.
        versions: of what made the code.
        opt_level: of LLVM.
        architecture: of the GPU that code was generated for; "" for a processor.
        threads: of the processor that worked on a call.
        kernels: in the order of their keys.
    """

    device_class: str
    device: str
    versions: str
    opt_level: int
    architecture: str
    threads: int
    kernels: tuple[PackagedKernel, ...]

    def to_bytes(self) -> bytes:
        """Return what `read_file` reads: JSON, a line for each kernel."""
        head = {"format": _FORMAT, **asdict(self)}
        del head["kernels"]
        lines = [json.dumps(head, sort_keys=True)]
        ordered = sorted(self.kernels, key=lambda each: each.kernel)
        lines += [json.dumps(asdict(each), sort_keys=True) for each in ordered]
        return "".join(f"{line}\n" for line in lines).encode()


@lru_cache(maxsize=8)
def packaged_schedules(device_class: str, folder: Path = FOLDER) -> dict[str, Tuned]:
    """Return the schedules for a class of devices by the key of the kernel.

    Args:
        device_class: as `Backend.tuning_class` has it; "" for one that there are none for.
        folder: of the files.

    Raises:
        ArchiveError: `tuning-file`, the file is damaged.
    """
    path = folder / f"{device_class}.jsonl"
    if not device_class or not path.is_file():
        return {}
    found = read_file(path)
    if found.versions != versions() or found.device_class != device_class:
        return {}
    return {each.kernel: Tuned(each.schedules, each.nanoseconds, True) for each in found.kernels}


def read_file(path: Path) -> PackagedFile:
    """Read a file of packaged schedules.

    Raises:
        ArchiveError: `tuning-file`, it is damaged, or something else.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError("it is too large")
        head, *lines = [json.loads(line) for line in data.splitlines()]
        if head.pop("format") != _FORMAT:
            raise ValueError("it is something else")
        return _checked(PackagedFile(**head, kernels=tuple(PackagedKernel(**e) for e in lines)))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = "a file of packaged schedules cannot be read"
        raise ArchiveError("tuning-file", message, place=str(path), cause=str(error)) from None


def _are_schedules(entries: Any) -> bool:
    """Whether a worker, which has MLIR, can read them; whether they are legal is found there."""
    if not isinstance(entries, list):
        return False
    told = [each for each in entries if each is not None]
    if not all(isinstance(each, dict) and each.get("emitter") for each in told):
        return False
    values = [value for each in told for value in each.values()]
    numbers = [n for value in values if isinstance(value, list) for n in value]
    return all(isinstance(each, int | str | list) for each in values) and all(
        type(each) is int for each in numbers
    )


def _checked(file: PackagedFile) -> PackagedFile:
    texts: tuple[Any, ...] = file.device_class, file.device, file.versions, file.architecture
    numbers = file.opt_level, file.threads
    if not all(isinstance(each, str) for each in texts) or any(type(n) is not int for n in numbers):
        raise ValueError("its first line is not that of such a file")
    return file
