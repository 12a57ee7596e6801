# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies from global to shared memory that do not block their thread (PTX ISA, "cp.async")."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.assembly import assembly

_WIDEST = 16  # bytes of one copy


def cp_async(
    target: ir.Value,
    source: ir.Value,
    nbytes: int,
    present: ir.Value | None = None,
    *,
    wanted: ir.Value | None = None,
    ahead: int | None = None,
    l2_line: bool = False,
) -> None:
    """Begin to copy 4, 8 or 16 bytes from global to shared memory.

    Args:
        target: address in shared memory, an i32, a multiple of `nbytes`.
        source: address in global memory, an i64, likewise.
        nbytes: how many.
        present: how many are read, an i32; zeros take the place of the others. None for all.
        wanted: whether to copy, an i1; None for always.
        ahead: bytes that the instruction adds to `source`; None for an instruction without.
        l2_line: let memory give lines of 128 bytes to the second cache: a few percent faster where
            all of them are read. Narrower copies than of 16 bytes do not.
    """
    cache = "cg" if nbytes == _WIDEST else "ca"  # nothing narrower may pass by the first cache
    hint = ".L2::128B" if l2_line and nbytes == _WIDEST else ""
    place = "$1" if ahead is None else f"$1+{ahead}"
    text = f"cp.async.{cache}.shared.global{hint} [$0], [{place}], {nbytes}"
    operands = [target, source]
    if present is not None:
        text = f"{text}, ${len(operands)}"
        operands.append(present)
    if wanted is not None:
        text = f"@${len(operands)} {text}"
        operands.append(wanted)
    assembly(f"{text};", operands)


def cp_async_commit_group() -> None:
    """Close the group of copies that the thread began since the last call."""
    assembly("cp.async.commit_group;")


def cp_async_wait_group(pending: int) -> None:
    """Wait until at most the last `pending` groups of the thread are under way."""
    assembly(f"cp.async.wait_group {pending};")
