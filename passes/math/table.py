# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which operations have an expansion, and how large its error is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xyntra.passes.math import erf, exp, log, roots, tanh
from xyntra.passes.math.values import Float

__all__ = ["EXPANSIONS", "MAX_ULP", "Expansion"]


@dataclass(frozen=True)
class Expansion:
    """How an operation is computed.

    Attributes:
        emit: emits the arithmetic for f32 operands and returns the result.
        max_ulp: bound on the error against the exact value, in units in the last place of the
            f32 result; holds for every finite input.
    """

    emit: Callable[..., Float]
    max_ulp: float


EXPANSIONS: dict[str, Expansion] = {
    "math.erf": Expansion(erf.erf, 1.5),
    "math.exp": Expansion(exp.exp, 1.0),
    "math.exp2": Expansion(exp.exp2, 1.0),
    "math.expm1": Expansion(exp.expm1, 2.0),
    "math.log": Expansion(log.log, 1.5),
    "math.log10": Expansion(log.log10, 2.0),
    "math.log1p": Expansion(log.log1p, 2.0),
    "math.log2": Expansion(log.log2, 1.5),
    "math.rsqrt": Expansion(roots.rsqrt, 1.5),
    "math.tanh": Expansion(tanh.tanh, 2.0),
}

MAX_ULP: dict[str, float] = {name: entry.max_ulp for name, entry in EXPANSIONS.items()}
