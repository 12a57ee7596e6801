# SPDX-License-Identifier: MIT OR Apache-2.0
"""cp.async: copies from global to shared memory that land when their groups are waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.errors import require
from emulator.instructions import WARP, Threads, instruction
from emulator.machine import Machine
from emulator.memory import POISON
from emulator.parse import Instruction
from emulator.types import Array


@dataclass
class _Copies:
    """What some threads have asked for with one instruction.

    Attributes:
        threads: by number.
        groups: of each, counted from its first.
        rows: blocks.
        first: bytes in shared memory.
        data: [threads, bytes].
    """

    threads: Threads
    groups: Array
    rows: Array
    first: Array
    data: Array

    def split(self, chosen: Array) -> tuple[_Copies, _Copies]:
        """Those of some threads, and the others."""
        parts = (self.threads, self.groups, self.rows, self.first, self.data)
        return _Copies(*(p[chosen] for p in parts)), _Copies(*(p[~chosen] for p in parts))


@instruction("cp.async.ca", "cp.async.cg")
def copy(m: Machine, op: Instruction) -> None:
    """Copy 4, 8 or 16 bytes, the first of them from memory and zeros behind these."""
    nbytes = int(m.read(op.operands[2], "u32"))
    given = m.whole(op.operands[3], "u32") if len(op.operands) > 3 else np.full(m.size(), nbytes)
    require((given <= nbytes).all(), "more bytes than are copied")
    sources = m.addresses(op.operands[1])
    require(not (sources % nbytes).any(), f"a source is no multiple of {nbytes} bytes")
    m.touch(sources, where=given > 0)
    data = np.zeros((m.size(), nbytes), np.uint8)
    for count in np.unique(given).tolist():
        chosen = given == count
        for byte in range(count):
            data[chosen, byte] = m.memory.read(sources[chosen] + byte, 1)[:, 0]
    rows, first = m.shared.places(m.block[m.at], m.addresses(op.operands[0]), nbytes)
    m.races.write(rows, first, nbytes, *m.warps())
    m.shared.write(rows, first, np.full_like(data, POISON))
    threads = m.current()
    _on_their_way(m).append(_Copies(threads, _groups(m)[threads], rows, first, data))


@instruction("cp.async.commit_group")
def commit(m: Machine, op: Instruction) -> None:
    _groups(m)[m.at] += 1


@instruction("cp.async.wait_group", "cp.async.wait_all")
def wait(m: Machine, op: Instruction) -> None:
    """Let land all groups of these threads but the last so many."""
    kept = int(m.read(op.operands[0], "u32")) if op.operands else 0
    waits = np.zeros(m.count, bool)
    waits[m.at] = True
    last = _groups(m) - kept
    left = []
    for each in _on_their_way(m):
        landing, rest = each.split(waits[each.threads] & (each.groups < last[each.threads]))
        if len(landing.threads):
            _land(m, landing)
        if len(rest.threads):
            left.append(rest)
    m.state["cp.async"][()] = left


def _land(m: Machine, copies: _Copies) -> None:
    nbytes = copies.data.shape[1]
    per_block = m.threads // WARP
    within = copies.rows % m.cluster * per_block + m.thread[copies.threads] // WARP
    m.races.write(copies.rows, copies.first, nbytes, copies.rows // m.cluster, within)
    m.shared.write(copies.rows, copies.first, copies.data)


def _on_their_way(m: Machine) -> list[_Copies]:
    return m.state["cp.async"].setdefault((), [])


def _groups(m: Machine) -> Array:
    """How many groups each thread has closed."""
    return m.state["cp.async groups"].setdefault((), np.zeros(m.count, np.int64))
