# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules as text in egglog's language.

An expression is one of: `(V type leaf)`, `(K type bits)`, `(U op type a)`, `(B op type a b)`,
`(T op type a b c)`, `(S type p a b)` for select, `(Q predicate type a b)` for comparisons and
`(X op from to a)` for casts. `(N i)` is the i-th expression of the input.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from xyntra.passes.recognize.egraph.constants import LITERALS, NEAR, literal_bits
from xyntra.passes.recognize.egraph.rules.conditions import (
    CONSTANT_RELATIONS,
    EXPRESSION_RELATIONS,
    PROPERTIES,
    TABLES,
)
from xyntra.passes.recognize.egraph.rules.rule import Call, Constant, Literal, Pattern, Rule, parse
from xyntra.passes.recognize.egraph.rules.vocabulary import OPERATIONS, TYPES

__all__ = ["program", "relations_of", "signed"]

_SORTS = """
(sort E)
(constructor V (i64 i64) E)
(constructor K (i64 i64) E)
(constructor U (i64 i64 E) E)
(constructor B (i64 i64 E E) E)
(constructor T (i64 i64 E E E) E)
(constructor S (i64 E E E) E)
(constructor Q (i64 i64 E E) E)
(constructor X (i64 i64 i64 E) E)
(function N (i64) E :merge old)
(relation literal (i64 i64 i64))
(relation swaps (i64))
(ruleset rules)
(rule ((= e (B o t a b)) (swaps o)) ((union e (B o t b a))) :ruleset rules)
"""


def program(rules: Sequence[Rule], codes: Set[int], types: Set[int]) -> str:
    """Everything that does not depend on the expressions: sorts, relations, tables and rules.

    Args:
        rules: to be applied.
        codes: operations that may occur, those that rules introduce included.
        types: types that may occur.
    """
    wanted = relations_of(rules)
    lines = [_SORTS]
    lines += [f"(relation {name} ({'i64 ' * n}))" for name, n in CONSTANT_RELATIONS.items()]
    lines += [f"(relation {name} (E))" for name in EXPRESSION_RELATIONS]
    for name, rows in TABLES.items():
        if name in wanted:
            lines.append(f"(relation {name} ({'i64 ' * len(next(iter(rows)))}))")
            lines += [f"({name} {' '.join(map(str, row))})" for row in sorted(rows)]
    swaps = [op.code for op in OPERATIONS.values() if op.commutative and op.code in codes]
    lines += [f"(swaps {code})" for code in swaps]
    lines += _literals(rules, types)
    if wanted & set(EXPRESSION_RELATIONS):
        lines += _properties(codes)
    lines += [_Text().rewrite(rule) for rule in rules]
    return "\n".join(lines)


def relations_of(rules: Sequence[Rule]) -> set[str]:
    """Names of the relations that rules ask for, and of those that these rest on."""
    found = {condition.split()[0] for rule in rules for condition in rule.when}
    if found & set(EXPRESSION_RELATIONS):
        found |= {condition.split()[0] for *_, when in PROPERTIES for condition in when}
    return found


def _properties(codes: Set[int]) -> list[str]:
    # A number that is never negative is never -0 either.
    lines = ["(rule ((never-negative e)) ((never-minus-zero e)) :ruleset rules)"]
    for relation, text, when in PROPERTIES:
        pattern = parse(text)
        if isinstance(pattern, Call) and pattern.operation.code in codes:
            lines.append(_Text().derivation(relation, pattern, when))
    return lines


def _literals(rules: Sequence[Rule], types: Set[int]) -> list[str]:
    used = {text for rule in rules for text in _TOKENS.findall(f"{rule.left} {rule.right}")}
    found = []
    for type_ in sorted(types | {TYPES["i1"]}):
        for number, literal in enumerate(LITERALS):
            bits = literal_bits(type_, literal) if literal in used else None
            if bits is not None:
                found.append(f"(literal {type_} {number} {signed(bits)})")
    return found


_TOKENS = re.compile(r"[^\s()]+")


def signed(bits: int) -> int:
    """64 bits as egglog's signed integer."""
    return bits - (1 << 64) if bits >> 63 else bits


class _Text:
    """The text of one rule; collects the facts that its literals need."""

    def __init__(self) -> None:
        self.facts: list[str] = []

    def rewrite(self, rule: Rule) -> str:
        left = self.term(rule.pattern)
        right = self.term(rule.replacement)
        facts = [f"(= e {left})", *self.facts, *map(self.condition, rule.when)]
        return f"(rule ({' '.join(facts)}) ((union e {right})) :ruleset rules)"

    def derivation(self, relation: str, pattern: Call, when: tuple[str, ...]) -> str:
        left = self.term(pattern)
        facts = [f"(= e {left})", *self.facts, *map(self.condition, when)]
        return f"(rule ({' '.join(facts)}) (({relation} e)) :ruleset rules)"

    def condition(self, text: str) -> str:
        """`relation argument…`; only expressions are no numbers."""
        name, *arguments = text.split()
        if name in EXPRESSION_RELATIONS:
            return f"({name} {arguments[0]})"
        words = [_number(word, position, name) for position, word in enumerate(arguments)]
        return f"({name} {' '.join(words)})"

    def term(self, pattern: Pattern) -> str:
        if isinstance(pattern, Literal):
            return self._literal(pattern)
        if isinstance(pattern, Constant):
            return f"(K {_type(pattern.type_)} c_{pattern.name})"
        if isinstance(pattern, Call):
            return self._call(pattern)
        return pattern.name

    def _literal(self, literal: Literal) -> str:
        name = f"n_{len(self.facts)}"
        number = LITERALS.index(literal.text)
        self.facts.append(f"(literal {_type(literal.type_)} {number} {name})")
        return f"(K {_type(literal.type_)} {name})"

    def _call(self, call: Call) -> str:
        operands = " ".join(map(self.term, call.operands))
        types = " ".join(map(_type, call.types))
        code = call.operation.code
        if call.operation.form == "select":
            return f"(S {types} {operands})"
        if call.operation.form == "compare":
            return f"(Q {_predicate(call.predicate)} {types} {operands})"
        letter = {"unary": "U", "binary": "B", "ternary": "T", "cast": "X"}[call.operation.form]
        return f"({letter} {code} {types} {operands})"


def _type(name: str) -> str:
    return str(TYPES[name]) if name in TYPES else f"t_{name}"


def _predicate(name: str) -> str:
    return f"p_{name[1:]}" if name.startswith("?") else name


_PREDICATE_RELATIONS = ("complement", "swapped", "never-equal", "always-equal")


def _number(word: str, position: int, relation: str) -> str:
    if relation in _PREDICATE_RELATIONS:
        return f"p_{word}"
    if relation in TABLES or position == 0:
        return _type(word)
    return str(NEAR.index(word)) if word in NEAR else f"c_{word}"
