# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rules by which groups of operations become one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.cost.work import launch_time
from xyntra.passes.fusion.graph.access import Columns, common_rows
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import KernelRole
from xyntra.passes.fusion.partition.chains import chains_of
from xyntra.passes.fusion.partition.group import LARGEST_ITEM, Group, Outside, both, refuse_shape
from xyntra.passes.fusion.partition.reasons import Reason
from xyntra.passes.targets.target import Machine

__all__ = ["Rules"]


class Rules:
    """The rules of merging groups on a machine.

    `chains` are the groups to start from.
    """

    def __init__(self, graph: FusionGraph, machine: Machine, max_operations: int) -> None:
        self.graph = graph
        self.machine = machine
        self.max_operations = max_operations
        self.chains = chains_of(graph, machine, max_operations)

    def batch(self, groups: Sequence[Group]) -> Group | Reason:
        """One launch that runs independent `groups` one after the other; or why not."""
        merged = self._unite(groups)
        if not isinstance(merged, Group):
            return merged
        one_space = len({group.elements for group in groups}) == 1
        merged.loose = not (one_space and merged.is_pointwise)
        return self._refused(merged) or self._timed(merged)

    def merge(self, groups: Sequence[Group]) -> Group | Reason:
        """One kernel of `groups`, of which the last one reads from the others; or why not."""
        merged = self._unite(groups)
        if not isinstance(merged, Group):
            return merged
        return self._refused(merged) or self._timed(merged)

    def _unite(self, groups: Sequence[Group]) -> Group | Reason:
        refused = self.refuse_together(groups)
        if refused is not None:
            return refused
        union = _Union(groups, self.graph.nbytes, self.machine)
        return union.connect() or union.group()

    def refuse_together(self, groups: Sequence[Group]) -> Reason | None:
        """Why groups cannot be one kernel, whoever of them reads from whom."""
        anchors = operations = 0
        static = groups[-1].static
        for group in groups:
            if group.static is not static:
                return "once-at-load"
            if group.opaque:
                return "opaque"
            anchors += group.anchor is not None
            operations += len(group.members)
        if anchors > 1:
            return "two-anchors"
        return "too-many-operations" if operations > self.max_operations else None

    def _refused(self, group: Group) -> Reason | None:
        refused = refuse_shape(group, self.graph.kinds, self.machine)
        is_tiled = group.anchor is KernelRole.CONTRACTION and not self.machine.computes_factors
        if is_tiled and refused in ("misaligned", "row-too-long") and self._has_short_rows(group):
            return None
        return refused

    def _has_short_rows(self, group: Group) -> bool:
        """Tell whether rows of what a contraction and the operations behind it compute are short.

        Its factors, which may be larger than all of that, are read in tiles. Where there is a
        single row, there is nothing to be aligned at, as there is with several.
        """
        results = [value for each in group.members for value in self.graph.nodes[each].op.results]
        shapes = [ir.RankedTensorType(value.type).shape for value in results]
        rows = max(group.rows)
        if rows <= 1 and any(prod(shape[:-1]) != 1 for shape in shapes):
            return False
        longest = max(map(prod, shapes)) * LARGEST_ITEM
        return longest <= rows * self.machine.max_row_bytes

    def _timed(self, group: Group) -> Group:
        group.nanoseconds = launch_time(
            group.nbytes, group.matrix_flops, group.scalar_ops, self.machine
        )
        return group


