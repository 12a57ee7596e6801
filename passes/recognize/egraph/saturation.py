# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the equal forms of expressions with egglog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any

from xyntra.passes.recognize.egraph.constants import facts_of, is_float, mantissa, number_of
from xyntra.passes.recognize.egraph.folding import fold
from xyntra.passes.recognize.egraph.library import engine
from xyntra.passes.recognize.egraph.rules.rule import Call, Pattern, Rule
from xyntra.passes.recognize.egraph.rules.rule_text import program, relations_of, signed
from xyntra.passes.recognize.egraph.terms import PLAIN, Node, Terms

__all__ = ["Classes", "Refused", "Saturation", "SaturationLimits"]


@dataclass(frozen=True)
class SaturationLimits:
    """The limits of a saturation, of which none depends on time."""

    iterations: int
    nodes: int


class Refused(Exception):
    """A window is left as it is; the message says why."""


@dataclass(frozen=True)
class Classes:
    """Classes of equal expressions.

    Attributes:
        members: the nodes of every class; their operands are classes.
        of: the class of every expression of the input.
    """

    members: dict[int, list[Node]]
    of: list[int]


def _relevant_rules(rules: Iterable[Rule], codes: Set[int]) -> tuple[list[Rule], set[int]]:
    """The rules that can ever apply to expressions of the operations `codes`.

    Returns:
        The rules, and all operations that may then occur.
    """
    known = set(codes)
    waiting = list(rules)
    while True:
        usable = [rule for rule in waiting if _codes(rule.pattern) <= known]
        reached = known.union(*(_codes(rule.replacement) for rule in usable))
        if reached == known:
            return usable, known
        known = reached


def _codes(pattern: Pattern) -> set[int]:
    if not isinstance(pattern, Call):
        return set()
    return {pattern.operation.code}.union(*map(_codes, pattern.operands))


class Saturation:
    """An e-graph with rules, used for one window after the other."""

    def __init__(
        self, rules: Iterable[Rule], codes: Set[int], types: Set[int], limits: SaturationLimits
    ) -> None:
        """`codes` and `types` are those of the expressions to come."""
        usable, reached = _relevant_rules(rules, codes)
        self._limits = limits
        self._relations = relations_of(usable)
        self._graph: Any = engine().EGraph()
        self._run(dict.fromkeys(program(usable, reached, types).split("\n")))
        self._step = self._parse("(run rules 1)")
        self._size = self._parse("(print-size)")

    def classes(self, terms: Terms) -> Classes:
        """Saturate `terms`, as far as the limits allow.

        Raises:
            Refused: tensors became equal to others or to constants; or constants to others, from
                which they differ by more than roundings.
        """
        self._run(["(push)"])
        try:
            return self._saturate(terms)
        finally:
            self._run(["(pop)"])

    def _saturate(self, terms: Terms) -> Classes:
        constants: set[tuple[int, int]] = set()
        self._run(_inputs(terms.nodes))
        self._run(self._facts(_constants({0: terms.nodes}), constants))
        left = self._limits.iterations
        while True:
            left = self._apply_rules(left)
            found = self._frozen(len(terms.nodes))
            news = _new_constants(found.members)
            lines = [
                *(f"(union {node} {constant})" for node, constant in news),
                *self._facts(_constants(found.members), constants),
            ]
            if not lines or left <= 0:
                return found
            self._run(lines)

    def _apply_rules(self, left: int) -> int:
        """Apply all rules until nothing changes; returns how many iterations remain."""
        size = self._node_count()
        while left > 0:
            left -= 1
            report = self._graph.run_program(*self._step)[0].report
            if not report.updated:
                break
            before, size = size, self._node_count()
            # One more iteration may grow the graph as much as the last one did.
            if size * size > self._limits.nodes * before:
                return 0
        return left

    def _node_count(self) -> int:
        sizes = self._graph.run_program(*self._size)[0].sizes
        return sum(size for name, size in sizes if name in PLAIN)

    def _frozen(self, count: int) -> Classes:
        numbers: dict[Any, int] = {}
        members: dict[int, list[Node]] = {}
        of = [0] * count
        for name, function in self._graph.freeze().functions.items():
            if name not in PLAIN and name != "N":
                continue
            plain = PLAIN.get(name, 2) - 1
            for row in function.rows:
                head = [self._graph.value_to_i64(value) for value in row.inputs[:plain]]
                output = numbers.setdefault(row.output, len(numbers))
                if name == "N":
                    of[head[0]] = output
                    continue
                operands = [numbers.setdefault(v, len(numbers)) for v in row.inputs[plain:]]
                if name == "K":
                    head[1] &= (1 << 64) - 1
                members.setdefault(output, []).append((name, *head, *operands))
        return Classes(members, of)

    def _facts(self, wanted: set[tuple[int, int]], known: set[tuple[int, int]]) -> list[str]:
        """Return what rules ask of constants that are not among `known`, which they join."""
        lines = [
            f"({name} {' '.join(map(_word, arguments))})"
            for constant in sorted(wanted - known)
            for name, arguments in facts_of(*constant)
            if name in self._relations
        ]
        known |= wanted
        return lines

    def _parse(self, line: str) -> list[Any]:
        commands: list[Any] = self._graph.parse_program(line)
        return commands

    def _run(self, lines: Iterable[str]) -> None:
        # Line by line: every command carries a copy of the whole text that it was parsed from.
        self._graph.run_program(*(command for line in lines for command in self._parse(line)))


