# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exchanges between the lanes of a warp, all of which take part (PTX ISA, "shfl", "vote")."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.ptx.assembly import assembly, attribute, i32, integer

WARP = 32
"""Lanes of a warp."""
_ALL, _LAST = -1, WARP - 1  # lanes


def shfl_bfly_asm(value: ir.Value, distance: int) -> ir.Value:
    """Return the i32 or f32 of the lane whose number differs in the bit `distance`."""
    return _shuffled_asm("bfly", value, distance)


def shfl_first(value: ir.Value) -> ir.Value:
    """Return the i32 of the first lane, which the compiler then knows to be one for all."""
    kind = attribute("#nvvm<shfl_kind idx>")
    operands = [i32(_ALL), value, i32(0), i32(_LAST)]
    return emit("nvvm.shfl.sync", operands, value.type, kind=kind)


def shfl_first_asm(value: ir.Value) -> ir.Value:
    """As `shfl_first`."""
    return _shuffled_asm("idx", value, 0)


def vote_any(flag: ir.Value) -> ir.Value:
    """Tell whether a flag, an i1, holds in any lane, an i1."""
    kind = attribute("#nvvm<vote_sync_kind any>")
    return emit("nvvm.vote.sync", [i32(_ALL), flag], integer(1), kind=kind)


def _shuffled_asm(mode: str, value: ir.Value, lane: int) -> ir.Value:
    text = f"shfl.sync.{mode}.b32 $0, $1, {lane}, {_LAST}, {_ALL};"
    return assembly(text, [value], [value.type])[0]
