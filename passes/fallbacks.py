# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records in the module where the compiler fell back to something more general, and why."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

__all__ = ["FALLBACKS", "GENERIC_LOOPS", "fallbacks_of", "is_generic", "note_fallback"]

FALLBACKS = "xyntra.fallbacks"
"""Module attribute: one sentence for each time that the compiler fell back."""

GENERIC_LOOPS = "xyntra.generic_loops"
"""Unit attribute of a kernel function: it is lowered to plain loops, without special emitters."""


def note_fallback(module: ir.Operation, sentence: str) -> None:
    """Add `sentence` to the fallbacks of `module`, unless it is there already."""
    known = fallbacks_of(module)
    if sentence not in known:
        with module.context:
            found = [ir.StringAttr.get(each) for each in (*known, sentence)]
            module.attributes[FALLBACKS] = ir.ArrayAttr.get(found)


def fallbacks_of(module: ir.Operation) -> tuple[str, ...]:
    """Return the sentences that `note_fallback` has recorded in `module`, in order."""
    found = module.attributes.get(FALLBACKS, None)
    if not isinstance(found, ir.ArrayAttr):
        return ()
    return tuple(each.value for each in found if isinstance(each, ir.StringAttr))


def is_generic(function: ir.Operation) -> bool:
    """Tell whether a kernel function asks for plain loops."""
    return GENERIC_LOOPS in function.attributes
