# SPDX-License-Identifier: MIT OR Apache-2.0
"""TMA: boxes of tensors, and pixels of images, copied from and to shared memory by one thread.

Copies in land when nobody can go on without them. Copies out read shared memory when they are
waited for, so that writing there earlier shows. Elements outside of the tensor are zero, and not
written.
The pattern of 128 bytes permutes units of 16 bytes: bits 4 to 6 of an address are combined with
bits 7 to 9 (PTX ISA, "Swizzling modes").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from emulator.barriers import complete_bytes
from emulator.errors import require
from emulator.instructions import instruction
from emulator.machine import Machine, parts_of
from emulator.memory import POISON
from emulator.parse import Address, Instruction, Operand
from emulator.types import Array
from xyntra.targets.cuda.code.kernel_image import ImageMap

_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "tf32": 4, "i8": 1, "i32": 4}


@dataclass(frozen=True)
class _Box:
    """What one copy moves.

    Attributes:
        sources: bytes of the tensor's array, -1 outside of the tensor.
        targets: bytes of shared memory.
    """

    sources: Array
    targets: Array


@instruction("cp.async.bulk.tensor")
def copy_box(m: Machine, op: Instruction) -> None:
    is_in = isinstance(op.operands[0], Address) and op.operands[0].coordinates is None
    for thread in m.current().tolist():
        m.at = np.array([thread])
        (_copy_in if is_in else _copy_out)(m, op)


def _copy_in(m: Machine, op: Instruction) -> None:
    tensor, corner = _tensor(m, op.operands[1])
    offsets = (
        [int(m.whole(each, "u16")[0]) for each in parts_of(op.operands[3])]
        if len(op.operands) > 3
        else []
    )
    row, first = _shared(m, op.operands[0])
    box = _pixels(tensor, corner, offsets) if tensor.lower else _box(tensor, corner)
    box = _swizzled(box, first, tensor.swizzle)
    array, base = _array(m, tensor)
    outside = box.sources < 0
    places = np.where(outside, 0, base + box.sources)
    require(places.max(initial=0) < len(array), "a tensor map reaches beyond its array")
    data = np.where(outside, 0, array[places]).astype(np.uint8)
    clusters, warps = m.warps()
    time = m.races.copy_in(row, box.targets, int(clusters[0]), int(warps[0]))
    m.shared.bytes[row, box.targets] = POISON
    barrier = row, int(m.addresses(op.operands[2])[0]) & 0xFFFFFF

    def land() -> None:
        m.shared.bytes[row, box.targets] = data
        complete_bytes(m, barrier, len(data), time)

    m.landing.append(land)


def _copy_out(m: Machine, op: Instruction) -> None:
    tensor, corner = _tensor(m, op.operands[0])
    row, first = _shared(m, op.operands[1])
    box = _swizzled(_box(tensor, corner), first, tensor.swizzle)
    clusters, warps = m.warps()
    starts = np.unique(box.targets // 2) * 2
    rows, owners = np.full(len(starts), row), np.full(len(starts), int(warps[0]))
    where = np.full(len(starts), int(clusters[0]))
    m.races.read(rows, starts, 2, where, owners, by_proxy=True)
    array, base = _array(m, tensor)
    inside = box.sources >= 0

    def read() -> None:
        data = m.shared.bytes[row, box.targets]
        array[base + box.sources[inside]] = data[inside]
        m.races.finished(*m.races.places(rows, starts, 2), where, owners)

    _stores(m, int(m.current()[0]))[-1].append(read)


def _array(m: Machine, tensor: ImageMap) -> tuple[Array, int]:
    """The memory that a tensor map is of, and its first byte there."""
    start = m.memory.address(tensor.argument) + tensor.offset
    m.touch(np.array([start]))
    return m.memory.place(start)


@instruction("cp.async.bulk.shared::cluster.shared::cta")
def copy_to_block(m: Machine, op: Instruction) -> None:
    """From shared memory of the block to that of any block of its cluster."""
    for thread in m.current().tolist():
        m.at = np.array([thread])
        nbytes = int(m.whole(op.operands[2], "u32")[0])
        require(nbytes > 0 and not nbytes % 16, "copies move multiples of 16 bytes")
        row, source = _shared(m, op.operands[1])
        other, target = _anywhere(m, op.operands[0])
        place = int(m.addresses(op.operands[3])[0])
        barrier = _block(m, place), place & 0xFFFFFF
        clusters, warps = m.warps()
        starts = np.arange(source, source + nbytes, 2)
        rows, owners = np.full(len(starts), row), np.full(len(starts), int(warps[0]))
        where = np.full(len(starts), int(clusters[0]))
        m.races.read(rows, starts, 2, where, owners, by_proxy=True)
        targets = np.arange(target, target + nbytes)
        time = m.races.copy_in(other, targets, int(clusters[0]), int(warps[0]))
        m.shared.bytes[other, targets] = POISON
        m.landing.append(_Sent(m, (row, starts), (other, targets), barrier, time, where, owners))


@dataclass(frozen=True)
class _Sent:
    """A copy between blocks that has not ended."""

    machine: Machine
    source: tuple[int, Array]
    target: tuple[int, Array]
    barrier: tuple[int, int]
    time: int
    clusters: Array
    warps: Array

    def __call__(self) -> None:
        m, (row, starts), (other, targets) = self.machine, self.source, self.target
        m.shared.bytes[other, targets] = m.shared.bytes[row, starts[0] : starts[-1] + 2]
        rows = np.full(len(starts), row)
        m.races.finished(*m.races.places(rows, starts, 2), self.clusters, self.warps)
        complete_bytes(m, self.barrier, len(targets), self.time)


def _anywhere(m: Machine, operand: Operand) -> tuple[int, int]:
    """Block and first byte of an address in the cluster's shared memory."""
    address = m.addresses(operand)
    _, first = m.shared.places(m.block[m.at], address, 16)
    return _block(m, int(address[0])), int(first[0])


