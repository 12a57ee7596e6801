# SPDX-License-Identifier: MIT OR Apache-2.0
"""Expressions of the sizes that a model leaves free: polynomials, quotients and remainders.

They are exact and printable; `parse` reads what `str` writes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Union

__all__ = ["Bounds", "Expr", "ProductLimit", "constant", "parse", "symbol"]

_MOST_TEXT = 4000
_MOST_QUOTIENTS = 8
"""Terms of a quotient that are looked for."""

Bounds = tuple[int, int]
"""The least and the largest value."""
Atom = Union[str, "_Divided"]
Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class ProductLimit:
    """The largest product of some symbols, each of which may be large where others are small."""

    names: tuple[str, ...]
    most: int

    @property
    def product(self) -> Expr:
        """The product of the symbols."""
        return Expr(((tuple(sorted(self.names)), 1),))


@dataclass(frozen=True)
class _Divided:
    """A quotient, rounded down, or a remainder; the divisor is positive.

    Where a divisor is a size that is 0, nothing is counted by the quotient: it is 0.
    """

    kind: str
    dividend: Expr
    divisor: Expr

    def __str__(self) -> str:
        return f"(({self.dividend}) {self.kind} ({self.divisor}))"

    def at(self, sizes: Mapping[str, int]) -> int:
        first, second = self.dividend.at(sizes), self.divisor.at(sizes)
        if not second:
            return 0
        return first // second if self.kind == "//" else first % second

    def replaced(self, known: Mapping[str, Expr]) -> Expr:
        dividend, divisor = self.dividend.replaced(known), self.divisor.replaced(known)
        return dividend // divisor if self.kind == "//" else dividend % divisor

    def bounds(self, ranges: Mapping[str, Bounds], limit: ProductLimit | None = None) -> Bounds:
        low, high = self.dividend.bounds(ranges, limit)
        least, most = self.divisor.bounds(ranges, limit)
        if self.kind == "%":
            return 0, max(0, most - 1)
        divisors = [max(1, least), max(1, most)]
        return min(low // each for each in divisors), max(high // each for each in divisors)


@dataclass(frozen=True)
class Expr:
    """A sum of products.

    Attributes:
        terms: each product of atoms with its factor, sorted; no factor is 0.
    """

    terms: tuple[tuple[Monomial, int], ...]

    @cached_property
    def number(self) -> int | None:
        """The value of an expression without symbols."""
        if not self.terms:
            return 0
        (atoms, factor), *others = self.terms
        return factor if not atoms and not others else None

    @property
    def is_remainder(self) -> bool:
        """Whether it is what a division leaves, or how many times that holds a number."""
        atoms, factor = self.terms[0] if len(self.terms) == 1 else ((), 1)
        only = atoms[0] if len(atoms) == 1 else ""
        if factor != 1 or isinstance(only, str):
            return False
        return only.kind == "%" or only.dividend.is_remainder

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for atoms, factor in self.terms:
            names = [str(atom) for atom in atoms]
            if factor != 1 or not names:
                names.insert(0, str(factor))
            parts.append("*".join(names))
        return " + ".join(parts)

    def __add__(self, other: Expr) -> Expr:
        return _sum([*self.terms, *other.terms])

    def __neg__(self) -> Expr:
        return Expr(tuple((atoms, -factor) for atoms, factor in self.terms))

    def __sub__(self, other: Expr) -> Expr:
        return self + -other

    def __mul__(self, other: Expr) -> Expr:
        return _sum(
            [
                (tuple(sorted((*a, *b), key=str)), x * y)
                for a, x in self.terms
                for b, y in other.terms
            ]
        )

    def __floordiv__(self, other: Expr) -> Expr:
        """Divide, rounding down, by a positive number."""
        if other.number == 1:
            return self
        exact = self._exactly(other)
        return exact if exact is not None else Expr((((_Divided("//", self, other),), 1),))

    def __mod__(self, other: Expr) -> Expr:
        """Return the remainder of a division by a positive number."""
        if self._exactly(other) is not None:
            return constant(0)
        return Expr((((_Divided("%", self, other),), 1),))

    def _exactly(self, other: Expr) -> Expr | None:
        """The quotient where `other` is one product that divides every other one."""
        if not self.terms:
            return self
        if len(other.terms) != 1:
            return None
        atoms, factor = other.terms[0]
        found = []
        for mine, times in self.terms:
            left = list(mine)
            for atom in atoms:
                if atom not in left:
                    return None
                left.remove(atom)
            if times % factor:
                return None
            found.append((tuple(left), times // factor))
        return _sum(found)

    def divided(self, other: Expr) -> tuple[Expr, Expr]:
        """Return a quotient and what is left, which may be negative, or more than the divisor.

        As polynomials are divided, by the first term of the divisor: of the distance of rows in a
        padded image, (w + 2) * 5 + 1, five are rows of w + 2.
        """
        leading = Expr(other.terms[:1])
        quotient, rest = constant(0), self
        for _ in range(_MOST_QUOTIENTS):
            found = (Expr((term,))._exactly(leading) for term in rest.terms)
            part = next((each for each in found if each is not None and each.terms), None)
            if part is None:
                break
            quotient, rest = quotient + part, rest - part * other
        return quotient, rest

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the value for given sizes."""
        total = 0
        for atoms, factor in self.terms:
            value = factor
            for atom in atoms:
                value *= sizes[atom] if isinstance(atom, str) else atom.at(sizes)
            total += value
        return total

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The names of its symbols."""
        found: set[str] = set()
        for atoms, _ in self.terms:
            for atom in atoms:
                parts = () if isinstance(atom, str) else (atom.dividend, atom.divisor)
                found.update([atom] if isinstance(atom, str) else [])
                found.update(name for part in parts for name in part.symbols)
        return frozenset(found)

    def replaced(self, known: Mapping[str, Expr]) -> Expr:
        """Return the expression with other ones in the place of some symbols."""
        if self.symbols.isdisjoint(known):
            return self
        total = constant(0)
        for atoms, factor in self.terms:
            term = constant(factor)
            for atom in atoms:
                if isinstance(atom, str):
                    term = term * known.get(atom, symbol(atom))
                else:
                    term = term * atom.replaced(known)
            total = total + term
        return total

    def line(self, name: str) -> tuple[Expr, Expr] | None:
        """Return `a` and `b` where it is `a * name + b`; None where it is no such sum."""
        factor, rest = constant(0), constant(0)
        for atoms, times in self.terms:
            others = list(atoms)
            if name in others:
                others.remove(name)
                factor += Expr(((tuple(others), times),))
            else:
                rest += Expr(((atoms, times),))
        if name in factor.symbols or name in rest.symbols or not factor.terms:
            return None
        return factor, rest

    def bounds(self, ranges: Mapping[str, Bounds], limit: ProductLimit | None = None) -> Bounds:
        """Return numbers that the value is never below, and never above."""
        shared = self._shared_atom() if len(self.terms) > 1 else None
        if shared is not None:
            # Of x*y - x it matters that both terms have the same x.
            rest = self // Expr((((shared,), 1),))
            return _product(rest.bounds(ranges, limit), _ends(shared, ranges, limit))
        least = most = 0
        for atoms, factor in self.terms:
            found = factor, factor
            for ends in _factors(atoms, ranges, limit):
                found = _product(found, ends)
            least, most = least + found[0], most + found[1]
        return least, most

    def _shared_atom(self) -> Atom | None:
        """An atom that every term has."""
        first, *others = self.terms
        return next((x for x in first[0] if all(x in atoms for atoms, _ in others)), None)


def constant(number: int) -> Expr:
    """Return a number as an expression."""
    return Expr((((), number),) if number else ())


def symbol(name: str) -> Expr:
    """Return a size by its name, an identifier."""
    return Expr((((name,), 1),))


def _factors(
    atoms: Monomial, ranges: Mapping[str, Bounds], limit: ProductLimit | None
) -> list[Bounds]:
    """Return the bounds of the factors of a product, of those that a limit has together."""
    rest, found = list(atoms), list[Bounds]()
    if limit is not None and all(name in rest for name in limit.names):
        for name in limit.names:
            rest.remove(name)
        least = prod(ranges[name][0] for name in limit.names)
        most = prod(ranges[name][1] for name in limit.names)
        found.append((least, max(least, min(most, limit.most))))
    return [*found, *(_ends(atom, ranges, limit) for atom in rest)]


def _ends(atom: Atom, ranges: Mapping[str, Bounds], limit: ProductLimit | None) -> Bounds:
    return ranges[atom] if isinstance(atom, str) else atom.bounds(ranges, limit)


def _product(one: Bounds, other: Bounds) -> Bounds:
    found = [a * b for a in one for b in other]
    return min(found), max(found)


def _sum(terms: list[tuple[Monomial, int]]) -> Expr:
    total: dict[Monomial, int] = {}
    for atoms, factor in terms:
        total[atoms] = total.get(atoms, 0) + factor
    kept = [(atoms, factor) for atoms, factor in total.items() if factor]
    return Expr(tuple(sorted(kept, key=lambda term: (-len(term[0]), str(term[0])))))


_OPERATIONS: dict[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: lambda a, b: a + b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


@lru_cache(maxsize=4096)
def parse(text: str) -> Expr:
    """Read an expression.

    Raises:
        ValueError: it is none.
    """
    if len(text) > _MOST_TEXT:
        raise ValueError("the expression of a size is too long")
    try:
        return _read(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError) as error:
        raise ValueError(f"{text[:60]!r} is no expression of sizes") from error


def _read(node: ast.expr) -> Expr:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return constant(node.value)
    if isinstance(node, ast.Name):
        return symbol(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_read(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_read(node.left), _read(node.right))
    raise ValueError(f"{ast.dump(node)[:60]} is no part of an expression of sizes")
