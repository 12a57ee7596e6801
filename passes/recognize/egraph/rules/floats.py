# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules on floating-point arithmetic."""

from __future__ import annotations

from xyntra.passes.recognize.egraph.rules.rule import Rule, Tier

__all__ = ["EXACT_FLOAT_RULES", "FAST_FLOAT_RULES", "REORDERED_FLOAT_RULES"]

_REORDER, _FAST = Tier.REORDER, Tier.FAST

_SIGNS = (
    Rule("negate-twice", "(negf (negf a))", "a"),
    Rule("add-negated", "(addf a (negf b))", "(subf a b)"),
    Rule("subtract-negated", "(subf a (negf b))", "(addf a b)"),
    Rule("multiply-negated", "(mulf (negf a) (negf b))", "(mulf a b)"),
    Rule("divide-negated", "(divf (negf a) (negf b))", "(divf a b)"),
    Rule("multiply-by-minus-one", "(mulf a -1)", "(negf a)"),
    Rule("divide-by-minus-one", "(divf a -1)", "(negf a)"),
    Rule("scale-negated", "(mulf (negf a) #c)", "(mulf a #d)", ("negated t c d",)),
    Rule("divide-negated-by-constant", "(divf (negf a) #c)", "(divf a #d)", ("negated t c d",)),
    Rule("negate-scaled", "(negf (mulf a #c))", "(mulf a #d)", ("negated t c d",)),
    Rule("negate-quotient", "(negf (divf #c a))", "(divf #d a)", ("negated t c d",)),
    Rule("magnitude-of-negated", "(absf (negf a))", "(absf a)"),
    Rule("magnitude-twice", "(absf (absf a))", "(absf a)"),
    Rule(
        "magnitude-of-nonnegative", "(absf a)", "a", ("never-negative a",),
        note="a is a magnitude, a square, an exponential, or made of such",
    ),
    Rule("square-of-magnitude", "(mulf (absf a) (absf a))", "(mulf a a)"),
    Rule("square-of-negated", "(mulf (negf a) (negf a))", "(mulf a a)"),
)  # fmt: skip

_IDENTITIES = (
    Rule("multiply-by-one", "(mulf a 1)", "a"),
    Rule("divide-by-one", "(divf a 1)", "a"),
    Rule("add-minus-zero", "(addf a -0)", "a"),
    Rule("subtract-zero", "(subf a 0)", "a"),
    Rule(
        "add-zero", "(addf a 0)", "a", ("never-minus-zero a",),
        note="-0 + 0 is +0: a must be known never to be -0",
    ),
    Rule("subtract-minus-zero", "(subf a -0)", "a", ("never-minus-zero a",), note="as `add-zero`"),
    Rule("subtract-from-minus-zero", "(subf -0 a)", "(negf a)"),
    Rule(
        "divide-by-power-of-two", "(divf a #c)", "(mulf a #d)", ("reciprocal t c d",),
        note="c is a power of two whose reciprocal is a normal number: both round the same value",
    ),
)  # fmt: skip

_EXTREMA = tuple(
    rule
    for op, other in (("maximumf", "minimumf"), ("minimumf", "maximumf"))
    for rule in (
        Rule(f"{op}-of-equal", f"({op} a a)", "a"),
        Rule(f"{op}-again", f"({op} ({op} a b) b)", f"({op} a b)"),
        Rule(f"{op}-constants", f"({op} ({op} a #c) #d)", f"({op} a ({op} #c #d))"),
        Rule(f"{op}-of-negated", f"({op} (negf a) (negf b))", f"(negf ({other} a b))"),
    )
)

_BOUNDS = (
    Rule("rectify-nonnegative", "(maximumf a 0)", "a", ("never-negative a",)),
    Rule("maxnum-of-equal", "(maxnumf a a)", "a"),
    Rule("minnum-of-equal", "(minnumf a a)", "a"),
)

_POWERS = (
    Rule("power-zero", "(powf a 0)", "1", note="also where a is NaN, as pow defines it"),
    Rule("one-to-a-power", "(powf 1 a)", "1", note="also where a is NaN"),
)

EXACT_FLOAT_RULES = _SIGNS + _IDENTITIES + _EXTREMA + _BOUNDS + _POWERS

