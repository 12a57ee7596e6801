# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells which operations reduce: passes that look for contractions look at these alone."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

__all__ = ["BY_ROWS", "Reductions"]

BY_ROWS = "xyntra.by_rows"
"""Attribute of a product that is computed as reductions along rows, though factors are shared."""


class Reductions:
    """Answers by iterator types; equal ones are looked at once."""

    def __init__(self) -> None:
        self._known: dict[ir.Attribute, bool] = {}

    def has(self, generic: ir.Operation) -> bool:
        """Tell whether a `linalg.generic` has a reduction among its loops."""
        attribute = generic.attributes["iterator_types"]
        found = self._known.get(attribute)
        if found is None:
            found = any("reduction" in str(kind) for kind in attribute)
            self._known[attribute] = found
        return found
