# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stores a compiled kernel: its launches and its PTX."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

Place = tuple[int | str, ...]
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
        sizes: what the entry point is told behind pointers and tensor maps, words of 64 bits.
        steps: launches that it does one after the other, on one cluster; 0 for one.
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
    sizes: tuple[int, ...] = ()
    steps: int = 0

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> ImageLaunch:
        """Rebuild it from what `asdict` and JSON make of it."""
        maps = tuple(ImageMap.from_fields(each) for each in fields["maps"])
        return cls(**{**fields, "maps": maps, "sizes": tuple(fields.get("sizes", ()))})


@dataclass(frozen=True)
class KernelImage:
    """A kernel as a GPU loads it.

    Attributes:
        launches: in order; every entry point takes all pointers of the kernel: inputs, results
            that are not written in place, scratch slots.
        scratch: bytes of every scratch slot.
        ptx: the code.
        told: of a kernel whose sizes are told, the numbers of its launches that depend on them:
            where each stands, such as (0, "grid") or (0, "maps", 1, "sizes", 0), and its
            expression. In the launches they have usual values.
    """

    launches: tuple[ImageLaunch, ...]
    scratch: tuple[int, ...]
    ptx: str
    told: tuple[tuple[Place, str], ...] = ()

    def to_bytes(self) -> bytes:
        """A line of JSON and the PTX."""
        launches = [asdict(each) for each in self.launches]
        head = {"launches": launches, "scratch": self.scratch, "told": self.told}
        return json.dumps(head).encode() + b"\n" + self.ptx.encode()

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> KernelImage:
        """What `to_bytes` wrote; KeyError, TypeError or ValueError if it is something else."""
        head, _, ptx = bytes(data).partition(b"\n")
        fields: dict[str, Any] = json.loads(head)
        launches = tuple(ImageLaunch.from_fields(entry) for entry in fields["launches"])
        told = tuple((tuple(place), str(text)) for place, text in fields.get("told", ()))
        return cls(launches, tuple(map(int, fields["scratch"])), ptx.decode(), told)

    def at(self, values: Mapping[str, int]) -> KernelImage:
        """Return the image with the values of its expressions, which stay as they are."""
        launches: Any = self.launches
        for place, text in self.told:
            launches = _with(launches, place, values[text])
        return replace(self, launches=launches)


def _with(held: Any, place: Place, value: int) -> Any:
    """Return launches, or a part of them, with another number at a place."""
    if not place:
        return value
    first, *rest = place
    if isinstance(first, int):
        return (*held[:first], _with(held[first], tuple(rest), value), *held[first + 1 :])
    return replace(held, **{first: _with(getattr(held, first), tuple(rest), value)})
