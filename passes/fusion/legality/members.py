# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of one kernel: what each is, and how each reads what others of it compute."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.reductions import BY_ROWS
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.fusion.legality.alignment import (
    Alignment,
    Columns,
    Rows,
    Shape,
    compare,
    numbers_of_columns,
    numbers_of_rows,
)
from xyntra.passes.fusion.legality.facts import BodyFacts, Facts, LoopFacts
from xyntra.passes.fusion.legality.roles import ALONG_AXIS, NOTHING, Role, role_of

__all__ = ["ENDS", "Contents", "Member", "MemberRead", "ValueOrigin", "read_block"]

ENDS = frozenset({"xyntra.yield", "func.return"})
_UNALIGNED = Alignment(frozenset({1}), False)
_BY_COLUMNS = frozenset({Role.ROW, Role.POINTWISE, Role.MOVES})
_SOFTMAX = frozenset({"xyntra.softmax", "xyntra.log_softmax"})


class ValueOrigin(IntEnum):
    """The origin of a value that no member computes; members have numbers from 0 on."""

    OUTSIDE = -1
    PART_OF_OUTSIDE = -2
    FILL = -3
    NOTHING = -4


@dataclass(frozen=True)
class MemberRead:
    """A member's read of what member `producer` computes; `initial` if it writes on top of it.

    Of a `summand`, every iteration of a reduction reads an element of its own.
    """

    producer: int
    rows: Rows
    pointwise: bool
    initial: bool = False
    summand: bool = False
    columns: Columns = frozenset()


@dataclass
class Member:
    """An operation that computes or moves something.

    `shape`, `rows`, `columns` and `nbytes` are those of its results: the shape of the first one,
    the numbers of rows and columns that all have, the bytes of the largest.

    A reduction may store what it computes in another order than that of its loops. Its rows can be
    those of the loops: then `order` has the dimensions of the result in the order of the loops. It
    is empty for all others, and where rows are those of what is stored.
    """

    op: ir.Operation
    role: Role
    shape: Shape = ()
    rows: Rows = frozenset({1})
    nbytes: int = 0
    reads: list[MemberRead] = field(default_factory=list)
    may_anchor: bool = False
    order: tuple[int, ...] = ()
    columns: Columns = frozenset()


@dataclass
class Contents:
    """A kernel's operations.

    Attributes:
        members: those that compute or move something, in order.
        captured: what is read from outside.
        written: captured values that operations overwrite, with the operation.
        ends: the values that the kernel returns, with the number of a member or a `ValueOrigin`.
        impure: operations that may have side effects.
    """

    members: list[Member] = field(default_factory=list)
    captured: dict[ir.Value, None] = field(default_factory=dict)
    written: list[tuple[ir.Operation, ir.Value]] = field(default_factory=list)
    ends: list[tuple[ir.Value, int]] = field(default_factory=list)
    impure: list[ir.Operation] = field(default_factory=list)


def read_block(block: ir.Block, facts: Facts, *, rows_of_loops: bool = True) -> Contents:
    """The contents of a kernel with the body `block`.

    Args:
        block: what the kernel holds.
        facts: answers about types and attributes.
        rows_of_loops: whether rows of a reduction that stores its result in another order than
            that of its loops are those of the loops, or those of what it stores.
    """
    reader = _Reader(facts, rows_of_loops)
    for view in block.operations:
        reader.visit(view.operation)
    return reader.contents


