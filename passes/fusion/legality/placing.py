# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations that only store what a kernel computes into larger tensors."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.legality.members import Member
from xyntra.passes.fusion.legality.roles import Role

__all__ = ["stores"]

Box = tuple[list[int], list[int]]


def stores(members: Sequence[Member]) -> set[int]:
    """Members that place tensors in larger ones, which only others of them read.

    Whoever computes an element can store it where it belongs, whatever the positions: no loop over
    the larger tensor is needed. Several of them may fill one tensor if their parts are apart.
    """
    found = {index for index, member in enumerate(members) if member.role is Role.DATA}
    if not found:
        return found
    for index in reversed(range(len(members))):
        for read in members[index].reads:
            if index not in found:
                found.discard(read.producer)
    boxes: dict[int, Box] = {}
    for index in sorted(found):
        box = _after_others(members, index, boxes)
        if box is None:
            found.discard(index)
        else:
            boxes[index] = box
    return found


def _after_others(members: Sequence[Member], index: int, boxes: dict[int, Box]) -> Box | None:
    """The part filled by this and earlier members of a chain; None where parts may overlap."""
    member = members[index]
    if member.op.name != "tensor.insert_slice":
        return [], []
    starts, ends = _box(member.op)
    for read in member.reads:
        if read.initial:
            if read.producer not in boxes or not starts:
                return None
            lowest, highest = boxes[read.producer]
            if not any(start >= end for start, end in zip(starts, highest, strict=False)):
                return None
            starts = [min(pair) for pair in zip(starts, lowest, strict=True)]
            ends = [max(pair) for pair in zip(ends, highest, strict=True)]
    return starts, ends


def _box(op: ir.Operation) -> Box:
    """First and last positions, plus one, that an insertion writes; empty where not static."""
    if len(op.operands) != 2:
        return [], []
    starts, sizes, strides = (
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    ends = [
        start + (size - 1) * stride + 1
        for start, size, stride in zip(starts, sizes, strides, strict=True)
    ]
    return starts, ends
