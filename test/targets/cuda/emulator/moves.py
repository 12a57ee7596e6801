# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads, stores, and what moves bits between registers."""

from __future__ import annotations

import numpy as np

from emulator.errors import require
from emulator.instructions import instruction
from emulator.machine import Machine, parts_of
from emulator.parse import Address, Instruction, Operand, Symbol, Vector
from emulator.types import NUMPY, Array, unsigned


@instruction("ld.param")
def load_parameter(m: Machine, op: Instruction) -> None:
    """Parameters are the addresses of the launch's arrays, in order; sizes come behind all maps."""
    source = op.operands[1]
    assert isinstance(source, Address)
    assert isinstance(source.base, Symbol)
    number, kind = m.entry.parameters.index(source.base.name), op.parts[-1]
    sizes, first = m.launch.shape.sizes, m.launch.parameters + len(m.launch.shape.maps)
    if number >= first:
        require(number < first + len(sizes), "a launch is not told that many sizes")
        word = sizes[number - first] >> 8 * source.offset
        mask = (1 << 8 * NUMPY[kind].itemsize) - 1
        m.write(op.operands[0], np.array(word & mask, NUMPY[kind]))
        return
    require(number < m.launch.parameters, "a tensor map is no pointer")
    m.write(op.operands[0], np.array(m.memory.address(number), np.uint64))


@instruction("ld.global")
def load(m: Machine, op: Instruction) -> None:
    targets, kind = parts_of(op.operands[0]), op.parts[-1]
    nbytes, addresses = NUMPY[kind].itemsize * len(targets), m.addresses(op.operands[1])
    m.touch(addresses, unchanging="nc" in op.parts)
    _unpack(m, targets, kind, m.memory.read(addresses, nbytes))


@instruction("st.global")
def store(m: Machine, op: Instruction) -> None:
    data = _packed(m, parts_of(op.operands[1]), op.parts[-1])
    addresses = m.addresses(op.operands[0])
    m.touch(addresses)
    m.memory.write(addresses, data)


@instruction("atom.global.add", "atom.global.max", "red.global.max")
def combine(m: Machine, op: Instruction) -> None:
    """Threads that have the same address combine one after the other, the highest number first."""
    *targets, where, source = op.operands
    kind, function = NUMPY[op.parts[-1]], np.add if "add" in op.parts else np.maximum
    data, addresses = m.whole(source, op.parts[-1]), m.addresses(where)
    m.touch(addresses)
    found = np.empty(m.size(), kind)
    for number in reversed(range(m.size())):
        at = addresses[number : number + 1]
        found[number] = m.memory.read(at, kind.itemsize).view(kind)[0, 0]
        after = np.array([[function(found[number], data[number])]], kind)
        m.memory.write(at, after.view(np.uint8))
    for target in targets:
        m.write(target, found)


@instruction("atom.shared.add")
def add_shared(m: Machine, op: Instruction) -> None:
    """Threads that have the same address add one after the other, the highest number first."""
    target, where, source = op.operands
    kind = NUMPY[op.parts[-1]]
    added = m.whole(source, op.parts[-1])
    rows, first = _shared_places(m, where, kind.itemsize)
    found = np.empty(m.size(), kind)
    for number in reversed(range(m.size())):
        row, at = rows[number : number + 1], first[number : number + 1]
        found[number] = m.shared.read(row, at, kind.itemsize).view(kind)[0, 0]
        after = np.array([[found[number] + added[number]]], kind)
        m.shared.write(row, at, after.view(np.uint8))
    m.write(target, found)


@instruction("ld.shared", "ld.shared::cluster", "ld.shared::cta")
def load_shared(m: Machine, op: Instruction) -> None:
    targets, kind = parts_of(op.operands[0]), op.parts[-1]
    nbytes = NUMPY[kind].itemsize * len(targets)
    rows, first = _shared_places(m, op.operands[1], nbytes)
    m.races.read(rows, first, nbytes, *m.warps())
    _unpack(m, targets, kind, m.shared.read(rows, first, nbytes))


@instruction("st.shared", "st.shared::cluster", "st.shared::cta")
def store_shared(m: Machine, op: Instruction) -> None:
    data = _packed(m, parts_of(op.operands[1]), op.parts[-1])
    rows, first = _shared_places(m, op.operands[0], data.shape[1])
    m.races.write(rows, first, data.shape[1], *m.warps())
    m.shared.write(rows, first, data)


