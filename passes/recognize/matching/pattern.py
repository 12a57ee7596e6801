# SPDX-License-Identifier: MIT OR Apache-2.0
"""Declares patterns: mathematics to look for, and what to put in its place.

    @pattern
    def gelu(x):
        return 0.5 * x * (1 + erf(x / sqrt(2.0)))

    @gelu.spelling
    def gelu(x):
        return x * (0.5 + 0.5 * erf(x * sqrt(0.5)))

    @gelu.build
    def gelu(b, x):
        return named.gelu(b, x)

The function is called once, with symbols. Sums and products match in any order and association and
constants may be off by a few units in the last place; a parameter stands for the same tensor
wherever it occurs. A parameter annotated `Axis` stands for the dimensions of a reduction, one
annotated `Number` for a constant. docs/patterns.md is the guide.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, overload

from xyntra.dialects.builder import Tensor
from xyntra.passes.recognize.matching import terms
from xyntra.passes.recognize.matching.anchors import anchor_of
from xyntra.passes.recognize.matching.forms import Form, form_of
from xyntra.passes.recognize.matching.match import Match, MatchBuilder
from xyntra.passes.recognize.matching.terms import *  # noqa: F403  (patterns are written with them)
from xyntra.passes.recognize.matching.terms import Axis, Number, Term

__all__ = [
    *terms.__all__,
    "Match",
    "MatchBuilder",
    "Pattern",
    "Spelling",
    "collected_patterns",
    "pattern",
    "registered_patterns",
]

Guard = Callable[[Match], bool]
Builder = Callable[..., Tensor]

FLOATS = ("f32", "f64")
"""Element types that patterns match unless they say otherwise. In 16 bits every step of the
program rounds and may overflow, where a named op computes in 32 bits and rounds once."""

_registered: dict[str, Pattern] = {}


@dataclass(frozen=True)
class Spelling:
    """One way to write a pattern: its form, and the parameters that occur in it."""

    form: Form
    parameters: tuple[str, ...]
    where: Guard | None = None


@dataclass
class Pattern:
    """A pattern with its replacement; made by `pattern`.

    Attributes:
        name: of the function; what is built is a `xyntra.<name>` unless `build` says otherwise.
        parameters: all names that may be bound.
        spellings: the ways to write it.
        where: what else has to hold for a match.
        dtypes: element types of the result that are matched.
        tolerance: largest difference of constants, relative to the larger; None means four units
            in the last place of the element type.
        shared: whether values inside the match may also be used outside of it. They then are
            computed twice: once in what replaces the match, once for those other uses.
        builder: makes the replacement.
    """

    name: str
    parameters: tuple[str, ...]
    spellings: list[Spelling]
    where: Guard | None = None
    dtypes: tuple[str, ...] = FLOATS
    tolerance: float | None = None
    shared: bool = False
    builder: Builder | None = field(default=None, repr=False)

    @overload
    def spelling(self, function: Callable[..., Term]) -> Pattern: ...
    @overload
    def spelling(
        self, *, where: Guard | None = None
    ) -> Callable[[Callable[..., Term]], Pattern]: ...
    def spelling(
        self, function: Callable[..., Term] | None = None, *, where: Guard | None = None
    ) -> Any:
        """Add another way to write the pattern; it may leave parameters out, but add none.

        Raises:
            TypeError: a parameter is unknown.
        """

        def add(function: Callable[..., Term]) -> Pattern:
            spelling = _trace(function, where)
            unknown = set(spelling.parameters) - set(self.parameters)
            if unknown:
                names = ", ".join(sorted(unknown))
                raise TypeError(f"a spelling of pattern '{self.name}' adds parameters: {names}")
            self.spellings.append(spelling)
            return self

        return add if function is None else add(function)

    def build(self, function: Builder) -> Pattern:
        """Make `function` build the replacement.

        It takes a `MatchBuilder`, then any of the pattern's parameters by name: a `Tensor` for a
        tensor, a tuple of dimensions of the result for an axis, a float for a number, None for
        what the spelling that matched does not have. It returns a `Tensor` of the shape and
        element type of what it replaces.
        """
        self.builder = function
        return self


@overload
def pattern(function: Callable[..., Term]) -> Pattern: ...
@overload
def pattern(
    *,
    name: str | None = None,
    where: Guard | None = None,
    dtypes: tuple[str, ...] = FLOATS,
    tolerance: float | None = None,
    shared: bool = False,
) -> Callable[[Callable[..., Term]], Pattern]: ...
def pattern(function: Callable[..., Term] | None = None, **options: Any) -> Any:
    """Make a function into a `Pattern` and register it; see there for the options.

    A pattern of the same name is replaced.

    Raises:
        TypeError: the function takes something that is no symbol, or returns no term.
        ValueError: the function writes what cannot be matched.
    """

    def make(function: Callable[..., Term]) -> Pattern:
        name = options.pop("name", None) or function.__name__
        spelling = _trace(function, None)
        made = Pattern(name, spelling.parameters, [spelling], **options)
        _registered[name] = made
        return made

    return make if function is None else make(function)


def registered_patterns() -> list[Pattern]:
    """All patterns declared so far, in order."""
    return list(_registered.values())


@contextmanager
def collected_patterns() -> Iterator[dict[str, Pattern]]:
    """Give the patterns that are declared inside by name, and register none of them."""
    before = dict(_registered)
    found: dict[str, Pattern] = {}
    _registered.clear()
    try:
        yield found
    finally:
        found.update(_registered)
        _registered.clear()
        _registered.update(before)


def _trace(function: Callable[..., Term], where: Guard | None) -> Spelling:
    parameters = inspect.signature(function).parameters
    symbols = [_symbol(name, each.annotation) for name, each in parameters.items()]
    term = function(*symbols)
    if not isinstance(term, Term):
        raise TypeError(f"pattern '{function.__name__}' returns {term!r}, which is no term")
    form = form_of(term)
    anchor_of(form)
    return Spelling(form, tuple(parameters), where)


def _symbol(name: str, annotation: Any) -> Term:
    # Annotations are texts where the module postpones them.
    last = annotation.rpartition(".")[2] if isinstance(annotation, str) else annotation
    if last in (Axis, "Axis"):
        return Axis("axis", data=name)
    if last in (Number, "Number"):
        return Number("number", data=name)
    return Term("variable", data=name)
