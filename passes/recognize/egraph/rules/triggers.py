# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells without an e-graph whether any rule applies to an expression as it stands.

Every chain of rewrites starts with a rule that matches the input, so what no rule matches need not
be saturated. Swapped operands count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from xyntra.passes.recognize.egraph.constants import NEAR, facts_of, literal_bits
from xyntra.passes.recognize.egraph.folding import fold
from xyntra.passes.recognize.egraph.rules.conditions import (
    CONSTANT_RELATIONS,
    EXPRESSION_RELATIONS,
    PROPERTIES,
    TABLES,
)
from xyntra.passes.recognize.egraph.rules.rule import Call, Constant, Literal, Pattern, Rule, parse
from xyntra.passes.recognize.egraph.rules.vocabulary import TYPES
from xyntra.passes.recognize.egraph.terms import Node, Terms, is_leaf, opcode, operands_of

__all__ = ["Triggers"]

_Bindings = dict[str, int]
_CONSTANT = -2
_SAME = -3


class Triggers:
    """Rules by what their left sides begin with."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules: dict[int, list[Rule]] = {}
        self._signed: dict[int, list[tuple[frozenset[int], Rule]]] = {}
        for rule in rules:
            self._rules.setdefault(rule.operation.code, []).append(rule)

    def fires(self, terms: Terms, number: int) -> bool:
        """Tell whether a rule matches the expression, or it is a constant."""
        node = terms.nodes[number]
        candidates = self._candidates(opcode(node))
        operands = [terms.nodes[n] for n in operands_of(node)]
        found = {opcode(n) if n[0] != "K" else _CONSTANT for n in operands}
        if operands and found == {_CONSTANT}:
            return fold(node, [(int(n[1]), int(n[2])) for n in operands]) is not None
        if not candidates:
            return False
        if len(operands) > 1 and len(set(operands_of(node))) < len(operands):
            found.add(_SAME)
        for signature, rule in candidates:
            if signature <= found and any(self._matches(rule, terms, number)):
                return True
        return False

    def _candidates(self, code: int) -> list[tuple[frozenset[int], Rule]]:
        """The rules for an operation; only those that are asked for are ever parsed."""
        found = self._signed.get(code)
        if found is None:
            rules = self._rules.get(code, ())
            found = self._signed[code] = [(_signature(rule.pattern), rule) for rule in rules]
        return found

    def _matches(self, rule: Rule, terms: Terms, number: int) -> Iterable[bool]:
        for bindings in _match(rule.pattern, terms, number, {}):
            yield all(_holds(condition, bindings, terms) for condition in rule.when)


def _signature(pattern: Call) -> frozenset[int]:
    """Return what the operands of a match must hold among them."""
    found: set[int] = set()
    names: set[str] = set()
    for operand in pattern.operands:
        if isinstance(operand, Call):
            found.add(operand.operation.code)
        elif isinstance(operand, Constant | Literal):
            found.add(_CONSTANT)
        elif operand.name in names:
            found.add(_SAME)
        else:
            names.add(operand.name)
    return frozenset(found)


def _match(pattern: Pattern, terms: Terms, number: int, known: _Bindings) -> Iterable[_Bindings]:
    """Bindings of letters to types, predicates, bits and expressions under which they are equal."""
    node = terms.nodes[number]
    if isinstance(pattern, Call):
        if opcode(node) == pattern.operation.code:
            yield from _match_call(pattern, terms, node, known)
        return
    bound: _Bindings | None
    if isinstance(pattern, Literal):
        bound = _bind_literal(pattern, node, known)
    elif isinstance(pattern, Constant):
        bound = _bind_constant(pattern, node, known)
    else:
        bound = _bind(known, f"e_{pattern.name}", number)
    if bound is not None:
        yield bound


def _match_call(pattern: Call, terms: Terms, node: Node, known: _Bindings) -> Iterable[_Bindings]:
    bound = known
    for name, value in zip(_plain_names(pattern), _plain_values(node), strict=True):
        wider = _bind_number(bound, name, value)
        if wider is None:
            return
        bound = wider
    operands = operands_of(node)
    orders: Sequence[tuple[int, ...]] = [operands]
    if pattern.operation.commutative:
        orders = [operands, operands[::-1]]
    for order in orders:
        yield from _match_all(pattern.operands, terms, order, bound)


def _match_all(
    patterns: Sequence[Pattern], terms: Terms, numbers: Sequence[int], known: _Bindings
) -> Iterable[_Bindings]:
    if not patterns:
        yield known
        return
    for bound in _match(patterns[0], terms, numbers[0], known):
        yield from _match_all(patterns[1:], terms, numbers[1:], bound)


def _plain_names(pattern: Call) -> list[str]:
    types = [str(TYPES[t]) if t in TYPES else f"t_{t}" for t in pattern.types]
    if pattern.operation.form != "compare":
        return types
    predicate = pattern.predicate
    return [f"p_{predicate[1:]}" if predicate.startswith("?") else predicate, *types]


def _plain_values(node: Node) -> list[int]:
    letter = node[0]
    if letter == "S":
        return [int(node[1])]
    if letter == "Q":
        return [int(node[1]), int(node[2])]
    return [int(node[2]), int(node[3])] if letter == "X" else [int(node[2])]


def _bind(known: _Bindings, name: str, value: int) -> _Bindings | None:
    if name in known:
        return known if known[name] == value else None
    return {**known, name: value}


def _bind_number(known: _Bindings, name: str, value: int) -> _Bindings | None:
    if name[0].isalpha():
        return _bind(known, name, value)
    return known if int(name) == value else None


def _bind_literal(pattern: Literal, node: Node, known: _Bindings) -> _Bindings | None:
    if node[0] != "K" or literal_bits(int(node[1]), pattern.text) != node[2]:
        return None
    return known


def _bind_constant(pattern: Constant, node: Node, known: _Bindings) -> _Bindings | None:
    if node[0] != "K":
        return None
    bound = _bind(known, f"c_{pattern.name}", int(node[2]))
    return None if bound is None else _bind(bound, f"k_{pattern.name}", int(node[1]))


def _holds(condition: str, known: _Bindings, terms: Terms, depth: int = 4) -> bool:
    relation, *arguments = condition.split()
    if relation in EXPRESSION_RELATIONS:
        return _has(relation, terms, known[f"e_{arguments[0]}"], depth)
    if relation in CONSTANT_RELATIONS:
        type_, bits = known[f"k_{arguments[1]}"], known[f"c_{arguments[1]}"]
        wanted = NEAR.index(arguments[2]) if relation == "near" else None
        return any(
            name == relation and (wanted is None or row[2] == wanted)
            for name, row in facts_of(type_, bits)
        )
    values = [TYPES.get(a, known.get(f"t_{a}", known.get(f"p_{a}"))) for a in arguments]
    return any(
        all(v is None or v == r for v, r in zip(values, row, strict=True))
        for row in TABLES[relation]
    )


def _has(relation: str, terms: Terms, number: int, depth: int) -> bool:
    """Tell whether an expression has a property, looking `depth` operations deep."""
    if depth == 0 or is_leaf(terms.nodes[number]):
        return False
    return any(
        all(_holds(condition, bindings, terms, depth - 1) for condition in when)
        for name, pattern, when in _properties()
        if name in (relation, "never-negative")
        for bindings in _match(pattern, terms, number, {})
    )


@cache
def _properties() -> list[tuple[str, Pattern, tuple[str, ...]]]:
    return [(name, parse(text), when) for name, text, when in PROPERTIES]