def _block(m: Machine, address: int) -> int:
    """The block that an address in the cluster's shared memory is of."""
    own, rank = int(m.block[m.at][0]), address >> 24
    return own // m.cluster * m.cluster + rank - 1 if rank else own


@instruction("cp.async.bulk.commit_group")
def commit(m: Machine, op: Instruction) -> None:
    for thread in m.current().tolist():
        _stores(m, thread).append([])


@instruction("cp.async.bulk.wait_group")
def wait(m: Machine, op: Instruction) -> None:
    """Let end all groups of copies out of these threads but the last so many."""
    kept = int(m.read(op.operands[0], "u32"))
    for thread in m.current().tolist():
        stores = _stores(m, thread)
        while len(stores) > kept + 1:
            for read in stores.pop(0):
                read()


def _stores(m: Machine, thread: int) -> list[list]:
    """Groups of copies out of a thread, the last one open."""
    return m.state["bulk stores"].setdefault((thread,), [[]])


def _tensor(m: Machine, operand: Operand) -> tuple[ImageMap, list[int]]:
    """The tensor map of an operand, and where the box begins, innermost first."""
    require(isinstance(operand, Address) and operand.coordinates, "no tensor")
    number = m.map_number(int(m.whole(operand.base, "u64")[0]))
    tensor = m.launch.shape.maps[number]
    corner = [int(m.whole(e, "s32")[0]) for e in operand.coordinates.parts]
    require(len(corner) == len(tensor.sizes), "a tensor of another rank")
    return tensor, corner


def _shared(m: Machine, operand: Operand) -> tuple[int, int]:
    rows, first = m.shared.places(m.block[m.at], m.addresses(operand), 16)
    return int(rows[0]), int(first[0])


def _box(tensor: ImageMap, corner: Sequence[int]) -> _Box:
    """Elements in order, the innermost dimension fastest."""
    size = _BYTES[tensor.element]
    steps = [size, *tensor.strides]
    shape = tuple(reversed(tensor.box))
    at = [grid.reshape(-1) for grid in reversed(np.indices(shape))]
    inside = np.ones(prod(shape), bool)
    source = np.zeros(prod(shape), np.int64)
    for start, index, extent, step in zip(corner, at, tensor.sizes, steps, strict=True):
        place = start + index
        inside &= (place >= 0) & (place < extent)
        source += place * step
    return _of_bytes(np.where(inside, source, -1), size)


def _pixels(tensor: ImageMap, corner: Sequence[int], offsets: Sequence[int]) -> _Box:
    """Pixels one behind the other, from the corner on, and some channels of each.

    Positions walk through the box between `lower` and `upper` in steps, the innermost dimension
    first, then from image to image; offsets are added to each (PTX ISA, "im2col mode").
    """
    size = _BYTES[tensor.element]
    channels, pixels = tensor.box
    place = list(corner[1:-1])
    image = corner[-1]
    found = []
    for _ in range(pixels):
        taps = [p + o for p, o in zip(place, offsets, strict=True)]
        inside = image < tensor.sizes[-1] and all(
            0 <= tap < extent for tap, extent in zip(taps, tensor.sizes[1:-1], strict=True)
        )
        start = sum(p * s for p, s in zip([*taps, image], tensor.strides, strict=True))
        for channel in range(corner[0], corner[0] + channels):
            is_there = inside and 0 <= channel < tensor.sizes[0]
            found.append(start + channel * size if is_there else -1)
        image = _next_pixel(tensor, place, image)
    return _of_bytes(np.array(found), size)


def _next_pixel(tensor: ImageMap, place: list[int], image: int) -> int:
    """Move `place` on; returns the number of its image."""
    for d, step in enumerate(tensor.steps[1:-1]):
        place[d] += step
        if place[d] < tensor.sizes[1 + d] + tensor.upper[d]:
            return image
        place[d] = tensor.lower[d]
    return image + 1


def _of_bytes(sources: Array, size: int) -> _Box:
    steps = np.arange(size)
    spread = np.where(sources[:, None] < 0, -1, sources[:, None] + steps).reshape(-1)
    return _Box(spread, np.arange(len(spread)))


def _swizzled(box: _Box, first: int, pattern: int) -> _Box:
    """Where the bytes of a box lie that begins at byte `first` of shared memory."""
    if not pattern:
        return _Box(box.sources, first + box.targets)
    require(pattern == 128, "other patterns than that of 128 bytes are not known to the emulator")
    require(not first % 128, "a box begins within a row of 128 bytes")
    places = first + box.targets
    return _Box(box.sources, places ^ ((places >> 7 & 7) << 4))
