# SPDX-License-Identifier: MIT OR Apache-2.0
"""All rules, by how far they may move the numbers."""

from __future__ import annotations

from functools import cache

from xyntra.passes.recognize.egraph.rules.activation import ACTIVATION_RULES
from xyntra.passes.recognize.egraph.rules.choice import CHOICE_RULES
from xyntra.passes.recognize.egraph.rules.floats import (
    EXACT_FLOAT_RULES,
    FAST_FLOAT_RULES,
    REORDERED_FLOAT_RULES,
)
from xyntra.passes.recognize.egraph.rules.integers import INTEGER_RULES
from xyntra.passes.recognize.egraph.rules.rule import Rule, Tier
from xyntra.passes.recognize.egraph.rules.triggers import Triggers

__all__ = ["ALL_RULES", "rules_of", "triggers_of"]

ALL_RULES: dict[str, tuple[Rule, ...]] = {
    "Floating point": EXACT_FLOAT_RULES,
    "Integers and booleans": INTEGER_RULES,
    "Comparisons, selections, casts": CHOICE_RULES,
    "Other roundings": REORDERED_FLOAT_RULES,
    "Activation functions": ACTIVATION_RULES,
    "Fast math": FAST_FLOAT_RULES,
}
"""Every rule under the heading that `docs/rewrites.md` gives it."""


@cache
def rules_of(tier: Tier) -> tuple[Rule, ...]:
    """The rules that move numbers no further than `tier` allows."""
    return tuple(rule for group in ALL_RULES.values() for rule in group if rule.tier <= tier)


@cache
def triggers_of(tier: Tier) -> Triggers:
    """Return what the rules of `tier` begin with."""
    return Triggers(rules_of(tier))
