# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stores a compiled kernel: its launches and its PTX."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

_LISTS = frozenset({"sizes", "strides", "box", "lower", "upper", "steps"})


@dataclass(frozen=True)
class ImageMap:
    """A tensor map that a launch takes by value, as the driver encodes it.

    Attributes:
        element: f16, bf16, f32, tf32, i8 or i32.
        sizes: elements of every dimension, innermost first.
        strides: bytes, of every dimension but the innermost.
        box: elements that one copy moves, in every dimension.
        swizzle: bytes of the pattern that shared memory is permuted in: 0, 32, 64 or 128.
        offset: byte of the argument at which the tensor starts.
        argument: number of the pointer among the launch's.
        lower: first position of an image's pixels between channels and images; empty for others.
        upper: their end, from the end of the image.
        steps: from one pixel to the next, in every dimension.
    """

    element: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    offset: int
    argument: int
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> ImageMap:
        """Rebuild it from what `asdict` and JSON make of it."""
        lists = {name: tuple(value) for name, value in fields.items() if name in _LISTS}
        return cls(**{**fields, **lists})


@dataclass(frozen=True)
class ImageLaunch:
    """One launch of an entry point.

    Attributes:
        entry: its symbol.
        grid: blocks.
        block: threads of a block.
        shared: bytes of dynamic shared memory of a block.
        cluster: blocks of a cluster; 1 for none.
        maps: tensor maps, which the entry point takes behind the pointers.
        programmatic: it may begin before the launch ahead of it has ended.
        resident: blocks that a multiprocessor holds at once at least; 0 where nothing is said.
        schedule: what its code was made by, in words.
    """

    entry: str
    grid: int
    block: int
    shared: int = 0
    cluster: int = 1
    maps: tuple[ImageMap, ...] = ()
    programmatic: bool = False
    resident: int = 0
    schedule: str = ""

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> ImageLaunch:
        """Rebuild it from what `asdict` and JSON make of it."""
        maps = tuple(ImageMap.from_fields(each) for each in fields["maps"])
        return cls(**{**fields, "maps": maps})


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
        launches = tuple(ImageLaunch.from_fields(entry) for entry in fields["launches"])
        return cls(launches, tuple(map(int, fields["scratch"])), ptx.decode())