def _shared_places(m: Machine, operand: Operand, nbytes: int) -> tuple[Array, Array]:
    blocks, addresses = m.block[m.at], m.addresses(operand)
    rows, first = m.shared.places(blocks, addresses, nbytes)
    is_other = addresses >= 1 << 24
    base = blocks // m.cluster * m.cluster
    return np.where(is_other, base + rows, rows), first


def _unpack(m: Machine, targets: tuple[Operand, ...], kind: str, data: Array) -> None:
    size = NUMPY[kind].itemsize
    for number, target in enumerate(targets):
        part = np.ascontiguousarray(data[:, number * size : (number + 1) * size])
        m.write(target, part.view(NUMPY[kind])[:, 0])


def _packed(m: Machine, sources: tuple[Operand, ...], kind: str) -> Array:
    """[threads, bytes] of all operands, one behind the other."""
    columns = [np.ascontiguousarray(m.whole(each, kind)) for each in sources]
    return np.concatenate([each.view(np.uint8).reshape(len(each), -1) for each in columns], axis=1)


@instruction("mov")
def move(m: Machine, op: Instruction) -> None:
    """A register, or the parts of one: the first is the lowest."""
    target, source = op.operands
    kind = op.parts[-1]
    if isinstance(target, Vector):
        narrow = NUMPY[kind].itemsize // len(target.parts)
        word = m.whole(source, kind)
        for number, part in enumerate(target.parts):
            shifted = word >> word.dtype.type(8 * narrow * number)
            m.write(part, shifted.astype(unsigned(narrow)))
    elif isinstance(source, Vector):
        wide = unsigned(NUMPY[kind].itemsize)
        narrow = wide.itemsize // len(source.parts)
        word = np.zeros(m.size(), wide)
        for number, part in enumerate(source.parts):
            piece = m.read(part, f"b{8 * narrow}").astype(wide)
            word |= piece << wide.type(8 * narrow * number)
        m.write(target, word)
    else:
        m.write(target, m.read(source, kind))


@instruction("cvta")
def convert_address(m: Machine, op: Instruction) -> None:
    """Addresses are the same in every window of this machine."""
    m.write(op.operands[0], m.read(op.operands[1], op.parts[-1]))


@instruction("mapa")
def map_address(m: Machine, op: Instruction) -> None:
    """The address of the same byte in another block of the cluster."""
    addresses, rows = (m.whole(each, "u32") for each in op.operands[1:])
    require((rows < m.cluster).all(), "the cluster has no such block")
    m.write(op.operands[0], m.shared.remote(addresses, rows))


@instruction("selp")
def select(m: Machine, op: Instruction) -> None:
    target, one, other, condition = op.operands
    kind = op.parts[-1]
    m.write(target, np.where(m.read(condition, "pred"), m.read(one, kind), m.read(other, kind)))


@instruction("prmt")
def permute(m: Machine, op: Instruction) -> None:
    """Four of the eight bytes of two registers; bit 3 of a choice repeats the byte's sign."""
    target, low, high, choice = op.operands
    words = [m.read(low, "u32").astype(np.uint64), m.read(high, "u32").astype(np.uint64)]
    both = words[0] | (words[1] << np.uint64(32))
    chosen, result = m.read(choice, "u32").astype(np.uint64), np.uint64(0)
    for number in range(4):
        nibble = (chosen >> np.uint64(4 * number)) & np.uint64(15)
        byte = (both >> ((nibble & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        sign = np.where(byte >> np.uint64(7), np.uint64(255), np.uint64(0))
        byte = np.where(nibble >> np.uint64(3), sign, byte)
        result = result | (byte << np.uint64(8 * number))
    m.write(target, np.asarray(result).astype(np.uint32))


@instruction("griddepcontrol.wait")
def wait_for_launch_ahead(m: Machine, op: Instruction) -> None:
    m.wait_for_launch_ahead()


@instruction(
    "prefetch",
    "griddepcontrol.launch_dependents",
    "nanosleep",
    "membar",
    "fence.acq_rel",
    "fence.sc",
)
def hint(m: Machine, op: Instruction) -> None:
    """Changes nothing that this machine looks at."""


@instruction("fence.proxy", "fence.mbarrier_init")
def fence(m: Machine, op: Instruction) -> None:
    m.races.fence(*m.warps())
