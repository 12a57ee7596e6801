# SPDX-License-Identifier: MIT OR Apache-2.0
"""Marks assembly that all threads of a warp have to run together as convergent, in LLVM IR.

LLVM may copy a call into both branches behind it, or move one that touches no memory into the only
branch that uses its result, unless the call is convergent (LLVM language reference, "Convergent
Operation Semantics"). Threads of a warp that have gone apart would then wait for each other at
different barriers for ever. MLIR's `llvm.inline_asm` cannot say so, and is translated without.
"""

from __future__ import annotations

import re

__all__ = ["mark_collective_assembly"]

_CALL = re.compile(r'^(.*\bcall\b[^"\n]*\basm [^"\n]*"((?:[^"\\\n]|\\.)*)".*\))$', re.MULTILINE)
"""A call of assembly, which is one line, and its instructions."""
_COLLECTIVE = re.compile(r"\b(?:bar|barrier|wgmma|setmaxnreg)\.|\.(?:sync|aligned)\b")
"""PTX ISA: `.aligned` and `.sync`, barriers, and the instructions of warpgroups."""


def mark_collective_assembly(llvm_ir: str) -> str:
    """Return a module's LLVM IR in which calls of collective assembly are convergent."""
    return _CALL.sub(_marked, llvm_ir)


def _marked(call: re.Match[str]) -> str:
    return f"{call[1]} convergent" if _COLLECTIVE.search(call[2]) else call[0]
