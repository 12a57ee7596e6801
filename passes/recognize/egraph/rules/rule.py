# SPDX-License-Identifier: MIT OR Apache-2.0
"""The form of a rewrite rule, and the reader of its patterns.

    Rule("subtract-negated", "(subf a (negf b))", "(addf a b)")

A pattern is a nest of operations of `vocabulary.OPERATIONS`. A plain word stands for any
expression, `#c` for any constant, a number for that constant in the type it is used in. Comparisons
name their predicate, `(cmpf.olt a b)`, or a variable for it, `(cmpf.?p a b)`. Casts name both
types, `(extf<s,t> a)`: f16, i1 and the like, or one letter for any. All other operands have the
type of their operation; the whole pattern has type `t`, the operands of a comparison have `s`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from xyntra.passes.recognize.egraph.rules.vocabulary import CMPF, CMPI, OPERATIONS, Operation

__all__ = ["Call", "Constant", "Literal", "Pattern", "Rule", "Tier", "Variable"]


class Tier(IntEnum):
    """The distance that results may move."""

    EXACT = 0
    """Equal bits for every input; NaNs count as equal."""

    REORDER = 1
    """Other roundings, as when sums and products are reordered; NaN, infinities and zeros stay."""

    FAST = 2
    """Equal over the real numbers; may turn an overflow, a NaN or a sign of zero into another."""


@dataclass(frozen=True, slots=True)
class Variable:
    """Any expression."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """Any constant; `type_` is a type's name or a letter."""

    name: str
    type_: str


@dataclass(frozen=True, slots=True)
class Literal:
    """One constant."""

    text: str
    type_: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operation.

    `types` are names of types or letters, as they stand in the e-graph: the type of the operands,
    or source and result of a cast. `operand_types` has one for each operand. `predicate` belongs to
    comparisons.
    """

    operation: Operation
    types: tuple[str, ...]
    operand_types: tuple[str, ...]
    predicate: str
    operands: tuple[Pattern, ...]

    @property
    def result(self) -> str:
        """The type of the result."""
        return "i1" if self.operation.form == "compare" else self.types[-1]


Pattern = Variable | Constant | Literal | Call


@dataclass(frozen=True)
class Rule:
    """A rewrite: `left` may be replaced by `right`.

    Attributes:
        name: in kebab case.
        left: pattern to find.
        right: pattern to put in its place, over the variables of `left`.
        when: conditions: `relation argument…`, over variables, constants, types and predicates.
        tier: how far the numbers may move.
        note: the condition or the loss in words, for `docs/rewrites.md`.
    """

    name: str
    left: str
    right: str
    when: tuple[str, ...] = ()
    tier: Tier = Tier.EXACT
    note: str = ""

    @property
    def operation(self) -> Operation:
        """The outermost operation of the left side."""
        return OPERATIONS[re.split(r"[ .<]", self.left[1:], maxsplit=1)[0]]

    @cached_property
    def pattern(self) -> Call:
        """The parsed left side."""
        found = parse(self.left)
        if not isinstance(found, Call):
            raise ValueError(f"rule {self.name} matches everything")
        return found

    @cached_property
    def replacement(self) -> Pattern:
        """The parsed right side."""
        return parse(self.right, self.pattern.result)


_WORD = re.compile(r"[()]|[^\s()]+")
_HEAD = re.compile(r"(?P<name>\w+)(\.(?P<predicate>\??\w+))?(<(?P<types>[\w,]+)>)?")


def parse(text: str, type_: str = "t") -> Pattern:
    """Read a pattern whose result has a type.

    Raises:
        ValueError: an operation is unknown or has the wrong number of operands.
    """
    words = iter(_WORD.findall(text))
    return _pattern(next(words), words, type_)


def _pattern(word: str, words: Iterator[str], type_: str) -> Pattern:
    if word == "(":
        return _call(next(words), words, type_)
    if word.startswith("#"):
        return Constant(word[1:], type_)
    if word in ("true", "false") or word.lstrip("-")[0].isdigit():
        return Literal(word, type_)
    return Variable(word)


def _call(head: str, words: Iterator[str], type_: str) -> Call:
    match = _HEAD.fullmatch(head)
    if match is None or match["name"] not in OPERATIONS:
        raise ValueError(f"'{head}' is no operation")
    operation = OPERATIONS[match["name"]]
    types, operand_types = _types(operation, match["types"], type_)
    operands: list[Pattern] = []
    for word in words:
        if word == ")":
            break
        operands.append(_pattern(word, words, operand_types[len(operands)]))
    if len(operands) != len(operand_types):
        raise ValueError(f"'{head}' takes {len(operand_types)} operands")
    return Call(
        operation, types, operand_types, _predicate(operation, match["predicate"]), tuple(operands)
    )


def _types(
    operation: Operation, given: str | None, type_: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The types that the e-graph stores, and those of the operands."""
    if operation.form == "cast":
        source, _, result = (given or "").partition(",")
        return (source, result), (source,)
    if operation.form == "compare":
        operand = given or "s"
        return (operand,), (operand, operand)
    if operation.form == "select":
        return (type_,), ("i1", type_, type_)
    count = {"unary": 1, "binary": 2, "ternary": 3}[operation.form]
    return (type_,), (type_,) * count


def _predicate(operation: Operation, given: str | None) -> str:
    if operation.form != "compare":
        return ""
    known = CMPF if operation.name == "cmpf" else CMPI
    if given is None or not (given.startswith("?") or given in known):
        raise ValueError(f"'{given}' is no predicate of {operation.name}")
    return given if given.startswith("?") else str(known[given])
