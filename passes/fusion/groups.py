# SPDX-License-Identifier: MIT OR Apache-2.0
"""Groups of operations, and the rules by which groups become one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xyntra.dialects import Kind
from xyntra.dialects.segments import SEGMENTS
from xyntra.passes.cost.machine import Machine
from xyntra.passes.cost.work import launch_time
from xyntra.passes.fusion.graph import FusionGraph
from xyntra.passes.fusion.nodes import ANCHORS, Node, Read, Role
from xyntra.passes.fusion.reasons import Reason

__all__ = ["Group", "Rules", "kind_of"]

_SMALL_BYTES = 1 << 16


@dataclass(slots=True)
class Outside:
    """A tensor that a group reads and does not compute.

    Attributes:
        origin: the tensor behind its views.
        count: how many operations of the group read it.
        rows: numbers of rows at which all of these reads are aligned.
        pointwise: whether all of them are pointwise.
        initial: whether it only initialises what they write.
        by_anchor: whether the group's anchor is among them.
    """

    origin: int
    count: int
    rows: frozenset[int]
    pointwise: bool
    initial: bool
    by_anchor: bool


@dataclass(slots=True, eq=False)
class Group:
    """Operations that share a kernel.

    Attributes:
        members: indices of the operations, in order.
        anchor: the one operation that decides how the kernel is tiled.
        rows: numbers of rows that can be computed apart from each other.
        elements: elements of the largest result.
        largest_bytes: bytes of the largest tensor that an operation touches.
        reduces: whether an operation other than the anchor reduces.
        rowwise: whether an inner read is aligned at rows only.
        static: whether the kernel runs once, at load.
        opaque: whether it is an operation that shares its kernel with none.
        loose: whether operations over different spaces run one after the other.
        moves_only: whether nothing is computed.
        reads: tensors from outside.
        results: computed tensors that are read outside, and how many operations there read them.
        matrix_flops, scalar_ops: work, as the cost model counts it.
        nbytes: bytes that one launch reads and writes at least.
        nanoseconds: predicted time.
    """

    members: tuple[int, ...]
    anchor: Role | None
    rows: frozenset[int]
    elements: int
    largest_bytes: int
    reduces: bool
    rowwise: bool
    static: bool
    opaque: bool
    loose: bool
    moves_only: bool
    reads: dict[int, Outside]
    results: dict[int, int]
    matrix_flops: int
    scalar_ops: int
    nbytes: int
    nanoseconds: float = 0.0

    @property
    def is_pointwise(self) -> bool:
        """Whether every element is computed on its own."""
        return not (self.reduces or self.rowwise or self.loose) and self.elements in self.rows


class Rules:
    """What may be merged on a machine."""

    def __init__(self, graph: FusionGraph, machine: Machine, max_operations: int) -> None:
        self.graph = graph
        self.machine = machine
        self.max_operations = max_operations
        self._singles: dict[int, Group] = {}

    def single(self, index: int) -> Group:
        """The group that holds operation `index` alone."""
        found = self._singles.get(index)
        if found is None:
            found = self._singles[index] = self._single(index, self.graph.nodes[index])
        return found

    def _single(self, index: int, node: Node) -> Group:
        nbytes, readers = self.graph.nbytes, self.graph.readers
        role = node.role
        reads = _outside(node.reads, role in ANCHORS)
        sizes = [nbytes[tensor] for tensor in (*reads, *node.results)]
        return self._timed(
            Group(
                members=(index,),
                anchor=role if role in ANCHORS else None,
                rows=node.rows,
                elements=prod(node.shape),
                largest_bytes=max(sizes, default=0),
                reduces=role is Role.ROW,
                rowwise=False,
                static=node.static,
                opaque=role is Role.OPAQUE,
                loose=role is Role.DATA,
                moves_only=node.moves_only,
                reads=reads,
                results={tensor: readers[tensor] for tensor in node.results},
                matrix_flops=node.matrix_flops,
                scalar_ops=node.scalar_ops,
                nbytes=sum(sizes),
            )
        )

    def batch(self, groups: Sequence[Group]) -> Group | Reason:
        """One launch that runs independent `groups` one after the other; or why not."""
        merged = self._unite(groups)
        if not isinstance(merged, Group):
            return merged
        one_space = len({group.elements for group in groups}) == 1
        merged.loose = not (one_space and merged.is_pointwise)
        return self._refuse_shape(merged) or self._timed(merged)

    def merge(self, groups: Sequence[Group]) -> Group | Reason:
        """One kernel of `groups`, of which the last one reads from the others; or why not."""
        merged = self._unite(groups)
        if not isinstance(merged, Group):
            return merged
        return self._refuse_shape(merged) or self._timed(merged)

    def _unite(self, groups: Sequence[Group]) -> Group | Reason:
        refused = self.refuse_together(groups)
        if refused is not None:
            return refused
        union = _Union(groups, self.graph.nbytes)
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

    def _refuse_shape(self, group: Group) -> Reason | None:
        if len(group.reads) + len(group.results) > self.machine.max_buffers:
            return "too-many-buffers"
        if len(group.results) > SEGMENTS and not self._results_fit(group):
            return "too-many-buffers"
        if group.loose:
            return "window" if group.anchor is not None else None
        if group.is_pointwise:
            return None
        rows = max(group.rows)
        if rows <= 1 and group.largest_bytes > _SMALL_BYTES:
            return "misaligned"
        if group.largest_bytes > rows * self.machine.max_row_bytes:
            return "row-too-long"
        return "window" if group.anchor in (Role.WINDOW, Role.ATTENTION) else None

    def _results_fit(self, group: Group) -> bool:
        """Whether `xyntra.fused` can have results of all these types."""
        return len({self.graph.types[tensor] for tensor in group.results}) <= SEGMENTS

    def _timed(self, group: Group) -> Group:
        group.nanoseconds = launch_time(
            group.nbytes, group.matrix_flops, group.scalar_ops, self.machine
        )
        return group


def _outside(found: Sequence[Read], by_anchor: bool) -> dict[int, Outside]:
    """What an operation reads, each tensor once."""
    reads: dict[int, Outside] = {}
    for read in found:
        access = read.access
        outside = Outside(read.origin, 1, access.rows, access.pointwise, read.initial, by_anchor)
        known = reads.get(read.tensor)
        if known is not None:
            outside = _both(known, outside)
            outside.count = 1
        reads[read.tensor] = outside
    return reads


class _Union:
    """Groups on their way to become one."""

    def __init__(self, groups: Sequence[Group], sizes: Sequence[int]) -> None:
        self.groups = groups
        self.sizes = sizes
        self.results = dict(groups[0].results)
        self.nbytes = groups[0].nbytes
        for group in groups[1:]:
            self.results.update(group.results)
            self.nbytes += group.nbytes
        self.reads: dict[int, Outside] = {}
        self.prologue: list[Group] = []
        self.rows: frozenset[int] | None = None
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
                refused = self._connect(self._producer(outside.origin), reader, outside)
                if refused is not None:
                    return refused
        if any(self.results[tensor] for group in self.prologue for tensor in group.results):
            return "other-readers"
        return None

    def _read(self, tensor: int, outside: Outside) -> None:
        known = self.reads.get(tensor)
        if known is not None:
            outside = _both(known, outside)
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
            return "row-before-anchor" if producer.reduces else None
        if reader.loose and (producer.is_pointwise or producer.loose) and not producer.anchor:
            stored = self.results[outside.origin]
            self._align(reader.rows & outside.rows)
            return "other-readers" if stored and not outside.initial else None
        self._align(producer.rows & reader.rows & outside.rows)
        self.rowwise = self.rowwise or not outside.pointwise
        return None

    def _align(self, rows: frozenset[int]) -> None:
        self.rows = rows if self.rows is None else self.rows & rows

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
        )
        _cover(merged, working)
        for group in others:
            _absorb(merged, group)
        if len(others) > 1:
            merged.members = tuple(sorted(merged.members))
        for tensor in [tensor for tensor, count in self.results.items() if not count]:
            del merged.results[tensor]
            merged.nbytes -= self.sizes[tensor]
        return merged


def _cover(merged: Group, working: Sequence[Group]) -> None:
    """Let the space of `merged` be what groups that are no prologue work on."""
    for group in working:
        merged.elements = max(merged.elements, group.elements)
        merged.largest_bytes = max(merged.largest_bytes, group.largest_bytes)
        merged.loose = merged.loose or group.loose
    if not merged.loose:
        for group in working:
            merged.rows &= group.rows


def _absorb(merged: Group, group: Group) -> None:
    merged.members += group.members
    merged.anchor = merged.anchor or group.anchor
    merged.reduces = merged.reduces or group.reduces
    merged.rowwise = merged.rowwise or group.rowwise
    merged.moves_only = merged.moves_only and group.moves_only
    merged.matrix_flops += group.matrix_flops
    merged.scalar_ops += group.scalar_ops


def _both(first: Outside, second: Outside) -> Outside:
    return Outside(
        first.origin,
        first.count + second.count,
        first.rows & second.rows,
        first.pointwise and second.pointwise,
        first.initial and second.initial,
        first.by_anchor or second.by_anchor,
    )


def kind_of(group: Group, convolves: bool) -> Kind:
    """The kind of the kernel that `group` makes; `convolves` tells products from pooling."""
    if group.anchor is Role.CONTRACTION:
        return "contraction"
    if group.anchor is Role.ATTENTION:
        return "attention"
    if group.anchor is Role.WINDOW:
        return "conv" if convolves else "generic"
    if group.opaque:
        return "generic"
    if group.moves_only:
        return "data"
    if group.loose:
        return "generic"
    return "elementwise" if group.is_pointwise else "row"
