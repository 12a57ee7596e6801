# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the violations of the checker, as typed values and as diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from xyntra.dialects.mlir import ir
from xyntra.passes.diagnostics import Diagnostic, PassFailure

__all__ = ["Code", "IllegalFusion", "Violation"]

Code = Literal[
    "aliased-buffer",
    "kind-mismatch",
    "misaligned-read",
    "no-anchor",
    "not-a-buffer",
    "row-too-long",
    "several-anchors",
    "several-spaces",
    "side-effect",
    "too-many-buffers",
    "too-many-operations",
    "too-many-registers",
    "too-much-shared-memory",
    "unwritten-result",
    "use-before-definition",
]


@dataclass(frozen=True)
class Violation:
    """One rule that a kernel breaks.

    Attributes:
        code: which rule.
        message: what is wrong, about the kernel as a whole.
        at_fault: the operations that break it, each with what it does.
    """

    code: Code
    message: str
    at_fault: tuple[tuple[ir.Operation, str], ...] = ()

    def diagnostic(self, kernel: ir.Operation) -> Diagnostic:
        """An error at the location of `kernel`, with a note at every operation at fault."""
        text = f"{self.message} [{self.code}]"
        notes = tuple(
            Diagnostic.at(op.location, f"'{op.name}' {what}", "note") for op, what in self.at_fault
        )
        return replace(Diagnostic.at(kernel.location, text), notes=notes)


class IllegalFusion(PassFailure):
    """Kernels hold what one kernel cannot; `codes` and `diagnostics` have one entry a rule."""

    codes: tuple[Code, ...] = ()

    @classmethod
    def because(cls, found: Sequence[tuple[ir.Operation, Violation]]) -> Self:
        """The failure to raise for kernels and the rules that each breaks, at least one."""
        diagnostics = tuple(violation.diagnostic(kernel) for kernel, violation in found)
        error = cls.of("illegal-fusion", diagnostics[0].message, diagnostics)
        error.codes = tuple(violation.code for _, violation in found)
        return error
