# SPDX-License-Identifier: MIT OR Apache-2.0
"""`rows-in-pieces`: a norm that a rotation follows computes all pieces of a row side by side.

Rotary embeddings combine the halves of a row, or neighbours in it. A thread that holds one element
of every piece has all that this takes, so that the norm and the rotation are one launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import entry_block, kernel_function
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.rows.row_order import in_single_rows
from xyntra.passes.lower.gpu.rows.row_plan import row_plan
from xyntra.passes.lower.gpu.stages.launch_groups import is_nest
from xyntra.passes.lower.gpu.stages.stage import tidy, working
from xyntra.passes.lower.kernels.element_nests import are_independent, identity_of, repeated
from xyntra.passes.lower.loops.linear_nest import (
    BufferOperand,
    LinearNest,
    linear_nest,
    part,
    reordered,
    split,
    without_units,
)
from xyntra.passes.lower.loops.memrefs import is_private, root
from xyntra.passes.lower.loops.nest_generic import generic_of
from xyntra.passes.registry import register_pass

_MOST_PIECES = 4  # of a row


@register_pass
@dataclass(frozen=True)
class RowsInPieces:
    """Let operations that share rows compute an element of each piece of a row at once.

    It is done for what computes a buffer that is only read piece by piece, where it reduces the
    rows, and threads can keep these in registers until they are read.
    """

    name: ClassVar[str] = "rows-in-pieces"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function = kernel_function(module)
        work = working(entry_block(function))
        nests = [_simple_nest(op) for op in work]
        done = 0
        for place in range(len(work)):
            found = _Rows.of(work, nests, place, done) if place >= done else None
            if found is not None and found.rewrite(device_of(self.device)):
                done = found.end
        tidy(function)


def _simple_nest(op: ir.Operation) -> LinearNest | None:
    """Return what an operation computes without asking where it is; None for any other."""
    if not is_nest(op):
        return None
    nest = without_units(linear_nest(op, flat=False))
    if nest.indices or any(view.operation.name == "memref.load" for view in nest.body.operations):
        return None
    return nest


@dataclass(frozen=True)
class _Pieces:
    """A division of rows into pieces of equal length.

    Attributes:
        length: elements of a row.
        count: of pieces.
        interleaved: whether neighbours in a row are of different pieces.
    """

    length: int
    count: int
    interleaved: bool

    @classmethod
    def of(cls, nests: Sequence[LinearNest], buffer: ir.Value, length: int) -> _Pieces | None:
        """Return the pieces in which `nests` read rows of a buffer; None where they do not."""
        unit, steps = length, set()
        for nest in nests:
            row = _row_loop(nest, buffer, length)
            if row is None:
                return None
            extent = nest.loops[row].extent
            for access in _touching(nest, buffer):
                step = access.strides[row]
                steps.add(step)
                if access.start + step * (extent - 1) >= length:
                    return None
                unit = gcd(unit, extent, access.start if step == 1 else 0)
        if len(steps) != 1:
            return None
        step = steps.pop()
        if step > 1 and unit * step != length:
            return None
        found = cls(length, length // unit, step > 1)
        return found if 1 < found.count <= _MOST_PIECES else None

    def parts(self, nest: LinearNest, row: int) -> list[LinearNest]:
        """Return what `nest`, which goes along whole rows by loop `row`, does for each piece."""
        if not self.interleaved:
            return self.runs(nest, row)
        cut = split(nest, row, self.count)
        return [without_units(part(cut, row + 1, each, 1), row + 1) for each in range(self.count)]

    def runs(self, nest: LinearNest, row: int) -> list[LinearNest]:
        """Return `nest` in parts that are as long as a piece along loop `row`."""
        size = self.length // self.count
        return [part(nest, row, first, size) for first in range(0, nest.loops[row].extent, size)]


@dataclass(frozen=True)
class _Rows:
    """Neighbouring operations that compute rows and read them in pieces.

    Attributes:
        members: what computes rows: operations, nests, and their loops along rows, -1 for none.
        readers: what reads them in pieces, with the loops of the last member first, in that order.
        pieces: these.
        end: number of the operation behind the last one.
    """

    members: list[tuple[ir.Operation, LinearNest, int]]
    readers: list[tuple[ir.Operation, LinearNest]]
    pieces: _Pieces
    end: int

    @classmethod
    def of(
        cls,
        work: Sequence[ir.Operation],
        nests: Sequence[LinearNest | None],
        place: int,
        begin: int,
    ) -> _Rows | None:
        """Return the operations around what writes rows that others read in pieces.

        Args:
            work: the operations of a kernel, in order.
            nests: theirs, None for those that are not looked at.
            place: number of the one that writes the rows.
            begin: number of the first operation that may be taken.
        """
        writer = nests[place]
        if writer is None or writer.reductions or len(writer.outputs) != 1:
            return None
        buffer = root(writer.outputs[0].value)
        found = _following(work, nests, place, buffer)
        row = _along(writer, writer.outputs[0])
        if not found or row is None or writer.outputs[0].start:
            return None
        length = writer.loops[row].extent
        pieces = _Pieces.of([nest for _, nest in found], buffer, length)
        if pieces is None:
            return None
        readers = [(op, _like(nest, writer, buffer)) for op, nest in found]
        members = _members(work[: place + 1], nests[begin : place + 1], length, len(writer.loops))
        ordered = [(op, nest) for op, nest in readers if nest is not None]
        if len(ordered) < len(readers) or not any(nest.reductions for _, nest, _ in members):
            return None
        return cls(members, ordered, pieces, place + 1 + len(readers))

    def rewrite(self, device: GpuDevice) -> bool:
        """Replace the operations, if threads can keep the rows then; tells whether they can."""
        old = [op for op, _, _ in self.members] + [op for op, _ in self.readers]
        new, kept = [], []
        for op, nest, row in self.members:
            if row < 0:
                new.append(op)
                kept.append(op)
            else:
                new.append(_side_by_side(op, self.pieces.parts(nest, row)))
        runs = [(op, self.pieces.runs(nest, len(nest.loops) - 1)) for op, nest in self.readers]
        parts = [each for _, found in runs for each in found]
        if all(are_independent(*pair) for pair in combinations(parts, 2)):
            new.append(_side_by_side(self.readers[-1][0], parts))
        else:
            new.extend(_side_by_side(op, [each]) for op, found in runs for each in found)
        nests = [linear_nest(op, flat=False) for op in new]
        fits = row_plan(*in_single_rows(nests), [*old, *new], device) is not None
        for op in old if fits else new:
            if op not in kept:
                op.erase()
        return fits


def _following(
    work: Sequence[ir.Operation],
    nests: Sequence[LinearNest | None],
    place: int,
    buffer: ir.Value,
) -> list[tuple[ir.Operation, LinearNest]]:
    """Return the operations behind one that write nothing it writes, if only these touch `buffer`.

    Empty where others touch it, or lie between them.
    """
    found = []
    for op, nest in zip(work[place + 1 :], nests[place + 1 :], strict=True):
        if nest is None or nest.reductions or nest.reads_outputs or not _touching(nest, buffer):
            break
        if any(root(each.value) == buffer for each in nest.outputs):
            break
        found.append((op, nest))
    users = [work[place], *(op for op, _ in found)]
    return found if is_private(buffer, users) else []


def _members(
    work: Sequence[ir.Operation], nests: Sequence[LinearNest | None], length: int, loops: int
) -> list[tuple[ir.Operation, LinearNest, int]]:
    """Return the last of some operations and those right before it that compute its rows, in order.

    Nothing where others look at what they compute.

    Args:
        work: the operations, and any others before them.
        nests: what the operations compute.
        length: elements of a row.
        loops: of a nest that goes through all rows.
    """
    found: list[tuple[ir.Operation, LinearNest, int]] = []
    wanted: set[ir.Value] = set()
    for op, nest in zip(reversed(work), reversed(nests), strict=False):
        row = None if nest is None else _row_of(nest, length, loops)
        if nest is None or row is None:
            break
        if found and not {root(each.value) for each in nest.outputs} <= wanted:
            break
        found.append((op, nest, row))
        wanted |= {root(each.value) for each in _moving(nest)}
    users = [op for op, _, _ in found]
    inner = {root(each.value) for _, nest, _ in found[1:] for each in nest.outputs}
    return found[::-1] if all(is_private(each, users) for each in inner) else []


def _row_of(nest: LinearNest, length: int, loops: int) -> int | None:
    """Return the loop of a nest along rows; -1 where it has none, None where it is no nest of rows.

    Args:
        nest: any.
        length: elements of a row.
        loops: of a nest that goes through all rows.
    """
    if nest.reductions:
        # The reduction has to be one that can combine pieces.
        is_one = len(nest.reductions) == 1 and Combiner.of(nest) is not None
        fits = is_one and nest.loops[nest.reductions[0]].extent == length
        return nest.reductions[0] if fits else None
    if nest.reads_outputs or len(nest.loops) > loops:
        return None
    if len(nest.loops) < loops:
        return -1
    rows = {_along(nest, each) for each in nest.outputs}
    row = rows.pop() if len(rows) == 1 else None
    return row if row is not None and nest.loops[row].extent == length else None


def _along(nest: LinearNest, access: BufferOperand) -> int | None:
    """Return the loop along which an access is contiguous; None where there is none."""
    found = [number for number, step in enumerate(access.strides) if step == 1]
    is_told = len(found) == 1 and isinstance(nest.loops[found[0]].extent, Size)
    return found[0] if len(found) == 1 and not is_told else None


def _row_loop(nest: LinearNest, buffer: ir.Value, length: int) -> int | None:
    """Return the one loop along which a nest reads rows of `length` elements of `buffer`."""
    found = {
        number
        for access in _touching(nest, buffer)
        for number, step in enumerate(access.strides)
        if 0 < step < length
    }
    row = found.pop() if len(found) == 1 else None
    return None if row is None or isinstance(nest.loops[row].extent, Size) else row


def _like(nest: LinearNest, writer: LinearNest, buffer: ir.Value) -> LinearNest | None:
    """Return a reader with its loops in the order of those of `writer`, the one along rows last."""
    written = writer.outputs[0]
    outer = [
        (step, loop.extent)
        for step, loop in zip(written.strides, writer.loops, strict=True)
        if step != 1
    ]
    orders = []
    for access in _touching(nest, buffer):
        pairs = zip(access.strides, nest.loops, strict=True)
        own = [(step, loop.extent) for step, loop in pairs]
        rest = [number for number, each in enumerate(own) if each not in outer]
        if len(set(own)) < len(own) or len(rest) != 1 or len(own) != len(outer) + 1:
            return None
        orders.append([*map(own.index, outer), *rest])
    return reordered(nest, orders[0]) if all(each == orders[0] for each in orders) else None


def _touching(nest: LinearNest, buffer: ir.Value) -> list[BufferOperand]:
    return [each for each in nest.accesses if not each.is_scalar and root(each.value) == buffer]


def _moving(nest: LinearNest) -> list[BufferOperand]:
    return [each for each in nest.accesses if not each.is_scalar]


def _side_by_side(op: ir.Operation, parts: Sequence[LinearNest]) -> ir.Operation:
    """Create, before an operation, one that does its parts for the same iteration."""
    first = parts[0]
    combiner = Combiner.of(first) if first.reductions else None
    inputs = {identity_of(each): each for nest in parts for each in nest.inputs}
    outputs = first.outputs if combiner else [each for nest in parts for each in nest.outputs]

    def body(given: list[ir.Value]) -> Sequence[ir.Value]:
        known = dict(zip(inputs, given, strict=False))
        present = given[len(inputs) :]
        found = []
        for nest in parts:
            values = [known[identity_of(each)] for each in nest.inputs]
            found += repeated(nest.body, [*values, *present[: len(nest.outputs)]])
        return found if combiner is None else [_combined(combiner, found, present[0])]

    with op.location, ir.InsertionPoint(op):
        return generic_of(first.loops, list(inputs.values()), list(outputs), body)


def _combined(combiner: Combiner, found: Sequence[ir.Value], present: ir.Value) -> ir.Value:
    """Combine what parts of a reduction have each combined with what was there before."""
    single = []
    for value in found:
        last = value.owner.operation
        single += [each for each in last.operands if each != present]
        last.erase()
    together = single[0]
    for each in single[1:]:
        together = combiner.combine(together, each)
    return combiner.combine(present, together)
