# SPDX-License-Identifier: MIT OR Apache-2.0
"""wgmma: products by the four warps of a warpgroup, of matrices in shared memory or registers.

Matrices lie in rows of 128 bytes with the pattern of 128 bytes; a descriptor says where they begin,
and how far apart groups of eight rows are (PTX ISA, "Asynchronous warpgroup-level matrix
instructions"). Sums are not touched, and what is read is not overwritten, until a wait has ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from emulator.errors import require
from emulator.instructions import Threads, collective
from emulator.machine import Machine, parts_of
from emulator.parse import Instruction, Operand, Vector
from emulator.types import NUMPY, Array
from emulator.warp import fragment

_GROUP = 128
_ROWS = 64
_ROW_BYTES = 128
_STEP_BYTES = 32
_SHAPE = re.compile(r"m64n(\d+)k\d+")
_PATTERN_128 = 1
_THREAD = np.arange(_GROUP)
_ROW = _THREAD // 32 * 16 + _THREAD % 32 // 4
_COLUMN = _THREAD % 4 * 2


@dataclass
class _Work:
    """Multiplications that were issued together.

    Attributes:
        threads: of the warpgroup.
        sums: registers that they write.
        reads: rows, first bytes, clusters and warps of what they read from shared memory.
    """

    threads: Threads
    sums: set[str]
    reads: list[tuple[Array, Array, Array, Array]]


@collective(_GROUP, "wgmma.fence", "setmaxnreg")
def order_registers(m: Machine, op: Instruction) -> None:
    """All four warps are here; registers are in order anyway."""


@collective(_GROUP, "wgmma.mma_async")
def multiply(m: Machine, op: Instruction) -> None:
    """D = A B or D += A B, for every warpgroup that is here."""
    shape = next(found for part in op.parts if (found := _SHAPE.fullmatch(part)))
    columns, (left_kind, kind) = int(shape[1]), op.parts[-2:]
    sums, left, right, added, *signs = op.operands
    everybody = m.current()
    has_registers = isinstance(left, Vector)
    is_wide = NUMPY[kind].itemsize == 2
    turned = [int(m.read(each, "u32")) for each in signs[2:]] if is_wide else []
    for group in everybody.reshape(-1, _GROUP):
        m.at = group
        work = _open(m, group)
        if has_registers:
            a = fragment_of_group(m, parts_of(left), left_kind)
        else:
            a = _matrix(m, work, left, left_kind, _ROWS, is_turned=bool(turned and turned[0]))
        b = _matrix(m, work, right, kind, columns, is_turned=bool(turned and turned[-1]))
        keep = m.whole(added, "pred")
        require(len(np.unique(keep)) == 1, "threads of a warpgroup do not agree")
        total = "s32" if "s32" in op.parts else "f32"
        _add(m, work, parts_of(sums), a @ b.T, total, keep=bool(keep[0]))
    m.at = everybody


def fragment_of_group(m: Machine, registers: tuple[Operand, ...], kind: str) -> Array:
    """[64, depth]: the factors of the four warps below each other."""
    depth = _STEP_BYTES // NUMPY[kind].itemsize
    return fragment(m, registers, kind, 16, depth).reshape(_ROWS, depth)


def _add(
    m: Machine, work: _Work, sums: tuple[Operand, ...], product: Array, kind: str, *, keep: bool
) -> None:
    """Add a product, in f64 and therefore exact for integers, to sums of `kind`."""
    for number, register in enumerate(sums):
        name = register.name
        if name in m.registers.busy:  # multiplications of the same sums are in order
            m.registers.end_work(name, m.at)
        row, column = _ROW + 8 * (number >> 1 & 1), _COLUMN + 8 * (number // 4) + (number & 1)
        value = product[row, column]
        if keep:
            value = value + m.read(register, kind).astype(np.float64)
        m.write(register, value.astype(NUMPY[kind]))
    for register in sums:
        name = register.name
        work.sums.add(name)
        m.registers.start_work(name, m.at)


def _matrix(
    m: Machine, work: _Work, operand: Operand, kind: str, rows: int, *, is_turned: bool
) -> Array:
    """[rows, depth] in f64, from the descriptor of a matrix in shared memory."""
    words = m.whole(operand, "u64")
    require(len(np.unique(words)) == 1, "descriptors of a warpgroup differ")
    descriptor = int(words[0])
    require(descriptor >> 62 == _PATTERN_128, "another pattern than that of 128 bytes")
    require(descriptor >> 49 & 7 == 0, "a matrix that begins within its pattern")
    start, leading, stride = ((descriptor >> s & 0x3FFF) << 4 for s in (0, 16, 32))
    size = NUMPY[kind].itemsize
    depth = _STEP_BYTES // size
    row, step = np.indices((rows, depth))
    if is_turned:  # rows of the matrix are neighbours, 64 of 16 bits to a row of 128 bytes
        per = _ROW_BYTES // size
        places = (
            row // per * leading + step // 8 * stride + step % 8 * _ROW_BYTES + row % per * size
        )
    else:
        places = row // 8 * stride + row % 8 * _ROW_BYTES + step * size
    places = (start + places).reshape(-1)
    return _numbers(m, work, places ^ ((places >> 7 & 7) << 4), kind).reshape(rows, depth)


def _numbers(m: Machine, work: _Work, addresses: Array, kind: str) -> Array:
    size = NUMPY[kind].itemsize
    block = np.full(len(addresses), m.block[work.threads[0]])
    rows, first = m.shared.places(block, addresses, size)
    clusters, warps = m.warps()
    owners = np.full(len(rows), warps[0])  # one of the four, for all that they read
    where = np.full(len(rows), clusters[0])
    m.races.read(rows, first, size, where, owners, by_proxy=True)
    work.reads.append((*m.races.places(rows, first, size), where, owners))
    data = m.shared.read(rows, first, size)
    if kind == "tf32":
        return (data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    return data.view(NUMPY[kind]).astype(np.float64)


@collective(_GROUP, "wgmma.commit_group")
def commit(m: Machine, op: Instruction) -> None:
    for group in m.current().reshape(-1, _GROUP):
        _works(m, group).append(_Work(group, set(), []))


@collective(_GROUP, "wgmma.wait_group")
def wait(m: Machine, op: Instruction) -> None:
    """Wait for all groups of multiplications but the last so many."""
    kept = int(m.read(op.operands[0], "u32"))
    for group in m.current().reshape(-1, _GROUP):
        works = _works(m, group)
        while len(works) > kept + 1:
            _end(m, works.pop(0), still={name for work in works for name in work.sums})


def _end(m: Machine, work: _Work, still: set[str]) -> None:
    for name in work.sums - still:
        m.registers.end_work(name, work.threads)
    for rows, places, clusters, owners in work.reads:
        steps = len(places) // len(owners)
        where, who = np.repeat(clusters, steps), np.repeat(owners, steps)
        m.races.finished(rows, places, where, who)


def _open(m: Machine, group: Threads) -> _Work:
    return _works(m, group)[-1]


def _works(m: Machine, group: Threads) -> list[_Work]:
    """Groups of multiplications of a warpgroup, the last one open."""
    fresh = [_Work(group, set(), [])]
    return m.state["wgmma"].setdefault((int(group[0]),), fresh)
