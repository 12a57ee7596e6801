# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that the operations of a kernel are those that its kind promises."""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.kinds import Kind
from xyntra.passes.fusion.legality.columns import share_columns
from xyntra.passes.fusion.legality.members import Contents, Member, ValueOrigin
from xyntra.passes.fusion.legality.roles import ANCHORS, Role
from xyntra.passes.fusion.legality.rows import check_rows, check_space, summands_of
from xyntra.passes.fusion.legality.violation import Violation
from xyntra.passes.targets.target import KernelLimits

__all__ = ["check_kind", "prologue_of"]

_POINTWISE = frozenset({Role.POINTWISE, Role.MOVES})
_ALLOWED: dict[Kind, frozenset[Role]] = {
    "elementwise": _POINTWISE,
    "row": _POINTWISE | {Role.ROW, Role.DATA},
    "contraction": _POINTWISE | {Role.ROW, Role.DATA, Role.PRODUCT},
    "conv": _POINTWISE | {Role.ROW, Role.DATA, Role.PRODUCT, Role.CONVOLUTION, Role.POOLING},
    "attention": _POINTWISE | {Role.ROW, Role.DATA, Role.ATTENTION},
    "data": frozenset({Role.MOVES, Role.DATA}),
}
"""Roles that a kernel may hold; one of kind `generic` may hold all."""


def check_kind(kind: Kind, contents: Contents, limits: KernelLimits) -> Iterator[Violation]:
    """The rules of `kind` that the kernel breaks."""
    yield from _check_ends(contents)
    if kind == "generic":
        return
    strangers = [member for member in contents.members if member.role not in _ALLOWED[kind]]
    if strangers:
        yield Violation(
            "kind-mismatch",
            f"a kernel of kind '{kind}' cannot hold what '{strangers[0].op.name}' does",
            tuple((member.op, member.role.value) for member in strangers),
        )
    elif kind == "elementwise":
        yield from check_space(contents.members)
    elif kind == "row":
        everything, summands = range(len(contents.members)), summands_of(contents)
        found = list(check_rows(contents.members, everything, limits, summands=summands))
        if found and not share_columns(contents.members, limits, summands):
            yield from found
    elif kind != "data":
        yield from _check_anchored(kind, contents.members, limits)


def _check_ends(contents: Contents) -> Iterator[Violation]:
    for position, (_, place) in enumerate(contents.ends):
        if place in (ValueOrigin.OUTSIDE, ValueOrigin.NOTHING):
            yield Violation(
                "unwritten-result",
                f"no operation of the kernel writes its result {position}",
            )


def _check_anchored(kind: Kind, members: list[Member], limits: KernelLimits) -> Iterator[Violation]:
    anchors = _anchors(members)
    if not anchors:
        ops = tuple((member.op, member.role.value) for member in members)
        yield Violation("no-anchor", f"a kernel of kind '{kind}' holds no {_ANCHOR[kind]}", ops)
    elif len(anchors) > 1:
        ops = tuple((members[index].op, members[index].role.value) for index in anchors)
        yield Violation(
            "several-anchors",
            f"a kernel of kind '{kind}' holds one {_ANCHOR[kind]}, and this one {len(anchors)}",
            ops,
        )
    else:
        yield from _check_around(members, anchors[0], limits)


_ANCHOR = {"contraction": "contraction", "conv": "window", "attention": "attention"}


def _check_around(members: list[Member], anchor: int, limits: KernelLimits) -> Iterator[Violation]:
    """Check what the anchor reads, and the rest against the anchor's result.

    What only moves or computes single elements can be computed at any position that the anchor
    needs, however often; a reduction is computed once for the rows that a worker holds.
    """
    for read in members[anchor].reads:
        branch = _with_ancestors(members, read.producer)
        if any(members[index].role is Role.ROW for index in branch):
            yield from check_rows(members, sorted(branch), limits)
    prologue = prologue_of(members)
    rest = [index for index in range(len(members)) if index not in prologue]
    yield from check_rows(members, rest, limits, anchor)


def prologue_of(members: list[Member]) -> set[int]:
    """The members that the first anchor needs; none where there is no anchor."""
    anchor = _anchors(members)[:1]
    reads = [read for index in anchor for read in members[index].reads]
    return {index for read in reads for index in _with_ancestors(members, read.producer)}


def _anchors(members: list[Member]) -> list[int]:
    found = [index for index, member in enumerate(members) if member.role in ANCHORS]
    return found or [index for index, member in enumerate(members) if member.may_anchor][:1]


def _with_ancestors(members: list[Member], last: int) -> set[int]:
    found: set[int] = set()
    waiting = [last]
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            waiting += [read.producer for read in members[index].reads]
    return found