class _Union:
    """Groups on their way to become one."""

    def __init__(self, groups: Sequence[Group], sizes: Sequence[int], machine: Machine) -> None:
        self.machine = machine
        self.groups = groups
        self.sizes = sizes
        self.results = dict(groups[0].results)
        self.nbytes = groups[0].nbytes
        for group in groups[1:]:
            self.results.update(group.results)
            self.nbytes += group.nbytes
        self.reads: dict[int, Outside] = {}
        self.prologue: list[Group] = []
        self.sums = False
        self.summand_bytes = max(group.summand_bytes for group in groups)
        self.are_outer = True  # what summands are computed from
        self.rows: frozenset[int] | None = None
        self.columns: Columns | None = None
        self.rowwise = False

    def connect(self) -> Reason | None:
        """Turn reads of one group from another into internal ones; or say why it cannot be."""
        readers = self.groups
        if len(readers) == 2:  # the first of two reads nothing of the last one
            self.reads = dict(readers[0].reads)
            readers = readers[1:]
        for reader in readers:
            for tensor, outside in reader.reads.items():
                if outside.origin not in self.results:
                    self._read(tensor, outside)
                    continue
                self.nbytes -= self.sizes[tensor]
                self.results[outside.origin] -= outside.count
                self.are_outer = self.are_outer and not reader.summand_bytes
                refused = self._connect(self._producer(outside.origin), reader, outside)
                if refused is not None:
                    return refused
        if any(self.results[tensor] for group in self.prologue for tensor in group.results):
            return "other-readers"
        return None

    def _read(self, tensor: int, outside: Outside) -> None:
        known = self.reads.get(tensor)
        if known is not None:
            outside = both(known, outside)
            self.nbytes -= self.sizes[tensor]
        self.reads[tensor] = outside

    def _producer(self, tensor: int) -> Group:
        for group in self.groups:
            if tensor in group.results:
                return group
        raise KeyError(tensor)

    def _connect(self, producer: Group, reader: Group, outside: Outside) -> Reason | None:
        if outside.by_anchor:
            self.prologue.append(producer)
            if producer.reduces:
                return "row-before-anchor"
            copied = reader.anchor is not KernelRole.ATTENTION and not self.machine.computes_factors
            return "factor-copied" if copied and not producer.moves_only else None
        if reader.pads and producer.reduces and not self.machine.computes_factors:
            return "row-before-anchor"  # whose windows read around the padding
        if reader.loose and (producer.is_pointwise or producer.loose) and not producer.anchor:
            stored = self.results[outside.origin]
            self._align(reader, outside)
            return "other-readers" if stored and not outside.initial else None
        if self._is_summand(producer, reader, outside):
            self.prologue.append(producer)
            self.sums = True
            self.summand_bytes = max(self.summand_bytes, self.sizes[outside.origin])
            inner = [each for each in producer.reads.values() if each.origin in self.results]
            self.are_outer = self.are_outer and not inner
            return None
        self._align(producer, reader, outside)
        self.rowwise = self.rowwise or not outside.pointwise
        return None

    def _is_summand(self, producer: Group, reader: Group, outside: Outside) -> bool:
        """Tell whether a reduction computes in its loop what it reads, and shares no rows with."""
        if not (outside.summand and self.machine.computes_summands and producer.is_pointwise):
            return False
        has_others = self.results[outside.origin] and self.machine.max_column_bytes
        if has_others and producer.columns & reader.columns & outside.columns:
            return False  # others read it, too, and may share columns with both
        return producer.anchor is None and max(producer.rows & reader.rows & outside.rows) == 1

    def _align(self, *found: Group | Outside) -> None:
        for each in found:
            rows, columns = each.rows, each.columns
            self.rows = rows if self.rows is None else _common(self.rows, rows, self.machine)
            self.columns = columns if self.columns is None else self.columns & columns

    def group(self) -> Group:
        """The merged group, not yet timed."""
        first, *others = self.groups
        working = self.groups
        if self.prologue:
            working = [group for group in working if group not in self.prologue]
        merged = Group(
            members=first.members,
            anchor=first.anchor,
            rows=working[0].rows if self.rows is None else self.rows,
            elements=0,
            largest_bytes=0,
            reduces=first.reduces,
            rowwise=first.rowwise or self.rowwise,
            static=first.static,
            opaque=False,
            loose=False,
            moves_only=first.moves_only,
            reads=self.reads,
            results=self.results,
            matrix_flops=first.matrix_flops,
            scalar_ops=first.scalar_ops,
            nbytes=self.nbytes,
            columns=working[0].columns if self.columns is None else self.columns,
        )
        _cover(merged, working, self.machine)
        if self.sums:  # what the reduction reads lies in no memory
            merged.largest_bytes = max(map(self.sizes.__getitem__, self.results))
        merged.summand_bytes = self.summand_bytes
        if not self.are_outer:  # then it has to share rows with what it is computed from
            merged.largest_bytes = max(merged.largest_bytes, self.summand_bytes)
            merged.elements = max(merged.elements, self.summand_bytes // LARGEST_ITEM)
        for group in others:
            _absorb(merged, group)
        merged.members = tuple(sorted(merged.members))
        for tensor in [tensor for tensor, count in self.results.items() if not count]:
            del merged.results[tensor]
            merged.nbytes -= self.sizes[tensor]
        return merged


def _common(first: frozenset[int], second: frozenset[int], machine: Machine) -> frozenset[int]:
    return common_rows(first, second) if machine.cuts_dimensions else first & second


def _cover(merged: Group, working: Sequence[Group], machine: Machine) -> None:
    """Let the space of `merged` be what groups that are no prologue work on."""
    for group in working:
        merged.elements = max(merged.elements, group.elements)
        merged.largest_bytes = max(merged.largest_bytes, group.largest_bytes)
        merged.loose = merged.loose or group.loose
    if not merged.loose:
        for group in working:
            merged.rows = _common(merged.rows, group.rows, machine)
            merged.columns &= group.columns


def _absorb(merged: Group, group: Group) -> None:
    merged.members += group.members
    merged.anchor = merged.anchor or group.anchor
    merged.reduces = merged.reduces or group.reduces
    merged.rowwise = merged.rowwise or group.rowwise
    merged.moves_only = merged.moves_only and group.moves_only
    merged.matrix_flops += group.matrix_flops
    merged.scalar_ops += group.scalar_ops
