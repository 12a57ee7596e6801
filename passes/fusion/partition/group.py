# SPDX-License-Identifier: MIT OR Apache-2.0
"""Groups of operations that share a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xyntra.dialects import Kind
from xyntra.dialects.mlir import ir
from xyntra.dialects.segments import SEGMENTS
from xyntra.passes.fusion.graph.access import Columns
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import ANCHORS, KernelRole, TensorRead
from xyntra.passes.fusion.partition.reasons import Reason
from xyntra.passes.targets.target import Machine

__all__ = [
    "LARGEST_ITEM",
    "SMALL_BYTES",
    "Group",
    "Outside",
    "both",
    "kind_of",
    "outside_of",
    "refuse_shape",
    "single",
]

SMALL_BYTES = 1 << 16
LARGEST_ITEM = 8  # bytes of an element
_LEAST_BESIDE = 8  # columns that are contiguous in memory
_MANY_COLUMNS = 1 << 12  # for all multiprocessors
_FEW_BYTES = 1 << 17  # of a tensor, which few blocks go through in the time of a launch
_SHORTER = 8  # times, columns are where they are few


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
        overwritten: whether it initialises what one of them writes.
        summand: whether reductions read it, an element in every iteration.
        columns: numbers of columns at which all of these reads are aligned.
    """

    origin: int
    count: int
    rows: frozenset[int]
    pointwise: bool
    initial: bool
    by_anchor: bool
    overwritten: bool = False
    summand: bool = False
    columns: Columns = frozenset()


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
        summand_bytes: of the largest tensor that lies in no memory, since a reduction computes its
            elements from what comes from outside.
        columns: numbers of columns that can be computed apart from each other.
        pads: whether it is a padding that windows alone read, which need no padded copy.
    """

    members: tuple[int, ...]
    anchor: KernelRole | None
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
    summand_bytes: int = 0
    columns: Columns = frozenset()
    pads: bool = False

    @property
    def is_pointwise(self) -> bool:
        """Tell whether every element is computed on its own."""
        return not (self.reduces or self.rowwise or self.loose) and self.elements in self.rows


def single(graph: FusionGraph, index: int) -> Group:
    """The group that holds operation `index` alone; not yet timed."""
    node = graph.nodes[index]
    sizes, readers, role = graph.nbytes, graph.readers, node.role
    reads = outside_of(node.reads, role in ANCHORS)
    return Group(
        members=(index,),
        anchor=role if role in ANCHORS else None,
        rows=node.rows,
        elements=prod(node.shape),
        largest_bytes=max([sizes[tensor] for tensor in (*reads, *node.results)], default=0),
        reduces=role is KernelRole.ROW,
        rowwise=False,
        static=node.static,
        opaque=role is KernelRole.OPAQUE,
        loose=role is KernelRole.DATA,
        moves_only=node.moves_only,
        reads=reads,
        results={tensor: readers[tensor] for tensor in node.results},
        matrix_flops=node.matrix_flops,
        scalar_ops=node.scalar_ops,
        nbytes=node.nbytes,
        columns=node.columns,
        pads=node.op.name == "tensor.pad" and _is_read_by_windows(node.op.results[0]),
    )


def _is_read_by_windows(value: ir.Value) -> bool:
    readers = [use.owner.operation for use in value.uses]
    return bool(readers) and all(
        each.name == "linalg.generic"
        and len(each.operands) > len(each.results) + 1
        and any("reduction" in str(kind) for kind in each.attributes["iterator_types"])
        for each in readers
    )


def outside_of(found: Sequence[TensorRead], by_anchor: bool) -> dict[int, Outside]:
    """Return what an operation reads, each tensor once."""
    reads: dict[int, Outside] = {}
    for read in found:
        access = read.access
        initial = read.initial
        rows, pointwise = access.rows, access.pointwise
        summand = access.summand and not read.views
        outside = Outside(
            read.origin, 1, rows, pointwise, initial, by_anchor, initial, summand, access.columns
        )
        known = reads.get(read.tensor)
        if known is not None:
            outside = both(known, outside)
            outside.count = 1
        reads[read.tensor] = outside
    return reads


def both(first: Outside, second: Outside) -> Outside:
    """Return what two operations read of one tensor."""
    return Outside(
        first.origin,
        first.count + second.count,
        first.rows & second.rows,
        first.pointwise and second.pointwise,
        first.initial and second.initial,
        first.by_anchor or second.by_anchor,
        first.overwritten or second.overwritten,
        first.summand and second.summand,
        first.columns & second.columns,
    )


def refuse_shape(group: Group, kinds: Sequence[int], machine: Machine) -> Reason | None:
    """Why what a group reads, computes and gives does not fit into one kernel, if it does not.

    `kinds` are the numbers of the types of all tensors.
    """
    if len(group.reads) + len(group.results) > machine.max_buffers:
        return "too-many-buffers"
    if len(group.members) > 1 and _reads_overwritten(group):
        return "overwritten"
    if len(group.results) > SEGMENTS and len({kinds[t] for t in group.results}) > SEGMENTS:
        return "too-many-buffers"
    if group.loose:
        return "window" if group.anchor is not None else None
    if group.is_pointwise:
        return None
    rows = max(group.rows)
    if not _computes_little(group) and not _has_short_columns(group, machine):
        if rows <= 1 and group.largest_bytes > SMALL_BYTES:
            return "misaligned"
        if group.largest_bytes > rows * machine.max_row_bytes:
            return "row-too-long"
    return "window" if group.anchor in (KernelRole.WINDOW, KernelRole.ATTENTION) else None


def _computes_little(group: Group) -> bool:
    """Tell whether all results are small: a reduction of much, and what is done to that."""
    return group.anchor is None and group.elements * LARGEST_ITEM <= SMALL_BYTES


def _has_short_columns(group: Group, machine: Machine) -> bool:
    """Whether threads side by side can each keep a part of a column to themselves."""
    if group.anchor is not None:
        return False
    counts = [pieces * beside for pieces, beside in group.columns if beside >= _LEAST_BESIDE]
    most, longest = max(counts, default=0), machine.max_column_bytes
    if most < _MANY_COLUMNS and group.largest_bytes > _FEW_BYTES:
        longest //= _SHORTER  # few blocks take longer than more launches
    return group.largest_bytes <= most * longest


def _reads_overwritten(group: Group) -> bool:
    """Tell whether an operation writes over a tensor from outside that another one reads."""
    for outside in group.reads.values():
        if outside.overwritten:
            readers = [each.count for each in group.reads.values() if each.origin == outside.origin]
            if sum(readers) > 1:
                return True
    return False


def kind_of(group: Group, convolves: bool) -> Kind:
    """The kind of the kernel that `group` makes; `convolves` tells products from pooling."""
    if group.anchor is KernelRole.CONTRACTION:
        return "contraction"
    if group.anchor is KernelRole.ATTENTION:
        return "attention"
    if group.anchor is KernelRole.WINDOW:
        return "conv" if convolves else "generic"
    if group.opaque:
        return "generic"
    if group.moves_only:
        return "data"
    if group.loose:
        return "generic"
    return "elementwise" if group.is_pointwise else "row"
