# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names the parts of a quantized weight, which are parameters of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["BLOCK", "PARTS", "WeightPart"]

BLOCK = 32
"""Steps of the sum that share a scale."""
PARTS = ("integers", "scales", "zeros")
_FORM = re.compile(
    rf"w(?P<bits>4|8)\.(?P<name>{'|'.join(PARTS)})\.(?P<rows>\d{{1,18}})x(?P<columns>\d{{1,18}})"
    r"(?P<turned>\.turned)?",
    re.ASCII,
)


@dataclass(frozen=True)
class WeightPart:
    """What a parameter is of a weight of the model.

    Attributes:
        bits: of an integer, 4 or 8.
        name: one of `PARTS`; weights of 8 bits have no zero points.
        shape: of the weight in the model.
        turned: whether that is [K, N], rather than [N, K]; the parts have N rows.
    """

    bits: int
    name: str
    shape: tuple[int, int]
    turned: bool

    def __str__(self) -> str:
        rows, columns = self.shape
        return f"w{self.bits}.{self.name}.{rows}x{columns}" + ".turned" * self.turned

    @classmethod
    def read(cls, text: object) -> WeightPart | None:
        """Return what `str` has written; None for anything else."""
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            return None
        shape = int(found["rows"]), int(found["columns"])
        return cls(int(found["bits"]), found["name"], shape, bool(found["turned"]))
