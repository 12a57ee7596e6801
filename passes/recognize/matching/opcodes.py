# SPDX-License-Identifier: MIT OR Apache-2.0
"""Short names of scalar operations, the same for patterns and for the IR."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

__all__ = ["REDUCTIONS", "mlir_names", "opcode_of"]

_FLOATS = {
    "arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "arith.divf": "div",
    "arith.remf": "rem", "arith.negf": "neg", "arith.maximumf": "maximum",
    "arith.minimumf": "minimum", "arith.extf": "cast", "arith.truncf": "cast",
    "arith.sitofp": "cast", "arith.uitofp": "cast", "arith.fptosi": "cast",
    "arith.fptoui": "cast", "arith.extsi": "cast", "arith.extui": "cast", "arith.trunci": "cast",
    "arith.select": "where", "math.powf": "pow", "math.absf": "abs",
}  # fmt: skip

_COMPARISONS = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 13: "ne"}
"""Predicates of arith.cmpf; `ne` is the unordered one, as in C."""

REDUCTIONS = {
    "add": ("reduce_sum", 0.0),
    "mul": ("reduce_prod", 1.0),
    "maximum": ("reduce_max", float("-inf")),
    "minimum": ("reduce_min", float("inf")),
}
"""What a combination with the running value reduces by, and the initial value that it needs."""


def opcode_of(op: ir.Operation, name: str) -> str:
    """Name a scalar operation, whose MLIR name is `name`.

    Operations on floats have short names (`add`, `exp`, `where`, `cast`); all others keep the name
    of their MLIR operation, so that a pattern on floats never takes integers.
    """
    short = _FLOATS.get(name)
    if short is not None:
        return short
    if name == "arith.cmpf":
        predicate = op.attributes["predicate"].value
        return _COMPARISONS.get(predicate, f"arith.cmpf.{predicate}")
    return name[5:] if name.startswith("math.") else name


def mlir_names(opcode: str) -> frozenset[str]:
    """Names of the MLIR operations of which one occurs wherever `opcode` does."""
    if opcode in _COMPARISONS.values():
        return frozenset({"arith.cmpf"})
    for combination, (reduction, _) in REDUCTIONS.items():
        if opcode == reduction:
            return mlir_names(combination)
    found = {name for name, short in _FLOATS.items() if short == opcode}
    return frozenset(found or {opcode, f"math.{opcode}"})
