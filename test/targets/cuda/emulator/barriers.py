# SPDX-License-Identifier: MIT OR Apache-2.0
"""Barriers of blocks, clusters, and mbarriers, which count arrivals and bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from emulator.errors import require
from emulator.instructions import WARP, Threads, blocking, instruction
from emulator.machine import Machine
from emulator.parse import Address, Instruction
from emulator.types import Array


@blocking("bar.sync", "barrier.sync")
def synchronise_block(m: Machine, op: Instruction, threads: Threads, place: int) -> Threads:
    """All threads of the block, or as many as the second operand says, meet at barrier number a."""
    numbers = m.whole(op.operands[0], "u32")
    expected = m.whole(op.operands[1], "u32") if len(op.operands) > 1 else None
    going = []
    for block, number in _distinct(m.block[threads], numbers):
        here = threads[(m.block[threads] == block) & (numbers == number)]
        count = m.threads if expected is None else int(expected[m.block[threads] == block][0])
        waiting = m.state["bar.sync"].pop((block, number), [])
        waiting.append((here, place))
        if sum(len(each) for each, _ in waiting) < count:
            m.state["bar.sync"][block, number] = waiting
            continue
        everybody = np.concatenate([each for each, _ in waiting])
        require(len(everybody) == count, f"{len(everybody)} threads at a barrier for {count}")
        _join(m, everybody)
        going.append(here)
        for each, goal in waiting[:-1]:
            m.wake(each, goal)
    return np.sort(np.concatenate(going)) if going else threads[:0]


@dataclass
class _ClusterBarrier:
    """The barrier of a cluster.

    Attributes:
        arrived: how often each thread has.
        known: what those knew that have arrived in this phase.
        finished: the same of phases that are over.
        waiting: threads, the phase that they wait for, and where they go on.
    """

    arrived: Array
    known: Array
    finished: dict[int, Array] = field(default_factory=dict)
    waiting: list[tuple[Threads, int, int]] = field(default_factory=list)


@instruction("barrier.cluster.arrive")
def arrive_at_cluster(m: Machine, op: Instruction) -> None:
    """A phase ends when every thread of the cluster has arrived once more."""
    per_cluster = m.cluster * m.threads
    threads = m.current()
    for cluster in np.unique(threads // per_cluster).tolist():
        here = threads[threads // per_cluster == cluster]
        barrier = _cluster_barrier(m, cluster)
        warps = _warps(m, here)
        barrier.known = np.maximum(barrier.known, m.races.clocks[cluster, warps].max(axis=0))
        m.races.tick(cluster, warps)
        barrier.arrived[here % per_cluster] += 1
        phase = int(barrier.arrived[0])
        if (barrier.arrived == phase).all():
            barrier.finished[phase] = barrier.known
            waiting, barrier.waiting = barrier.waiting, []
            for each, _, place in waiting:
                m.races.learn(cluster, _warps(m, each), barrier.known)
                m.wake(each, place)


@blocking("barrier.cluster.wait")
def wait_for_cluster(m: Machine, op: Instruction, threads: Threads, place: int) -> Threads:
    per_cluster = m.cluster * m.threads
    going = [threads[:0]]
    for cluster in np.unique(threads // per_cluster).tolist():
        here = threads[threads // per_cluster == cluster]
        barrier = _cluster_barrier(m, cluster)
        phase = int(barrier.arrived[here[0] % per_cluster])
        if phase in barrier.finished:
            m.races.learn(cluster, _warps(m, here), barrier.finished[phase])
            going.append(here)
        else:
            barrier.waiting.append((here, phase, place))
    return np.sort(np.concatenate(going))


def _cluster_barrier(m: Machine, cluster: int) -> _ClusterBarrier:
    found = m.state["barrier.cluster"]
    if (cluster,) not in found:
        width = m.races.clocks.shape[2]
        arrived = np.zeros(m.cluster * m.threads, np.int64)
        found[cluster,] = _ClusterBarrier(arrived, np.zeros(width, np.int32))
    return found[cluster,]


@dataclass
class _Mbarrier:
    """A barrier in shared memory.

    Attributes:
        count: arrivals of a phase.
        pending: those that are missing.
        nbytes: that are missing; negative where they came before they were expected.
        phase: how many are over.
        known: what those knew that have arrived in this phase.
        told: what those knew that arrived in the last one that is over.
        waiting: threads, the parity of the phase that they wait for, and where they go on.
    """

    count: int
    pending: int
    known: Array
    told: Array
    nbytes: int = 0
    phase: int = 0
    waiting: list[tuple[Threads, int, int]] = field(default_factory=list)

    def is_over(self, parity: int) -> bool:
        """Whether the phase with a parity, the current one or the one before, is over."""
        return self.phase % 2 != parity


@instruction("mbarrier.init")
def begin(m: Machine, op: Instruction) -> None:
    counts = m.whole(op.operands[1], "u32")
    width = m.races.clocks.shape[2]
    places = _places(m, op)
    require(len(set(places)) == len(places), "two threads make the same mbarrier")
    for place, count in zip(places, counts.tolist(), strict=True):
        nothing = np.zeros(width, np.int32)
        m.state["mbarrier"][place] = _Mbarrier(count, count, nothing, nothing)


@instruction("mbarrier.arrive")
def arrive(m: Machine, op: Instruction) -> None:
    """One arrival a thread; with expect_tx, so many more bytes must come."""
    expects = "expect_tx" in op.parts
    nbytes = m.whole(op.operands[2], "u32").tolist() if expects else [0] * m.size()
    for thread, place, more in zip(m.current(), _places(m, op), nbytes, strict=True):
        barrier, cluster = _mbarrier(m, place), place[0] // m.cluster
        warps = _warps(m, np.array([thread]))
        barrier.known = np.maximum(barrier.known, m.races.clocks[cluster, warps].max(axis=0))
        m.races.tick(cluster, warps)
        barrier.nbytes += more
        barrier.pending -= 1
        require(barrier.pending >= 0, "more arrivals than the mbarrier counts")
        _finish(m, place)


@instruction("mbarrier.expect_tx")
def expect(m: Machine, op: Instruction) -> None:
    nbytes = m.whole(op.operands[1], "u32").tolist()
    for place, more in zip(_places(m, op), nbytes, strict=True):
        _mbarrier(m, place).nbytes += more


@blocking("mbarrier.try_wait", "mbarrier.test_wait")
def wait(m: Machine, op: Instruction, threads: Threads, place: int) -> Threads:
    """Threads go on, with a true predicate, when the phase is over."""
    require("parity" in op.parts, "waits for a state are not known to the emulator")
    m.write(op.operands[0], np.ones(len(threads), bool))
    parities = m.whole(op.operands[2], "u32")
    barriers = _places(m, op)
    going = [threads[:0]]
    for barrier, parity in {*zip(barriers, parities.tolist(), strict=True)}:
        chosen = [b == barrier and p == parity for b, p in zip(barriers, parities, strict=True)]
        here, found = threads[np.array(chosen)], _mbarrier(m, barrier)
        if found.is_over(parity):
            m.races.learn(barrier[0] // m.cluster, _warps(m, here), found.told)
            going.append(here)
        else:
            found.waiting.append((here, parity, place))
    return np.sort(np.concatenate(going))


def complete_bytes(m: Machine, place: tuple[int, int], nbytes: int, time: int) -> None:
    """Count bytes that a copy has brought.

    Args:
        m: the machine.
        place: block and address of the mbarrier.
        nbytes: how many.
        time: of the copy, by the clock of copies.
    """
    barrier = _mbarrier(m, place)
    barrier.known = barrier.known.copy()
    barrier.known[m.races.copier] = max(int(barrier.known[m.races.copier]), time)
    barrier.nbytes -= nbytes
    _finish(m, place)


def _finish(m: Machine, place: tuple[int, int]) -> None:
    """End the phase if nothing is missing."""
    barrier = _mbarrier(m, place)
    if barrier.pending or barrier.nbytes:
        return
    barrier.pending, barrier.phase = barrier.count, barrier.phase + 1
    barrier.told, barrier.known = barrier.known, np.zeros_like(barrier.known)
    waiting, barrier.waiting = barrier.waiting, []
    for threads, parity, goal in waiting:
        if barrier.is_over(parity):
            m.races.learn(place[0] // m.cluster, _warps(m, threads), barrier.told)
            m.wake(threads, goal)
        else:
            barrier.waiting.append((threads, parity, goal))


def _places(m: Machine, op: Instruction) -> list[tuple[int, int]]:
    """Block and address of the mbarrier of every thread."""
    operand = next(each for each in op.operands if isinstance(each, Address))
    addresses = m.addresses(operand)
    blocks = m.block[m.at]
    own, place = addresses & 0xFFFFFF, addresses >> 24
    rows = np.where(place > 0, blocks // m.cluster * m.cluster + place - 1, blocks)
    return list(zip(rows.tolist(), own.tolist(), strict=True))


def _mbarrier(m: Machine, place: tuple[int, int]) -> _Mbarrier:
    require(place in m.state["mbarrier"], f"there is no mbarrier at {place[1]}")
    return m.state["mbarrier"][place]


def _warps(m: Machine, threads: Threads) -> Array:
    """Numbers of the warps of threads of one cluster, in the cluster."""
    return np.unique(threads % (m.cluster * m.threads) // WARP)


def _join(m: Machine, threads: Threads) -> None:
    m.races.join(int(m.block[threads[0]]) // m.cluster, _warps(m, threads))


def _distinct(*columns: Array) -> list[tuple[int, ...]]:
    return sorted({*zip(*(each.tolist() for each in columns), strict=True)})
