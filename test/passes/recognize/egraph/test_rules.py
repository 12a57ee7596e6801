# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every rule holds for every type, constant and predicate that its conditions allow."""

from __future__ import annotations

import dataclasses
import re
from itertools import product

import numpy as np
import pytest
from rule_cases import DTYPES, Case, cases, evaluate, type_name, variables_of
from scalar_interpreter import Array

from bench.documents.rewrites import DOCUMENT, render
from xyntra.passes.recognize.egraph.rules.all_rules import ALL_RULES
from xyntra.passes.recognize.egraph.rules.conditions import EXPRESSION_RELATIONS
from xyntra.passes.recognize.egraph.rules.rule import Rule, Tier
from xyntra.passes.recognize.egraph.rules.vocabulary import FLOATS

RULES = [rule for group in ALL_RULES.values() for rule in group]
_SPECIAL = (0.0, -0.0, 1.0, -1.5, 0.3, 7.0, 3e38, -1e-45, 6e-8, np.nan, np.inf, -np.inf)
_ORDINARY = (0.5, 1.0, 1.75, 2.25, 0.9, 3.0)
_WHOLE = (0, 1, -1, 2, 5, -7, 64, 127, -128, 2**31 - 1, -(2**31))


def _values(rule: Rule, case: Case) -> dict[str, Array]:
    """All combinations of values of the rule's variables."""
    names = variables_of(rule)
    pools = []
    for letter in names.values():
        type_ = type_name(case, letter)
        if type_ == "i1":
            pools.append(np.array([False, True]))
        elif type_ not in FLOATS:
            pools.append(np.array(_WHOLE).astype(DTYPES[type_]))
        else:
            numbers = _SPECIAL if rule.tier == Tier.EXACT else _ORDINARY
            with np.errstate(all="ignore"):
                pools.append(np.array(numbers).astype(DTYPES[type_]))
    indices = np.array(list(product(*(range(len(pool)) for pool in pools))))
    found = {n: pool[indices[:, i]] for i, (n, pool) in enumerate(zip(names, pools, strict=True))}
    return _restricted(rule, found)


def _restricted(rule: Rule, values: dict[str, Array]) -> dict[str, Array]:
    """Without what a rule's conditions on expressions forbid."""
    kept = np.ones(len(next(iter(values.values()))), bool)
    for condition in rule.when:
        relation, *words = condition.split()
        if relation in EXPRESSION_RELATIONS:
            value = values[words[0]]
            negative = np.signbit(value.astype(np.float64))
            bad = negative if relation == "never-negative" else negative & (value == 0)
            kept &= np.isnan(value.astype(np.float64)) | ~bad
    return {name: value[kept] for name, value in values.items()}


def _difference(rule: Rule, case: Case) -> str:
    """What differs between both sides, or nothing."""
    values = _values(rule, case)
    with np.errstate(all="ignore"):
        left = evaluate(rule.pattern, rule.pattern.result, case, values)
        right = evaluate(rule.replacement, rule.pattern.result, case, values)
    left, right = np.broadcast_arrays(left, right)
    same = _are_equal(rule.tier, left, right)
    if same.all():
        return ""
    where = int(np.argmin(same))
    found = {name: value[where] for name, value in values.items()}
    return f"{case} {found}: {left.flat[where]} became {right.flat[where]}"


def _are_equal(tier: Tier, left: Array, right: Array) -> Array:
    assert left.dtype == right.dtype
    if left.dtype == np.bool_ or left.dtype.kind == "i":
        return np.asarray(left == right)
    unit = {2: 2.0**-7 if left.dtype.name == "bfloat16" else 2.0**-10, 4: 2.0**-23, 8: 2.0**-52}
    a, b = left.astype(np.float64), right.astype(np.float64)
    nans = np.isnan(a) & np.isnan(b)
    if tier == Tier.EXACT:
        return np.asarray(nans | ((a == b) & (np.signbit(a) == np.signbit(b))))
    # Sums of the ordinary values cancel to a hundredth at most.
    tolerance = 400 * unit[left.dtype.itemsize] * np.maximum(np.maximum(np.abs(a), np.abs(b)), 0.01)
    return np.asarray(nans | (a == b) | (np.abs(a - b) <= tolerance))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_both_sides_are_equal(rule: Rule) -> None:
    found = list(cases(rule))
    assert found, "no types or constants satisfy the conditions"
    differences = [text for text in (_difference(rule, case) for case in found) if text]
    assert not differences, "\n".join(differences[:5])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("add-zero", {"when": ()}),
        ("subtract-itself", {"tier": Tier.EXACT}),
        ("divide-by-power-of-two", {"right": "(mulf a #c)"}),
        ("divide-by-constant", {"tier": Tier.EXACT}),
        ("power-half", {"when": (), "tier": Tier.EXACT}),
        ("cmpf-always", {"when": ("never-equal p",)}),
        ("cmpf-complement", {"when": ("swapped p q",)}),
        ("fptosi-of-sitofp", {"when": ("not-boolean t",)}),
        ("muli-power-of-two", {"right": "(shrui a #k)"}),
        ("negate-difference", {"tier": Tier.EXACT}),
        ("common-factor", {"tier": Tier.EXACT}),
        ("trunci-of-wider-extsi", {"right": "(extui<r,t> a)"}),
    ],
)
def test_a_wrong_rule_is_found(name: str, change: dict[str, object]) -> None:
    rule = next(rule for rule in RULES if rule.name == name)
    wrong = dataclasses.replace(rule, **change)  # type: ignore[arg-type]
    found = 0
    for case in cases(wrong):
        try:
            found += bool(_difference(wrong, case))
        except (ValueError, AssertionError):
            found += 1
    assert found


def test_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for name in names)


def test_the_page_of_rules_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render(), "python -m bench.documents.rewrites"
