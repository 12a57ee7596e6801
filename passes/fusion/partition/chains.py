# SPDX-License-Identifier: MIT OR Apache-2.0
"""The groups that the search for a partition starts from.

An elementwise operation that alone reads what another computes, element by element and in the same
shape, and nothing else that is computed, belongs with it: no cycle and no better choice can come of
that. Such chains are groups from the start, which leaves the search a third of the operations or
less. Chains work on the rows of their first operation: where it reduces, they have to be short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xyntra.passes.cost.work import launch_time
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import PASSIVE, FusionNode, KernelRole, TensorRead
from xyntra.passes.fusion.partition.group import Group, Outside, both, single
from xyntra.passes.targets.target import Machine

__all__ = ["Chains", "chains_of"]

_PART_OF_BUFFERS = 8
"""The part of a kernel's buffers that a chain may use; the search says who gets the others."""
_NO_TENSORS: frozenset[int] = frozenset()


@dataclass
class Chains:
    """Groups to start from.

    Attributes:
        groups: by the last operation of each, in the order of the first ones.
        alone: of every operation that runs at each call, the bytes and nanoseconds of a kernel of
            its own.
    """

    groups: dict[int, Group] = field(default_factory=dict)
    alone: list[tuple[int, float]] = field(default_factory=list)


def chains_of(graph: FusionGraph, machine: Machine, max_operations: int) -> Chains:
    """The operations of `graph` as chains, those that are in none by themselves."""
    timer, chains = _Timer(machine), Chains()
    for members in _chained(graph, machine, max_operations):
        group = single(graph, members[0])
        if len(members) > 1:
            _extend(group, graph, members)
        group.nanoseconds = timer.time(group.nbytes, group.matrix_flops, group.scalar_ops)
        chains.groups[members[-1]] = group
    for node in graph.nodes[:-1]:
        if node.role not in PASSIVE and not node.static:
            time = timer.time(node.nbytes, node.matrix_flops, node.scalar_ops)
            chains.alone.append((node.nbytes, time))
    return chains


class _Timer:
    """Predicted times; operations of a kind take the same."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.known: dict[tuple[int, int, int], float] = {}

    def time(self, nbytes: int, matrix_flops: int, scalar_ops: int) -> float:
        """Nanoseconds of a kernel that moves and computes so much."""
        key = nbytes, matrix_flops, scalar_ops
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = launch_time(*key, self.machine)
        return found


def _chained(graph: FusionGraph, machine: Machine, max_operations: int) -> list[list[int]]:
    """The members of every chain."""
    max_reads = machine.max_buffers // _PART_OF_BUFFERS
    chains: list[list[int]] = []
    open_chains: dict[int | None, tuple[list[int], int, frozenset[int]]] = {}
    for index, node in enumerate(graph.nodes):
        if node.role in PASSIVE:
            continue
        chain, reads, before = open_chains.pop(_only_producer(graph, node), ([], 0, _NO_TENSORS))
        both = reads + len(node.reads) - 1
        own = frozenset([read.origin for read in node.reads if read.initial]) or _NO_TENSORS
        may_grow = chain and both <= max_reads and len(chain) < max_operations
        if (before or own) and may_grow:
            may_grow = not _reads_overwritten(graph, chain, node, before | own)
        if may_grow and _has_short_rows(graph.nodes[chain[0]], node, machine):
            chain.append(index)
            open_chains[index] = chain, both, before | own
        else:
            chains.append([index])
            open_chains[index] = chains[-1], len(node.reads), own
    return chains


def _reads_overwritten(
    graph: FusionGraph, chain: Sequence[int], node: FusionNode, overwritten: frozenset[int]
) -> bool:
    """Tell whether a tensor that a chain or `node` writes over has other readers among them."""
    members = [*(graph.nodes[index] for index in chain), node]
    read = [each.origin for member in members for each in member.reads]
    return any(read.count(tensor) > 1 for tensor in overwritten)


def _has_short_rows(first: FusionNode, node: FusionNode, machine: Machine) -> bool:
    """Tell whether a worker can keep the rows of a chain's first operation and of `node`."""
    if first.role is not KernelRole.ROW:
        return True
    rows = max(first.rows)
    return rows > 1 and first.nbytes + node.nbytes <= rows * machine.max_row_bytes


def _only_producer(graph: FusionGraph, node: FusionNode) -> int | None:
    """The operation that elementwise `node` follows in a chain, if there is such a one."""
    if node.role is not KernelRole.LOOP:
        return None
    found = None
    for read in node.reads:
        if read.producer is None:
            continue
        if found is not None or read.views or read.initial or not read.access.pointwise:
            return None
        if read.holder is not node.op or graph.readers[read.origin] > 1:
            return None
        found = read.producer
    if found is None:
        return None
    producer = graph.nodes[found]
    alike = producer.shape == node.shape and producer.static is node.static
    if (
        not alike
        or len(producer.results) > 1
        or producer.role in (KernelRole.OPAQUE, KernelRole.DATA)
    ):
        return None
    return found


def _extend(group: Group, graph: FusionGraph, members: Sequence[int]) -> None:
    """Let `group`, of the first of `members`, be that of them all."""
    sizes = graph.nbytes
    for index in members[1:]:
        node = graph.nodes[index]
        group.scalar_ops += node.scalar_ops
        group.moves_only = group.moves_only and node.moves_only
        for read in node.reads:
            if read.producer is None:
                _add(group, read)
    last = graph.nodes[members[-1]]
    group.members = tuple(members)
    group.results = {tensor: graph.readers[tensor] for tensor in last.results}
    moved = [sizes[tensor] for tensor in (*group.reads, *group.results)]
    group.nbytes, group.largest_bytes = sum(moved), max(moved)


def _add(group: Group, read: TensorRead) -> None:
    """Let `group` read what it does not compute."""
    access = read.access
    initial = read.initial
    outside = Outside(
        read.origin,
        1,
        access.rows,
        access.pointwise,
        initial,
        False,
        initial,
        columns=access.columns,
    )
    known = group.reads.get(read.tensor)
    group.reads[read.tensor] = outside if known is None else both(known, outside)
