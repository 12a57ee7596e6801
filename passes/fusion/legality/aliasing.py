# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that a kernel does not overwrite what it reads from outside."""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.kinds import Kind
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.graph.block_graph import is_source, reads_no_tensor
from xyntra.passes.fusion.legality.members import Contents
from xyntra.passes.fusion.legality.violation import Violation

__all__ = ["check_destinations"]


def check_destinations(kind: Kind, contents: Contents) -> Iterator[Violation]:
    """Check that a kernel with several operations does not read what it overwrites.

    A destination from outside is copied where the operation does not write; that may be left out
    if the result takes its place, but not if an operation reads it at positions of its own. An
    operation by itself is lowered with copies where it needs them.
    """
    if kind == "generic" or len(contents.members) < 2:
        return
    for op, value in contents.written:
        owner = value.owner
        if not isinstance(owner, ir.Block) and (is_source(owner) or reads_no_tensor(owner)):
            continue
        readers = [
            (member.op, "reads it") for member in contents.members if _reads(member.op, value, op)
        ]
        if readers:
            yield Violation(
                "aliased-buffer",
                "a tensor from outside of the kernel is read and also written",
                ((op, "writes into it"), *readers),
            )


def _reads(op: ir.Operation, value: ir.Value, writer: ir.Operation) -> bool:
    """Tell whether `op` reads `value`, the destination that `writer` writes into."""
    uses = list(op.operands).count(value)
    return uses > (1 if op == writer else 0)
