# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs instructions of a whole warp: shuffles, votes, matrices of 8 by 8, mma.sync.

Fragments are laid out as in PTX ISA, "Warp-level matrix instructions": of a factor, thread t has
elements of row t / 4, and of that eight rows below, in columns that t % 4 counts.
"""

from __future__ import annotations

import re

import numpy as np

from emulator.errors import require
from emulator.instructions import WARP, collective
from emulator.machine import Machine, parts_of
from emulator.parse import Instruction, Operand
from emulator.types import NUMPY, Array

_LANE = np.arange(WARP)
_GROUP, _MEMBER = _LANE // 4, _LANE % 4


@collective(WARP, "shfl.sync")
def shuffle(m: Machine, op: Instruction) -> None:
    """Every lane gets the value of another one; segments of less than a warp are not used here."""
    values = m.whole(op.operands[1], "b32").reshape(-1, WARP)
    by = m.whole(op.operands[2], "u32").reshape(-1, WARP).astype(np.int64)
    mode = op.parts[2]
    lane = np.broadcast_to(_LANE, by.shape)
    if mode == "bfly":
        source = lane ^ by
    elif mode == "idx":
        source = by % WARP
    elif mode == "down":
        source = np.where(lane + by < WARP, lane + by, lane)
    else:
        require(mode == "up", f"shuffles by {mode} are not known to the emulator")
        source = np.where(lane - by >= 0, lane - by, lane)
    target, *inside = parts_of(op.operands[0])
    require(not inside, "whether a lane exists is not known to the emulator")
    m.write(target, np.take_along_axis(values, source, 1).reshape(-1))


@collective(WARP, "vote.sync")
def vote(m: Machine, op: Instruction) -> None:
    said = m.whole(op.operands[1], "pred").reshape(-1, WARP)
    if op.parts[2] == "ballot":
        bits = (said.astype(np.uint64) << _LANE.astype(np.uint64)).sum(axis=1).astype(np.uint32)
        m.write(op.operands[0], np.repeat(bits, WARP))
        return
    found = said.any(axis=1) if op.parts[2] == "any" else said.all(axis=1)
    m.write(op.operands[0], np.repeat(found, WARP))


@collective(WARP, "elect.sync")
def elect(m: Machine, op: Instruction) -> None:
    leader, elected = parts_of(op.operands[0])
    m.write(leader, np.zeros(m.size(), np.uint32))
    m.write(elected, m.current() % WARP == 0)


@collective(WARP, "bar.warp")
def synchronise_warp(m: Machine, op: Instruction) -> None:
    """The whole warp is here; its threads are in order anyway."""


@collective(WARP, "ldmatrix")
def load_matrices(m: Machine, op: Instruction) -> None:
    """Thread t has the address of row t % 8 of matrix t / 8, and gets two elements of row t / 4."""
    targets = parts_of(op.operands[0])
    rows, first = _matrix_rows(m, op.operands[1], len(targets))
    data = m.shared.read(rows, first, 16).view(np.uint16).reshape(-1, len(targets), 8, 8)
    for number, target in enumerate(targets):
        matrix = data[:, number].swapaxes(1, 2) if "trans" in op.parts else data[:, number]
        m.write(target, np.ascontiguousarray(matrix).view(np.uint32).reshape(-1))


@collective(WARP, "stmatrix")
def store_matrices(m: Machine, op: Instruction) -> None:
    """The reverse of ldmatrix."""
    sources = parts_of(op.operands[1])
    rows, first = _matrix_rows(m, op.operands[0], len(sources), writes=True)
    words = np.stack([m.whole(each, "b32").reshape(-1, WARP) for each in sources], axis=1)
    data = np.ascontiguousarray(words).view(np.uint16).reshape(-1, len(sources), 8, 8)
    if "trans" in op.parts:
        data = np.ascontiguousarray(data.swapaxes(2, 3))
    m.shared.write(rows, first, data.reshape(-1, 8).view(np.uint8))


def _matrix_rows(
    m: Machine, operand: Operand, matrices: int, *, writes: bool = False
) -> tuple[Array, Array]:
    """Rows and first bytes in shared memory of the rows of all matrices, by warps."""
    used = np.tile(8 * matrices > _LANE, m.size() // WARP)
    addresses, blocks = m.addresses(operand)[used], m.block[m.at][used]
    rows, first = m.shared.places(blocks, addresses, 16)
    clusters, warps = (each[used] for each in m.warps())
    note = m.races.write if writes else m.races.read
    note(rows, first, 16, clusters, warps)
    return rows, first


_SHAPE = re.compile(r"m16n8k(\d+)")


@collective(WARP, "mma.sync")
def multiply_matrices(m: Machine, op: Instruction) -> None:
    """D = A B + C of 16 by K and K by 8; products are exact, and added in f64 or i64 here."""
    targets, left, right, sums = (parts_of(each) for each in op.operands)
    *_, result, left_kind, right_kind, _ = op.parts
    shape = next(found for part in op.parts if (found := _SHAPE.fullmatch(part)))
    depth = int(shape[1])
    a = fragment(m, left, left_kind, 16, depth)
    b = fragment(m, right, right_kind, 8, depth)
    product = a @ b.swapaxes(1, 2)
    for number, (target, addend) in enumerate(zip(targets, sums, strict=True)):
        row, column = _GROUP + 8 * (number >> 1), 2 * _MEMBER + (number & 1)
        before = m.whole(addend, result).reshape(-1, WARP).astype(product.dtype)
        m.write(target, (before + product[:, row, column]).astype(NUMPY[result]).reshape(-1))


def fragment(m: Machine, registers: tuple[Operand, ...], kind: str, rows: int, depth: int) -> Array:
    """[warps, rows, depth] numbers of a factor, in f64 or i64.

    Register r has rows 8 (r % (rows / 8)) on, and columns depth / 2 (r / (rows / 8)) on.
    """
    size = NUMPY[kind].itemsize
    each, blocks = 4 // size, rows // 8
    require(len(registers) * each * WARP == rows * depth, "a fragment has another size")
    matrix: Array = np.zeros((m.size() // WARP, rows, depth))
    for number, register in enumerate(registers):
        words = np.ascontiguousarray(m.whole(register, "b32")).reshape(-1, WARP, 1)
        values = numbers(words, kind)
        for element in range(each):
            row = _GROUP + 8 * (number % blocks)
            column = _MEMBER * each + element + depth // 2 * (number // blocks)
            matrix[:, row, column] = values[..., element]
    return matrix


def numbers(words: Array, kind: str) -> Array:
    """The numbers in words of 32 bits; of tf32, the hardware looks at 19 bits."""
    if kind == "tf32":
        return (words & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    return words.view(NUMPY[kind]).astype(np.float64)