REORDERED_FLOAT_RULES = (
    Rule("power-one", "(powf a 1)", "a", (), _REORDER),
    Rule("square", "(powf a 2)", "(mulf a a)", (), _REORDER, "rounded once, as pow should be"),
    Rule("cube", "(powf a 3)", "(mulf a (mulf a a))", (), _REORDER),
    Rule("power-minus-one", "(powf a -1)", "(divf 1 a)", (), _REORDER),
    Rule(
        "power-half", "(powf a 0.5)", "(sqrt a)", ("never-negative a",), _REORDER,
        "-0 and -inf have the powers +0 and +inf, and the roots -0 and NaN: a is not negative",
    ),
    Rule(
        "scale-twice", "(mulf (mulf a #c) #d)", "(mulf a (mulf #c #d))",
        ("moderate t c", "moderate t d"), _REORDER,
        "exponents of both constants are within a quarter of the range",
    ),
    Rule(
        "scale-apart", "(mulf (mulf (mulf a #c) b) #d)", "(mulf (mulf a b) (mulf #c #d))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "scale-both", "(mulf (mulf a #c) (mulf b #d))", "(mulf (mulf a b) (mulf #c #d))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "divide-scaled", "(divf (mulf a #c) #d)", "(mulf a (divf #c #d))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "scale-quotient", "(mulf (divf a #c) #d)", "(mulf a (divf #d #c))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "scale-inverse", "(mulf (divf #c a) #d)", "(divf (mulf #c #d) a)",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "shift-twice", "(addf (addf a #c) #d)", "(addf a (addf #c #d))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "shift-back", "(subf (addf a #c) #d)", "(addf a (subf #c #d))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "shift-down-and-up", "(addf (subf a #c) #d)", "(addf a (subf #d #c))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "shift-down-twice", "(subf (subf a #c) #d)", "(subf a (addf #c #d))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "shift-from-constant", "(addf (subf #c a) #d)", "(subf (addf #c #d) a)",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "shift-apart", "(addf (addf (addf a #c) b) #d)", "(addf (addf a b) (addf #c #d))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
    Rule(
        "shift-both", "(addf (addf a #c) (addf b #d))", "(addf (addf a b) (addf #c #d))",
        ("moderate t c", "moderate t d"), _REORDER, "as `scale-twice`",
    ),
)  # fmt: skip

FAST_FLOAT_RULES = tuple(
    Rule(name, left, right, when, _FAST, note)
    for name, left, right, when, note in (
        ("subtract-itself", "(subf a a)", "0", (), "NaN for NaN and infinities"),
        ("multiply-by-zero", "(mulf a 0)", "0", (), "NaN for NaN and infinities; sign of zero"),
        ("divide-by-itself", "(divf a a)", "1", (), "NaN for NaN, infinities and zeros"),
        ("add-zero-unchecked", "(addf a 0)", "a", (), "sign of zero"),
        ("negate-difference", "(negf (subf a b))", "(subf b a)", (), "sign of zero"),
        ("negated-plus", "(addf (negf a) (negf b))", "(negf (addf a b))", (), "sign of zero"),
        ("divide-by-constant", "(divf a #c)", "(mulf a #d)", ("inverse t c d",),
         "one more rounding"),
        ("divide-by-root", "(divf a (sqrt b))", "(mulf a (rsqrt b))", (), "overflow; zero"),
        ("invert-root", "(divf 1 (sqrt a))", "(rsqrt a)", (), "one rounding less; sign for -0"),
        ("divide-twice", "(divf (divf a b) c)", "(divf a (mulf b c))", (), "overflow"),
        ("divide-by-quotient", "(divf a (divf b c))", "(divf (mulf a c) b)", (), "overflow"),
        ("multiply-quotient-back", "(mulf (divf a b) b)", "a", (), "overflow; NaN for zero"),
        ("divide-product-back", "(divf (mulf a b) b)", "a", (), "overflow; NaN for zero"),
        ("multiply-by-inverse", "(mulf a (divf 1 b))", "(divf a b)", (), "one rounding less"),
        ("square-root-squared", "(mulf (sqrt a) (sqrt a))", "a", (), "NaN for negative numbers"),
        ("root-of-square", "(sqrt (mulf a a))", "(absf a)", (), "overflow"),
        ("power-half-unchecked", "(powf a 0.5)", "(sqrt a)", (), "-0 and -inf"),
        ("common-factor", "(addf (mulf a b) (mulf a c))", "(mulf a (addf b c))", (),
         "cancellation, overflow"),
        ("common-factor-difference", "(subf (mulf a b) (mulf a c))", "(mulf a (subf b c))", (),
         "cancellation, overflow"),
        ("common-factor-and-one", "(addf a (mulf a b))", "(mulf a (addf 1 b))", (),
         "cancellation, overflow"),
        ("common-divisor", "(addf (divf a c) (divf b c))", "(divf (addf a b) c)", (), "overflow"),
        ("add-and-take-back", "(subf (addf a b) b)", "a", (), "cancellation, overflow"),
        ("take-and-add-back", "(addf (subf a b) b)", "a", (), "cancellation, overflow"),
        ("product-of-exponentials", "(mulf (exp a) (exp b))", "(exp (addf a b))", (), "overflow"),
        ("quotient-of-exponentials", "(divf (exp a) (exp b))", "(exp (subf a b))", (), "overflow"),
        ("inverse-of-exponential", "(divf 1 (exp a))", "(exp (negf a))", (), "underflow"),
        ("logarithm-of-exponential", "(log (exp a))", "a", (), "overflow"),
        ("exponential-of-logarithm", "(exp (log a))", "a", (), "NaN for negative numbers"),
        ("sum-of-logarithms", "(addf (log a) (log b))", "(log (mulf a b))", (), "overflow"),
    )
)  # fmt: skip