class _Reader:
    def __init__(self, facts: Facts, rows_of_loops: bool) -> None:
        self.facts = facts
        self.rows_of_loops = rows_of_loops
        self.contents = Contents()
        self.origin: dict[ir.Value, int] = {}
        self.sliced: dict[ir.Value, Rows] = {}

    def visit(self, op: ir.Operation) -> None:
        name = op.name
        if name in NOTHING:
            self.origin[op.results[0]] = ValueOrigin.NOTHING
            return
        operands = list(op.operands)
        if name in ENDS:
            self.contents.ends += [(value, self._seen(value)) for value in operands]
            return
        results = list(op.results)
        loops, does = None, 0
        gathered: list[ir.Value] = []
        if name == "linalg.generic":
            loops = self.facts.loops(op)
            does, gathered = self._scan_body(op)
        else:
            gathered = self._scan(op, name)
        known = self.facts.tensor(results[0].type) if results else None
        role = role_of(name, loops, does, len(operands) - len(results)) if known else Role.OTHER
        if role is Role.VIEW:
            self._view(op, operands, results[0])
        elif role is Role.FILL:
            self.origin[results[0]] = ValueOrigin.FILL
        else:
            member = Member(op, role, known.shape if known else ())
            self._describe(member, name, results, loops)
            self._read(member, name, operands, loops, len(results))
            for value in gathered:
                self._note(member, value, self._seen(value), _UNALIGNED)
            index = len(self.contents.members)
            self.contents.members.append(member)
            for value in results:
                self.origin[value] = index

    def _read(
        self,
        member: Member,
        name: str,
        operands: list[ir.Value],
        loops: LoopFacts | None,
        results: int,
    ) -> None:
        destination = len(operands)
        if loops is not None or name.startswith("linalg."):
            destination -= results
        elif name == "tensor.insert_slice":
            destination = 1
        for position, value in enumerate(operands):
            place = self._seen(value)
            if place >= 0:
                producer = self.contents.members[place]
                found = self._align(member, name, loops, position, value, producer)
                summand = value.owner.operation == producer.op and _takes_each(loops, position)
                self._note(member, value, place, found, position >= destination, summand)
            elif position >= destination and place >= ValueOrigin.PART_OF_OUTSIDE:
                self.contents.written.append((member.op, value))

    def _note(
        self,
        member: Member,
        value: ir.Value,
        place: int,
        found: Alignment,
        initial: bool = False,
        summand: bool = False,
    ) -> None:
        if place < 0:
            return
        kept = self.sliced.get(value) if self.sliced else None
        if kept is not None:
            found = Alignment(found.rows & kept, False)
        read = MemberRead(place, found.rows, found.pointwise, initial, summand, found.columns)
        member.reads.append(read)

    def _seen(self, value: ir.Value) -> int:
        found = self.origin.get(value)
        if found is None:
            self.contents.captured[value] = None
            found = self.origin[value] = ValueOrigin.OUTSIDE
        return found

    def _view(self, op: ir.Operation, operands: list[ir.Value], result: ir.Value) -> None:
        place = self._seen(operands[0])
        kept = self.sliced.get(operands[0])
        if op.name == "tensor.extract_slice":
            part, whole = (self.facts.tensor(v.type) for v in (result, operands[0]))
            if part is not None:
                equal = _equal_prefix(part.shape, whole.shape if whole else ())
                rows = numbers_of_rows(part.shape, equal)
                kept = rows if kept is None else rows & kept
        if kept is not None:
            self.sliced[result] = kept
        for value in operands[1:]:
            self._seen(value)
        self.origin[result] = ValueOrigin.PART_OF_OUTSIDE if place == ValueOrigin.OUTSIDE else place

    def _describe(
        self, member: Member, name: str, results: list[ir.Value], loops: LoopFacts | None
    ) -> None:
        axis = None
        if name in ALONG_AXIS:
            axis = ir.IntegerAttr(member.op.attributes["axis"]).value
        if loops is not None and self.rows_of_loops:
            member.order = _order(loops, len(results))
        member.rows = numbers_of_rows(_sorted(member.shape, member.order), axis)
        for value in results:
            tensor = self.facts.tensor(value.type)
            if tensor is not None:
                member.nbytes = max(member.nbytes, tensor.nbytes)
                if tensor.shape != member.shape:
                    member.rows &= numbers_of_rows(tensor.shape)
        if member.role is Role.PRODUCT and loops is not None:
            member.may_anchor = True
            inputs = len(loops.maps) - len(results)
            if BY_ROWS in member.op.attributes or not _shares_operands(member, loops, inputs):
                member.role = Role.ROW
        if member.role in _BY_COLUMNS and not member.order:
            member.columns = numbers_of_columns(member.shape, _own_dimensions(member, axis))
            for tensor in map(self.facts.tensor, (value.type for value in results)):
                if tensor is not None and tensor.shape != member.shape:
                    member.columns &= numbers_of_columns(tensor.shape)

    def _align(
        self,
        member: Member,
        name: str,
        loops: LoopFacts | None,
        position: int,
        value: ir.Value,
        producer: Member,
    ) -> Alignment:
        operand = self.facts.tensor(value.type)
        if operand is None:
            return _UNALIGNED
        order = producer.order
        if order and (loops is None or value.owner.operation != producer.op):
            return _UNALIGNED
        if loops is not None:
            results = loops.maps[len(loops.maps) - len(member.op.results) :]
            if any(map_ != results[0] for map_ in results):
                return _UNALIGNED
            written = _sorted(results[0], member.order), _sorted(member.shape, member.order)
            read = _sorted(loops.maps[position], order), _sorted(operand.shape, order)
            return compare(*written, *read)
        if member.role is Role.DATA:
            if name == "tensor.insert_slice" and position == 1:
                return Alignment(member.rows, True)
            kept = _equal_prefix(member.shape, operand.shape)
            return Alignment(numbers_of_rows(member.shape, kept), False)
        if member.role in (Role.ROW, Role.POINTWISE) and position == 0:
            columns = numbers_of_columns(member.shape)
            return Alignment(numbers_of_rows(member.shape), member.role is Role.POINTWISE, columns)
        return _UNALIGNED

    def _scan(self, op: ir.Operation, name: str) -> list[ir.Value]:
        """Return what the regions of an operation that is no generic read by themselves."""
        if self.facts.body(op, name) & BodyFacts.IMPURE:
            self.contents.impure.append(op)
        return self._nested_reads(op) if len(op.regions) else []

    def _scan_body(self, op: ir.Operation) -> tuple[int, list[ir.Value]]:
        """What a generic's scalar operations do, and the tensors that they read by themselves."""
        does = 0
        body = self.facts.body
        block = op.regions[0].blocks[0]
        for view in block.operations:
            inner = view.operation
            does |= body(inner, inner.name)
        if not does & BodyFacts.UNUSUAL:
            return does, []
        if does & (BodyFacts.NESTS | BodyFacts.IMPURE):
            return does | BodyFacts.NESTS, self._nested_reads(op)
        inside = [view.operation for view in block.operations]
        return does, [inner.operands[0] for inner in inside if inner.name == "tensor.extract"]

    def _nested_reads(self, op: ir.Operation) -> list[ir.Value]:
        """Tensors from around `op` that operations in it use; notes what is impure in it."""
        nested = list(nested_operations(op))
        inside = {value for inner in nested for value in inner.results}
        for around in (op, *nested):
            blocks = [block for region in around.regions for block in region.blocks]
            inside.update(value for block in blocks for value in block.arguments)
        found: dict[ir.Value, None] = {}
        for inner in nested:
            if self.facts.body(inner, inner.name) & BodyFacts.IMPURE:
                self.contents.impure.append(inner)
            for value in inner.operands:
                if value not in inside and isinstance(value.type, ir.RankedTensorType):
                    found[value] = None
        return list(found)


