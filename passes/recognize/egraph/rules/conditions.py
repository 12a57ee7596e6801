# SPDX-License-Identifier: MIT OR Apache-2.0
"""The relations that rules may ask for in `when`.

Relations on constants are in `constants.facts_of`; relations on expressions are derived in the
e-graph by `PROPERTIES`; those on types and predicates are tables, given here.
"""

from __future__ import annotations

from xyntra.passes.recognize.egraph.constants import mantissa, width
from xyntra.passes.recognize.egraph.rules.vocabulary import CMPF, CMPI, FLOATS, INTEGERS, TYPES

__all__ = ["CONSTANT_RELATIONS", "EXPRESSION_RELATIONS", "PROPERTIES", "TABLES"]

CONSTANT_RELATIONS = {
    "negated": 3, "reciprocal": 3, "inverse": 3, "moderate": 2, "nonnegative": 2, "nonzero": 2,
    "near": 3, "power": 4,
}  # fmt: skip
"""Number of arguments: type, bits, and what belongs to the constant."""

EXPRESSION_RELATIONS = ("never-negative", "never-minus-zero")
"""Never below +0 (NaN is allowed), and never -0."""

PROPERTIES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("never-negative", "(absf a)", ()),
    ("never-negative", "(exp a)", ()),
    ("never-negative", "(exp2 a)", ()),
    ("never-negative", "(mulf a a)", ()),
    ("never-negative", "(mulf a b)", ("never-negative a", "never-negative b")),
    ("never-negative", "(divf a b)", ("never-negative a", "never-negative b")),
    ("never-negative", "(addf a b)", ("never-negative a", "never-negative b")),
    ("never-negative", "(sqrt a)", ("never-negative a",)),
    ("never-negative", "(mulf a #c)", ("never-negative a", "nonnegative t c")),
    ("never-negative", "(addf a #c)", ("never-negative a", "nonnegative t c")),
    ("never-negative", "(divf a #c)", ("never-negative a", "nonnegative t c")),
    ("never-negative", "(maximumf a b)", ("never-negative a",)),
    ("never-negative", "(maximumf a #c)", ("nonnegative t c",)),
    ("never-negative", "(select p a b)", ("never-negative a", "never-negative b")),
    ("never-negative", "(uitofp<s,t> a)", ()),
    ("never-negative", "(extf<s,t> a)", ("never-negative a",)),
    ("never-minus-zero", "(addf a #c)", ("nonzero t c",)),
    ("never-minus-zero", "(addf a b)", ("never-minus-zero a",)),
    ("never-minus-zero", "(addf a #c)", ("nonnegative t c",)),
    ("never-minus-zero", "(subf a b)", ("never-minus-zero a",)),
    ("never-minus-zero", "(subf #c a)", ("nonzero t c",)),
    ("never-minus-zero", "(subf #c a)", ("nonnegative t c",)),
    ("never-minus-zero", "(sitofp<s,t> a)", ()),
    ("never-minus-zero", "(select p a b)", ("never-minus-zero a", "never-minus-zero b")),
)
"""Relation, the expressions that have it, and under which conditions."""


def _complements() -> set[tuple[int, int]]:
    ordered = "eq ne, gt le, ge lt".split(", ")
    pairs = [(CMPF[f"o{a}"], CMPF[f"u{b}"]) for a, b in map(str.split, ordered)]
    pairs += [(CMPF[f"u{a}"], CMPF[f"o{b}"]) for a, b in map(str.split, ordered)]
    pairs += [(CMPF["ord"], CMPF["uno"]), (CMPI["eq"], CMPI["ne"])]
    pairs += [(CMPI[s + "lt"], CMPI[s + "ge"]) for s in "su"]
    pairs += [(CMPI[s + "gt"], CMPI[s + "le"]) for s in "su"]
    return {*pairs, *((b, a) for a, b in pairs)}


def _swapped() -> set[tuple[int, int]]:
    """Predicates before and after their operands are swapped."""
    opposite = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
    return {
        (code, CMPF[name[0] + opposite.get(name[1:], name[1:])])
        for name, code in CMPF.items()
        if name[1:] in (*opposite, "eq", "ne")
    }


_TYPE_PAIRS = [(a, b) for a in TYPES for b in TYPES]

TABLES: dict[str, set[tuple[int, ...]]] = {
    "complement": {*_complements()},
    "swapped": {*_swapped()},
    "never-equal": {(CMPF[name],) for name in ("false", "olt", "ogt", "one")}
    | {(CMPI[name],) for name in ("ne", "slt", "sgt", "ult", "ugt")},
    "always-equal": {(CMPF[name],) for name in ("true", "ueq", "uge", "ule")}
    | {(CMPI[name],) for name in ("eq", "sle", "sge", "ule", "uge")},
    "equal": {(code, code) for code in TYPES.values()},
    "wide": {(TYPES["f32"],), (TYPES["f64"],)},
    "not-boolean": {(code,) for name, code in INTEGERS.items() if name != "i1"},
    "narrower": {
        (TYPES[a], TYPES[b])
        for a, b in _TYPE_PAIRS
        if {a, b} <= set(INTEGERS) and width(TYPES[a]) < width(TYPES[b])
    },
    "holds": {
        (FLOATS[a], INTEGERS[b])
        for a, b in _TYPE_PAIRS
        if a in FLOATS and b in INTEGERS and b != "i1"
        and width(INTEGERS[b]) - 1 <= mantissa(FLOATS[a])
    },
}  # fmt: skip
"""What holds of types and predicates."""
