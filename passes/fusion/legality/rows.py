# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that operations can run together over one iteration space, or row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import prod

from xyntra.passes.fusion.legality.alignment import shared_numbers
from xyntra.passes.fusion.legality.members import Contents, Member
from xyntra.passes.fusion.legality.placing import stores
from xyntra.passes.fusion.legality.roles import Role
from xyntra.passes.fusion.legality.violation import Violation
from xyntra.passes.targets.target import KernelLimits

__all__ = ["check_rows", "check_space", "summands_of"]

_SINGLES = frozenset({Role.POINTWISE, Role.MOVES})


def check_space(members: Sequence[Member]) -> Iterator[Violation]:
    """Check that one loop nest over one space can compute all of `members`."""
    for member in members:
        for read in member.reads:
            if not read.pointwise:
                yield _misaligned(member, members[read.producer])
                return
    for member in members[1:]:
        if prod(member.shape) != prod(members[0].shape):
            shapes = [_dimensions(each.shape) for each in (members[0], member)]
            yield Violation(
                "several-spaces",
                f"one loop nest cannot compute both {shapes[0]} and {shapes[1]} elements",
                tuple(
                    (each.op, f"computes {shape} elements")
                    for each, shape in zip((members[0], member), shapes, strict=True)
                ),
            )
            return


def summands_of(contents: Contents) -> set[int]:
    """Members that reductions compute in their loops, where nothing else reads them.

    They compute single elements of what comes from outside, and the only reader of their results is
    a reduction that reads one of these in every iteration, or another such member.
    """
    members = contents.members
    readers: dict[int, list[tuple[int, bool]]] = {}
    for index, member in enumerate(members):
        for read in member.reads:
            of_sum = member.role is Role.ROW and read.summand
            readers.setdefault(read.producer, []).append((index, of_sum))
    ends = {index for _, index in contents.ends}
    found: set[int] = set()
    for index in reversed(range(len(members))):
        reads = readers.get(index, [])
        if members[index].role not in _SINGLES or index in ends or not reads:
            continue
        is_summed = len(reads) == 1 and reads[0][1]
        if is_summed or all(reader in found for reader, _ in reads):
            found.add(index)
    while outside := {i for i in found if any(r.producer not in found for r in members[i].reads)}:
        found -= outside
    return found


def check_rows(
    members: Sequence[Member],
    chosen: Sequence[int],
    limits: KernelLimits,
    anchor: int | None = None,
    summands: Collection[int] = (),
) -> Iterator[Violation]:
    """Check that the members `chosen` can be computed row by row, for one number of rows.

    Where they only store what others compute does not matter.

    A single row, which one worker would have to compute, must be small. How the `anchor` reads is
    not checked: its loops go over whatever its operands need. Nor are `summands`, which reductions
    compute in theirs.
    """
    last = stores(members)
    chosen = [index for index in chosen if index not in last and index not in summands]
    if len(chosen) < 2:
        return
    rows = members[chosen[0]].rows
    lost = None if max(rows) > 1 else _unshared(members[chosen[0]], members[chosen[1]])
    for index in chosen:
        member = members[index]
        for read in member.reads if index != anchor else ():
            if read.producer in summands:
                continue
            rows = shared_numbers(rows, read.rows)
            rows = shared_numbers(rows, members[read.producer].rows)
            if lost is None and max(rows) <= 1:
                lost = _misaligned(member, members[read.producer])
        rows = shared_numbers(rows, member.rows)
        if lost is None and max(rows) <= 1:
            lost = _unshared(members[chosen[0]], member)
    if lost is not None and _are_large(members, chosen, limits):
        yield lost
    else:
        yield from _check_held(members, chosen, max(rows), limits, anchor, summands)


def _are_large(members: Sequence[Member], chosen: Sequence[int], limits: KernelLimits) -> bool:
    if limits.max_row_bytes is None:
        return False
    return any(members[index].nbytes > limits.max_row_bytes for index in chosen)


def _check_held(
    members: Sequence[Member],
    chosen: Sequence[int],
    rows: int,
    limits: KernelLimits,
    anchor: int | None,
    summands: Collection[int],
) -> Iterator[Violation]:
    """Check the tensors that are read at other positions than those they are computed at."""
    if limits.max_row_bytes is None:
        return
    for index in chosen:
        for read in members[index].reads if index != anchor else ():
            row = members[read.producer].nbytes // max(rows, 1)
            if read.producer in summands:
                continue
            if not read.pointwise and row > limits.max_row_bytes:
                yield Violation(
                    "row-too-long",
                    f"a worker would have to keep a row of {row} bytes,"
                    f" and the limit is {limits.max_row_bytes}",
                    (
                        (members[read.producer].op, f"computes {rows} rows of {row} bytes"),
                        (members[index].op, "reads whole rows of it"),
                    ),
                )
                return


def _unshared(first: Member, other: Member) -> Violation:
    shapes = [_dimensions(each.shape) for each in (first, other)]
    return Violation(
        "several-spaces",
        f"'{first.op.name}' and '{other.op.name}' compute no common number of rows",
        (
            (first.op, f"computes {shapes[0]} elements"),
            (other.op, f"computes {shapes[1]} elements"),
        ),
    )


def _misaligned(reader: Member, producer: Member) -> Violation:
    return Violation(
        "misaligned-read",
        f"'{reader.op.name}' reads what '{producer.op.name}' computes at other positions, so that"
        " they cannot share a loop nest",
        (
            (reader.op, f"computes {_dimensions(reader.shape)} elements"),
            (producer.op, f"computes {_dimensions(producer.shape)} elements"),
        ),
    )


def _dimensions(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "1"
