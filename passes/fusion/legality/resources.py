# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a kernel fits what its target has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xyntra.dialects import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.block_graph import is_source
from xyntra.passes.fusion.legality.facts import Facts
from xyntra.passes.fusion.legality.members import Contents, Member
from xyntra.passes.fusion.legality.roles import ANCHORS
from xyntra.passes.fusion.legality.violation import Violation
from xyntra.passes.target_limits import Limits

__all__ = ["check_resources", "check_schedule"]

_STAGES = "stages"


def check_resources(contents: Contents, limits: Limits) -> Iterator[Violation]:
    """Check the kernel's buffers and operations."""
    count = len(contents.captured) + len(contents.ends)
    if limits.max_buffers is not None and count > limits.max_buffers:
        reads = sum(map(_is_buffer, contents.captured))
        if reads + len(contents.ends) > limits.max_buffers:
            yield Violation(
                "too-many-buffers",
                f"a kernel that reads {reads} tensors and writes {len(contents.ends)} needs more"
                f" than {limits.max_buffers} buffers",
            )
    count = len(contents.members)
    if limits.max_operations is not None and count > limits.max_operations:
        yield Violation(
            "too-many-operations",
            f"a kernel holds at most {limits.max_operations} operations, and this one {count}",
        )


def _is_buffer(value: ir.Value) -> bool:
    """Whether the value comes in a buffer; constants of one value come along in the code."""
    return isinstance(value.owner, ir.Block) or not is_source(value.owner)


def check_schedule(
    schedule: Schedule, contents: Contents, facts: Facts, limits: Limits
) -> Iterator[Violation]:
    """Check the tiles that a schedule gives to the loops of the kernel's anchor.

    Every operand's tile is staged in shared memory, `stages` times where the schedule says so, and
    the register tile's accumulators are held for a whole reduction.
    """
    anchor = next((each for each in contents.members if _has_loops(each)), None)
    if anchor is None:
        return
    maps = facts.loops(anchor.op).maps
    inputs = list(anchor.op.operands)[: len(maps) - 1]
    stages = schedule.target.get(_STAGES, 1)
    if limits.max_shared_bytes is not None and schedule.tile_sizes and isinstance(stages, int):
        tiles = zip(inputs, maps, strict=False)
        staged = stages * sum(_tile_bytes(v, m, schedule.tile_sizes, facts) for v, m in tiles)
        if staged > limits.max_shared_bytes:
            yield Violation(
                "too-much-shared-memory",
                f"tiles of {staged} bytes are more than the {limits.max_shared_bytes} bytes of"
                " shared memory",
                ((anchor.op, f"has tiles {list(schedule.tile_sizes)}"),),
            )
    if limits.max_register_bytes is not None and schedule.register_tile:
        result = anchor.op.results[0]
        held = _tile_bytes(result, maps[-1], schedule.register_tile, facts)
        if held > limits.max_register_bytes:
            yield Violation(
                "too-many-registers",
                f"accumulators of {held} bytes are more than the {limits.max_register_bytes} bytes"
                " of registers",
                ((anchor.op, f"has a register tile {list(schedule.register_tile)}"),),
            )


def _has_loops(member: Member) -> bool:
    return member.role in ANCHORS and member.op.name == "linalg.generic"


def _tile_bytes(value: ir.Value, loops: Sequence[int], sizes: Sequence[int], facts: Facts) -> int:
    """Bytes of the part of a tensor that one tile reads; 0 where the tile is not known."""
    tensor = facts.tensor(value.type)
    if tensor is None or not tensor.nbytes or max(loops, default=0) >= len(sizes):
        return 0
    extents = [
        min(sizes[loop], extent) if loop >= 0 and sizes[loop] else extent
        for loop, extent in zip(loops, tensor.shape, strict=True)
    ]
    return prod(extents) * tensor.nbytes // prod(tensor.shape)
