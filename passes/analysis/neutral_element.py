# SPDX-License-Identifier: MIT OR Apache-2.0
"""The value that changes nothing when an operation combines it with another one."""

from __future__ import annotations

import math

from xyntra.dialects.mlir import ir

__all__ = ["neutral_element"]

_FLOATS = {
    "arith.addf": -0.0,
    "arith.mulf": 1.0,
    "arith.maximumf": -math.inf,
    "arith.maxnumf": -math.inf,
    "arith.minimumf": math.inf,
    "arith.minnumf": math.inf,
}
_INTEGERS = {
    "arith.addi": 0,
    "arith.muli": 1,
    "arith.andi": -1,
    "arith.ori": 0,
    "arith.xori": 0,
    "arith.maxui": 0,
    "arith.minui": -1,
}


def neutral_element(name: str, kind: ir.Type) -> ir.Attribute | None:
    """Return the attribute of the constant of type `kind` that is neutral to the operation `name`.

    None if the operation is not known to be associative and to have one.
    """
    if name in _FLOATS:
        return ir.FloatAttr.get(kind, _FLOATS[name])
    if name in _INTEGERS:
        return ir.IntegerAttr.get(kind, _INTEGERS[name])
    if name in ("arith.maxsi", "arith.minsi"):
        highest = (1 << (ir.IntegerType(kind).width - 1)) - 1
        return ir.IntegerAttr.get(kind, highest if name == "arith.minsi" else -highest - 1)
    return None