def _shares_operands(member: Member, loops: LoopFacts, inputs: int) -> bool:
    """Tell whether two operands at least are read again for several elements of the result.

    With fewer, a product is a reduction along rows: of a row and a vector, or of two rows. Operands
    that the same loops index are one operand, their product.
    """
    extents = zip(loops.maps[inputs], member.shape, strict=True)
    outer = {loop for loop, extent in extents if extent != 1}
    indexed = {frozenset(map_) for map_ in loops.maps[:inputs]}
    return sum(not outer <= loops_of_operand for loops_of_operand in indexed) > 1


def _own_dimensions(member: Member, axis: int | None) -> tuple[int, int]:
    """The dimensions, from and to, along which an operation by rows mixes elements."""
    if axis is None:
        return 0, 0
    return axis, axis + 1 if member.op.name in _SOFTMAX else len(member.shape)


def _takes_each(loops: LoopFacts | None, position: int) -> bool:
    """Tell whether every iteration of a reduction reads an element of its own of an operand."""
    if loops is None or not loops.reduces:
        return False
    count = 1 + max((loop for map_ in loops.maps for loop in map_), default=-1)
    return loops.maps[position] == tuple(range(count))


def _equal_prefix(shape: Shape, other: Shape) -> int:
    count = 0
    while count < min(len(shape), len(other)) and shape[count] == other[count]:
        count += 1
    return count


def _order(loops: LoopFacts, results: int) -> tuple[int, ...]:
    """The dimensions of a reduction's results in the order of its loops, where they differ."""
    written = loops.maps[len(loops.maps) - results :]
    if not loops.reduces or not written or any(map_ != written[0] for map_ in written):
        return ()
    if min(written[0], default=0) < 0 or list(written[0]) == sorted(written[0]):
        return ()
    return tuple(sorted(range(len(written[0])), key=written[0].__getitem__))


def _sorted(values: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([values[place] for place in order]) if order else values