def _inputs(nodes: list[Node]) -> Iterator[str]:
    for number, node in enumerate(nodes):
        plain = PLAIN[str(node[0])]
        head = " ".join(_word(entry) for entry in node[1:plain])
        operands = " ".join(f"(N {operand})" for operand in node[plain:])
        yield f"(set (N {number}) ({node[0]} {head} {operands}))"


def _word(entry: str | int) -> str:
    return str(signed(int(entry)))


def _constants(members: dict[int, list[Node]]) -> set[tuple[int, int]]:
    return {(int(n[1]), int(n[2])) for nodes in members.values() for n in nodes if n[0] == "K"}


def _new_constants(members: dict[int, list[Node]]) -> list[tuple[str, str]]:
    """Operations on constants whose value is not in the graph yet, with that value."""
    values: dict[int, tuple[int, int]] = {}
    for number, nodes in members.items():
        found = {(int(n[1]), int(n[2])) for n in nodes if n[0] == "K"}
        leaves = sum(node[0] == "V" for node in nodes)
        if leaves > 1 or (leaves and found):
            raise Refused("rules made a tensor equal to a constant or to another tensor")
        if found:
            values[number] = _one_of(found)
    news = {}
    for number, nodes in members.items():
        for node in nodes if number not in values else ():
            operands = node[PLAIN[str(node[0])] :]
            if not operands or any(operand not in values for operand in operands):
                continue
            value = fold(node, [values[int(operand)] for operand in operands])
            if value is not None:
                news[_text(node, values)] = f"(K {value[0]} {_word(value[1])})"
    return sorted(news.items())


def _one_of(constants: set[tuple[int, int]]) -> tuple[int, int]:
    """The constant that stands for constants of one class, which may differ by roundings."""
    first, *others = sorted(constants)
    for other in others:
        a, b = number_of(*first), number_of(*other)
        near = (
            abs(a - b) <= 2.0 ** (6 - mantissa(first[0])) * abs(a) if is_float(first[0]) else False
        )
        if other[0] != first[0] or not near:
            raise Refused(f"rules made {a} and {b} equal")
    return first


def _text(node: Node, values: dict[int, tuple[int, int]]) -> str:
    plain = PLAIN[str(node[0])]
    head = " ".join(_word(entry) for entry in node[1:plain])
    operands = (values[int(operand)] for operand in node[plain:])
    text = " ".join(f"(K {type_} {_word(bits)})" for type_, bits in operands)
    return f"({node[0]} {head} {text})"
