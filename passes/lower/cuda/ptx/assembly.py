# SPDX-License-Identifier: MIT OR Apache-2.0
"""Inline assembly, and what the builders of instructions share."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import llvm

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.loops.shared_constants import integer_constant

ASSEMBLY = "llvm.inline_asm"
"""Name of the operation that `assembly` emits."""
_LETTERS = {"i1": "b", "i16": "h", "i32": "r", "i64": "l", "f32": "f", "!llvm.ptr": "l"}


def assembly(
    text: str,
    operands: Sequence[ir.Value] = (),
    results: Sequence[ir.Type] = (),
    *,
    pure: bool = False,
    tied: int = 0,
) -> list[ir.Value]:
    """Emit PTX, in which `$0` and so on are the results, and then the operands.

    Args:
        text: the instructions.
        operands: what they read: i1, i16, i32, i64, f32 or LLVM pointers.
        results: types of what they return.
        pure: they touch no memory, and may be moved or left out.
        tied: so many of the first operands lie in the registers of the results.
    """
    constraints = [f"={_LETTERS[str(kind)]}" for kind in results]
    constraints += [str(number) for number in range(tied)]
    constraints += [_LETTERS[str(each.type)] for each in operands[tied:]]
    if not pure:
        constraints.append("~{memory}")
    whole = None
    if results:
        whole = results[0] if len(results) == 1 else struct(results)
    built = llvm.inline_asm(
        whole, list(operands), text, ",".join(constraints), has_side_effects=not pure
    )
    if len(results) < 2:
        return [built] if results else []
    return [llvm.extractvalue(kind, built, [number]) for number, kind in enumerate(results)]


def listed(first: int, count: int) -> str:
    """Return `count` operands from number `first` on as PTX writes a vector: `{$0, $1}`."""
    names = ", ".join(f"${first + number}" for number in range(count))
    return f"{{{names}}}" if count > 1 else names


def vector_suffix(count: int) -> str:
    """Return how an instruction says that it moves `count` registers."""
    return {1: "", 2: ".v2", 4: ".v4"}[count]


def struct(kinds: Sequence[ir.Type]) -> ir.Type:
    """Return LLVM's type of several values in one."""
    return ir.Type.parse(f"!llvm.struct<({', '.join(map(str, kinds))})>")


def attribute(text: str) -> ir.Attribute:
    """Return a parsed attribute."""
    return ir.Attribute.parse(text)


def integer(bits: int) -> ir.Type:
    """Return the type of an integer."""
    return ir.IntegerType.get_signless(bits)


def i32(number: int) -> ir.Value:
    """Return a constant."""
    return integer_constant(32, number)


def shared_pointer(address: ir.Value) -> ir.Value:
    """Return the LLVM pointer of an address in shared memory, an i32."""
    return llvm.inttoptr(ir.Type.parse("!llvm.ptr<3>"), address)
