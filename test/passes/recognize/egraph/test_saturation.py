# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every rule finds its left side in the e-graph, and the filter lets it through."""

from __future__ import annotations

import pytest
from rule_cases import Case, cases, type_name

from xyntra.passes.recognize.egraph.constants import bits_of, literal_bits
from xyntra.passes.recognize.egraph.rules.all_rules import ALL_RULES
from xyntra.passes.recognize.egraph.rules.conditions import EXPRESSION_RELATIONS
from xyntra.passes.recognize.egraph.rules.rule import Call, Constant, Literal, Pattern, Rule
from xyntra.passes.recognize.egraph.rules.triggers import Triggers
from xyntra.passes.recognize.egraph.rules.vocabulary import OPERATIONS, TYPES
from xyntra.passes.recognize.egraph.saturation import Refused, Saturation, SaturationLimits
from xyntra.passes.recognize.egraph.terms import Terms, is_leaf, opcode, type_of

pytest.importorskip("egglog")

RULES = [rule for group in ALL_RULES.values() for rule in group]
_F32 = TYPES["f32"]
_LIMITS = SaturationLimits(8, 2000)


class _Instance:
    """A rule's patterns as terms, for one choice of types and constants."""

    def __init__(self, rule: Rule, case: Case) -> None:
        self.case = case
        self.terms = Terms()
        self.leaves: dict[str, int] = {}
        self.restricted = {
            condition.split()[1]
            for condition in rule.when
            if condition.split()[0] in EXPRESSION_RELATIONS
        }
        self.left = self.add(rule.pattern, rule.pattern.result)
        self.right = self.add(rule.replacement, rule.pattern.result)

    def add(self, pattern: Pattern, letter: str) -> int:
        type_ = TYPES[type_name(self.case, letter)]
        if isinstance(pattern, Literal):
            bits = literal_bits(type_, pattern.text)
            assert bits is not None
            return self.terms.add(("K", type_, bits))
        if isinstance(pattern, Constant):
            _, bits = self.case.constants[pattern.name]
            return self.terms.add(("K", type_, bits))
        if isinstance(pattern, Call):
            return self._call(pattern)
        leaf = self.leaves.setdefault(pattern.name, len(self.leaves))
        number = self.terms.add(("V", type_, leaf))
        if pattern.name in self.restricted:
            return self.terms.add(("U", OPERATIONS["absf"].code, type_, number))
        return number

    def _call(self, call: Call) -> int:
        operands = [self.add(o, t) for o, t in zip(call.operands, call.operand_types, strict=True)]
        types = [TYPES[type_name(self.case, t)] for t in call.types]
        code = call.operation.code
        if call.operation.form == "select":
            return self.terms.add(("S", *types, *operands))
        if call.operation.form == "compare":
            word = call.predicate
            predicate = self.case.predicates[word[1:]] if word[0] == "?" else int(word)
            return self.terms.add(("Q", predicate, *types, *operands))
        letter = {"unary": "U", "binary": "B", "ternary": "T", "cast": "X"}[call.operation.form]
        return self.terms.add((letter, code, *types, *operands))


def _saturation(terms: Terms, rules: list[Rule], limits: SaturationLimits = _LIMITS) -> Saturation:
    codes = {opcode(node) for node in terms.nodes if not is_leaf(node)}
    return Saturation(rules, codes, set(map(type_of, terms.nodes)), limits)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_makes_both_sides_equal(rule: Rule) -> None:
    instance = _Instance(rule, next(iter(cases(rule))))
    classes = _saturation(instance.terms, [rule]).classes(instance.terms)
    assert classes.of[instance.left] == classes.of[instance.right]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_filter_lets_a_rule_through(rule: Rule) -> None:
    instance = _Instance(rule, next(iter(cases(rule))))
    assert Triggers([rule]).fires(instance.terms, instance.left)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_filter_stops_what_no_rule_matches(rule: Rule) -> None:
    terms = Terms()
    a, b = terms.add(("V", _F32, 0)), terms.add(("V", _F32, 1))
    number = terms.add(("B", OPERATIONS["addf"].code, _F32, a, b))
    assert not Triggers([rule]).fires(terms, number)


def _sum(terms: Terms, a: int, b: int) -> int:
    return terms.add(("B", OPERATIONS["addf"].code, _F32, a, b))


def test_constants_are_folded_in_their_type() -> None:
    terms = Terms()
    large, one = (terms.add(("K", _F32, bits_of(_F32, x))) for x in (2.0**24, 1.0))
    total = _sum(terms, _sum(terms, large, one), one)
    classes = _saturation(terms, []).classes(terms)
    assert ("K", _F32, bits_of(_F32, 2.0**24)) in classes.members[classes.of[total]]


def test_contradicting_rules_are_refused() -> None:
    terms = Terms()
    leaf = terms.add(("V", _F32, 0))
    one = terms.add(("K", _F32, bits_of(_F32, 1.0)))
    terms.add(("B", OPERATIONS["mulf"].code, _F32, leaf, one))
    wrong = [Rule("a", "(mulf a 1)", "1"), Rule("b", "(mulf a 1)", "2")]
    with pytest.raises(Refused, match=r"1\.0 and 2\.0 equal"):
        _saturation(terms, wrong).classes(terms)
    wrong = [Rule("a", "(mulf a 1)", "a"), Rule("b", "(mulf a 1)", "2")]
    with pytest.raises(Refused, match="a tensor equal to a constant"):
        _saturation(terms, wrong).classes(terms)


def test_growth_is_capped() -> None:
    terms = Terms()
    number = terms.add(("V", _F32, 0))
    for leaf in range(1, 9):
        number = _sum(terms, number, terms.add(("V", _F32, leaf)))
    reassociate = Rule("any-order", "(addf (addf a b) c)", "(addf a (addf b c))")
    classes = _saturation(terms, [reassociate], SaturationLimits(50, 100)).classes(terms)
    # Without the cap there are thousands.
    assert 17 < sum(map(len, classes.members.values())) <= 400


def test_an_e_graph_forgets_the_last_window() -> None:
    terms = Terms()
    total = _sum(terms, terms.add(("V", _F32, 0)), terms.add(("V", _F32, 1)))
    saturation = _saturation(terms, [])
    first = saturation.classes(terms)
    other = Terms()
    other.add(("V", _F32, 5))
    second = saturation.classes(other)
    assert len(first.members) == 3
    assert len(second.members) == 1
    assert first.of[total] in first.members
