# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that results that share a buffer with an argument overwrite nothing still to be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from xyntra.dialects.kinds import Kind
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.states import updates_argument
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.fusion.legality.alignment import (
    Alignment,
    compare,
    numbers_of_rows,
    shared_numbers,
)
from xyntra.passes.fusion.legality.facts import Facts
from xyntra.passes.fusion.legality.kinds import prologue_of
from xyntra.passes.fusion.legality.members import Contents, Member
from xyntra.passes.fusion.legality.placing import stores
from xyntra.passes.fusion.legality.roles import Role
from xyntra.passes.fusion.legality.rows import check_space
from xyntra.passes.fusion.legality.violation import Violation

__all__ = ["INPLACE", "Pairs", "check_inplace", "inplace_pairs"]

INPLACE = "xyntra.inplace"
"""Attribute of kernel functions: [result, argument] pairs that share a buffer."""

Pairs = list[tuple[int, int]]

_UNALIGNED = Alignment(frozenset({1}), False)


def inplace_pairs(kernel: ir.Operation) -> Pairs | None:
    """The (result, argument) pairs of a kernel function that share a buffer; None if malformed."""
    if INPLACE not in kernel.attributes:
        return []
    pairs = []
    try:
        for pair in ir.ArrayAttr(kernel.attributes[INPLACE]):
            result, argument = (ir.IntegerAttr(item).value for item in ir.ArrayAttr(pair))
            pairs.append((result, argument))
    except ValueError:
        return None
    return pairs


def check_inplace(
    kind: Kind, kernel: ir.Operation, contents: Contents, facts: Facts
) -> Iterator[Violation]:
    """Check that results that share a buffer with an argument replace what nothing reads later."""
    pairs = inplace_pairs(kernel)
    arguments = list(kernel.regions[0].blocks[0].arguments)
    ends = contents.ends
    if pairs is None or not all(
        0 <= r < len(ends) and 0 <= a < len(arguments) and ends[r][0].type == arguments[a].type
        for r, a in pairs
    ):
        yield _malformed("does not pair results with arguments of their types")
        return
    if any(len(set(column)) < len(column) for column in zip(*pairs, strict=True)):
        yield _malformed("names a result or an argument twice")
        return
    for result, argument in pairs:
        if updates_argument(_returned(kernel)[result], arguments[argument]):
            continue
        writer = ends[result][1]
        uses = _Uses(kind, contents, facts, writer)
        late = uses.late_readers(arguments[argument])
        if late:
            yield Violation(
                "aliased-buffer",
                f"result {result} overwrites argument {argument}, which is still to be read",
                tuple((op, "reads it at other positions, or later") for op in late),
            )


def _returned(kernel: ir.Operation) -> list[ir.Value]:
    return list(list(kernel.regions[0].blocks[0].operations)[-1].operands)


def _malformed(what: str) -> Violation:
    return Violation("aliased-buffer", f"'{INPLACE}' {what}")


@dataclass
class _Uses:
    """The readers of an argument at the time when member `writer` overwrites it.

    Over one space, an element is read before it is written. Row by row, operations run one after
    the other, and those before the writer have read what they need of the row. Of a kernel with an
    anchor, no operation that the anchor reads from is done before another tile needs it again.
    """

    kind: Kind
    contents: Contents
    facts: Facts
    writer: int

    def __post_init__(self) -> None:
        members = self.contents.members
        self.over_one_space = not any(check_space(members))
        self.prologue = prologue_of(members)
        self.stores = stores(members)
        self.rows = reduce(shared_numbers, [member.rows for member in members] + _reads(members))

    def late_readers(self, argument: ir.Value) -> list[ir.Operation]:
        """Operations that read `argument` when it may have been overwritten."""
        index = {member.op: number for number, member in enumerate(self.contents.members)}
        late, waiting = [], [argument]
        while waiting:
            for use in waiting.pop().uses:
                op = use.owner.operation
                if op.name in RESHAPES:
                    waiting.append(op.results[0])
                elif op not in index or not self._is_early(index[op], use.operand_number):
                    late.append(op)
        return late

    def _is_early(self, index: int, position: int) -> bool:
        member = self.contents.members[index]
        if member.op.name == "tensor.insert_slice" and position == 1:
            return index in self.stores
        seen = self._alignment(member, position)
        if self.kind == "row" and index < self.writer:
            rows = shared_numbers(member.rows, seen.rows)
            return max(shared_numbers(self.rows, rows)) == max(self.rows)
        if member.role not in (Role.POINTWISE, Role.MOVES) or not seen.pointwise:
            return False
        return self.over_one_space or (index <= self.writer and index not in self.prologue)

    def _alignment(self, member: Member, position: int) -> Alignment:
        if member.op.name != "linalg.generic":
            rows = numbers_of_rows(member.shape)
            named = position == 0 and member.role in (Role.ROW, Role.POINTWISE)
            return Alignment(rows, member.role is Role.POINTWISE) if named else _UNALIGNED
        maps = self.facts.loops(member.op).maps
        operand = self.facts.tensor(member.op.operands[position].type)
        if operand is None:
            return _UNALIGNED
        return compare(maps[-1], member.shape, maps[position], operand.shape)


def _reads(members: list[Member]) -> list[frozenset[int]]:
    return [read.rows for member in members for read in member.reads]
