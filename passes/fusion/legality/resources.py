# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that a kernel fits the limits of its target."""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.graph.block_graph import is_source
from xyntra.passes.fusion.legality.members import Contents
from xyntra.passes.fusion.legality.violation import Violation
from xyntra.passes.targets.target import KernelLimits

__all__ = ["check_resources"]


def check_resources(contents: Contents, limits: KernelLimits) -> Iterator[Violation]:
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
    """Tell whether the value comes in a buffer; constants of one value come along in the code."""
    return isinstance(value.owner, ir.Block) or not is_source(value.owner)
