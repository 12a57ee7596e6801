# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is kept of one compiled kernel: how to launch it, and its PTX."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ImageLaunch:
    """One launch of an entry point.

    Attributes:
        entry: its symbol.
        grid: blocks.
        block: threads of a block.
    """

    entry: str
    grid: int
    block: int


@dataclass(frozen=True)
class KernelImage:
    """A kernel as a GPU loads it.

    Attributes:
        launches: in order; every entry point takes all pointers of the kernel: inputs, results
            that are not written in place, scratch slots.
        scratch: bytes of every scratch slot.
        ptx: the code.
    """

    launches: tuple[ImageLaunch, ...]
    scratch: tuple[int, ...]
    ptx: str

    def to_bytes(self) -> bytes:
        """A line of JSON and the PTX."""
        head = {"launches": [asdict(each) for each in self.launches], "scratch": self.scratch}
        return json.dumps(head).encode() + b"\n" + self.ptx.encode()

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> KernelImage:
        """What `to_bytes` wrote; KeyError, TypeError or ValueError if it is something else."""
        head, _, ptx = bytes(data).partition(b"\n")
        fields: dict[str, Any] = json.loads(head)
        launches = tuple(ImageLaunch(**entry) for entry in fields["launches"])
        return cls(launches, tuple(map(int, fields["scratch"])), ptx.decode())
