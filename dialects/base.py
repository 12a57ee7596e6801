# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `xyntra` dialect itself; ops and attributes register with it when they are imported.

The bindings read the annotations of op and attribute classes, so the modules that define them must
not postpone annotations (`from __future__ import annotations`).
"""

from xyntra.dialects.mlir import ir  # isort: skip  (it decides how the bindings load)

from torch_mlir.dialects.ext import Dialect, Operand, Pure, Region, Result  # isort: skip

__all__ = ["Operand", "Pure", "Region", "Result", "Terminator", "Xyntra", "ir"]


class Xyntra(Dialect, name="xyntra"):
    """Fused regions and the named ops for which a better kernel or an algebraic rule exists."""


class Terminator:
    """Trait: the op ends its block."""

    @staticmethod
    def attach(name: str) -> None:
        """Attach the trait to the op called `name` in the current context."""
        ir.IsTerminatorTrait.attach(name)
