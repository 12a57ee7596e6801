# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes a compiled kernel as it is kept: how to launch it, and its WGSL."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ShaderImage", "ShaderLaunch"]


@dataclass(frozen=True)
class ShaderLaunch:
    """One launch of an entry point.

    Attributes:
        entry: its name.
        grid: workgroups in two dimensions.
        block: invocations of a workgroup.
        buffers: what it is bound to, in order, by numbers of the kernel's pointers: inputs, results
            that are not written in place, scratch slots.
        packed: numbers of pointers whose memory is copied side by side into one more buffer, the
            last to be bound, and the words at which each begins there; empty where there is none.
        written: which of these it may write to.
        schedule: what its code was made by, in words.
        starts: the byte at which each of `buffers` is bound, for parts of one that is larger than a
            binding; empty where all are bound as a whole.
    """

    entry: str
    grid: tuple[int, int]
    block: int
    buffers: tuple[int, ...]
    packed: tuple[tuple[int, int], ...]
    written: tuple[bool, ...]
    schedule: str = ""
    starts: tuple[int, ...] = ()

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> ShaderLaunch:
        """Rebuild it from what `asdict` and JSON make of it.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        columns, rows = map(int, fields["grid"])
        buffers = tuple(map(int, fields["buffers"]))
        written = tuple(map(bool, fields["written"]))
        packed = tuple((int(pointer), int(start)) for pointer, start in fields["packed"])
        if len(written) != len(buffers) + bool(packed):
            raise ValueError("a launch says of other buffers whether they are written")
        starts = tuple(map(int, fields.get("starts", ())))
        starts = starts if any(starts) else ()
        if starts and (len(starts) != len(buffers) or min(starts) < 0):
            raise ValueError("a launch says of other buffers where they begin")
        block, schedule = int(fields["block"]), str(fields["schedule"])
        grid = columns, rows
        return cls(str(fields["entry"]), grid, block, buffers, packed, written, schedule, starts)


@dataclass(frozen=True)
class ShaderImage:
    """A kernel as a GPU loads it.

    Attributes:
        launches: in order.
        scratch: bytes of every scratch slot.
        wgsl: the code.
    """

    launches: tuple[ShaderLaunch, ...]
    scratch: tuple[int, ...]
    wgsl: str

    def to_bytes(self) -> bytes:
        """A line of JSON and the WGSL."""
        head = {"launches": [asdict(each) for each in self.launches], "scratch": self.scratch}
        return json.dumps(head).encode() + b"\n" + self.wgsl.encode()

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> ShaderImage:
        """What `to_bytes` wrote; KeyError, TypeError or ValueError if it is something else."""
        head, _, wgsl = bytes(data).partition(b"\n")
        fields: dict[str, Any] = json.loads(head)
        launches = tuple(ShaderLaunch.from_fields(each) for each in fields["launches"])
        return cls(launches, tuple(map(int, fields["scratch"])), wgsl.decode())
