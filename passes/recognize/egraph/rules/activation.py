# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules that find activation functions in other spellings than the declared patterns know.

In f16 and bf16 the named operations compute in f32 and round once, so the rules hold for f32 and
f64 alone.
"""

from __future__ import annotations

from xyntra.passes.recognize.egraph.rules.rule import Rule, Tier

__all__ = ["ACTIVATION_RULES"]

_WIDE = ("wide t",)
_ERF = (
    ("(erf (mulf a #k))", "near t k sqrt-half"),
    ("(erf (divf a #k))", "near t k sqrt-two"),
)


def _halves(function: str) -> tuple[str, ...]:
    """Spellings of a/2 (1 + function)."""
    return (
        f"(mulf (mulf a 0.5) (addf {function} 1))",
        f"(mulf a (mulf (addf {function} 1) 0.5))",
        f"(mulf (mulf a (addf {function} 1)) 0.5)",
        f"(divf (mulf a (addf {function} 1)) 2)",
        f"(mulf (divf a 2) (addf {function} 1))",
        f"(mulf a (divf (addf {function} 1) 2))",
        f"(mulf a (addf (mulf {function} 0.5) 0.5))",
    )


_CUBES = (
    "(addf a (mulf (mulf (mulf a a) a) #c))",
    "(addf a (mulf (mulf a #c) (mulf a a)))",
    "(addf a (mulf (mulf (mulf a a) #c) a))",
    "(addf a (mulf (powf a 3) #c))",
    "(mulf a (addf (mulf (mulf a a) #c) 1))",
)

_LOGISTIC = (
    "(divf 1 (addf (exp (negf a)) 1))",
    "(divf 1 (addf (exp (mulf a -1)) 1))",
    "(divf 1 (addf (exp (subf 0 a)) 1))",
)

_GELU = tuple(
    Rule(f"gelu-{i}-{j}", left, "(gelu a)", (*_WIDE, near), Tier.REORDER)
    for i, (erf, near) in enumerate(_ERF)
    for j, left in enumerate(_halves(erf))
)

_GELU_TANH = tuple(
    Rule(
        f"gelu-tanh-{i}-{j}",
        left,
        "(gelu_tanh a)",
        (*_WIDE, "near t c gelu-cubic", "near t k gelu-scale"),
        Tier.REORDER,
    )
    for i, cube in enumerate(_CUBES)
    for j, left in enumerate(_halves(f"(tanh (mulf {cube} #k))"))
)

_SILU = tuple(
    Rule(f"silu-{i}", f"(mulf a {logistic})", "(silu a)", _WIDE, Tier.REORDER)
    for i, logistic in enumerate(_LOGISTIC)
) + tuple(
    Rule(f"silu-quotient-{i}", f"(divf a {logistic[8:-1]})", "(silu a)", _WIDE, Tier.REORDER)
    for i, logistic in enumerate(_LOGISTIC)
)

_FAST = (
    Rule(
        "silu-of-tanh", "(mulf a (mulf (addf (tanh (mulf a 0.5)) 1) 0.5))", "(silu a)", _WIDE,
        Tier.FAST, "1 + tanh cancels for negative a; the quotient does not",
    ),
    Rule(
        "logistic-of-tanh", "(divf 1 (addf (exp (negf a)) 1))",
        "(mulf (addf (tanh (mulf a 0.5)) 1) 0.5)", (), Tier.FAST,
        "1 + tanh cancels for negative a: small results lose their digits",
    ),
)  # fmt: skip

ACTIVATION_RULES = _GELU + _GELU_TANH + _SILU + _FAST
