# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records Einstein sums of any number of arrays as contractions of two at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from xyntra.array.arrays import Array, as_node, wrap
from xyntra.array.functions import reductions
from xyntra.array.functions.creation import arange
from xyntra.array.functions.manipulation import permute_dims
from xyntra.array.functions.products import contraction
from xyntra.array.recorded.places import user_place
from xyntra.errors import InputError

__all__ = ["einsum"]

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(equation: str, /, *operands: Any) -> Array:
    """Return the sum over the letters that the result does not have: `"bmk,kn->bmn"`.

    Letters name dimensions, a letter that one operand has twice its diagonal; `...` stands for
    dimensions that broadcast. Without `->` the result has the letters that come once, in order.

    Raises:
        InputError: the equation does not fit the arrays.
    """
    nodes = [as_node(each) for each in operands]
    terms, out = _parsed(equation, tuple([each.meta.shape for each in nodes]))
    arrays = [wrap(each) for each in nodes]
    kept = [_diagonals(x, term) for x, term in zip(arrays, terms, strict=True)]
    while len(kept) > 1:
        (one, first), (two, second), *rest = kept
        wanted = out + "".join(term for _, term in rest)
        inner = "".join(dict.fromkeys(c for c in first + second if c in wanted))
        found = contraction(f"{first},{second}->{inner}", one._node, two._node)
        kept = [(wrap(found), inner), *rest]
    ((x, letters),) = kept
    summed = tuple(d for d, c in enumerate(letters) if c not in out)
    x = reductions.sum(x, axis=summed, dtype=x.dtype) if summed else x
    left = [c for c in letters if c in out]
    return wrap(permute_dims(x, tuple(left.index(c) for c in out))._node)


def _diagonals(x: Array, term: str) -> tuple[Array, str]:
    """Return an operand with the diagonal of dimensions that have one letter, and its letters."""
    for letter in dict.fromkeys(term):
        if term.count(letter) > 1:
            places = arange(x.shape[term.index(letter)])
            x = x[tuple([places if c == letter else slice(None) for c in term])]
            first, last = term.index(letter), term.rindex(letter)
            together = term[first : last + 1] == letter * (last + 1 - first)
            rest = term.replace(letter, "")
            place = first if together else 0
            term = rest[:place] + letter + rest[place:]
    return wrap(x._node), term


@lru_cache(maxsize=1024)
def _parsed(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[str], str]:
    """Return the letters of each operand and of the result, with letters for dots."""
    plain = equation.replace(" ", "")
    left, arrow, out = plain.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise _wrong(equation, shapes, f"it names {len(terms)} arrays")
    free = [c for c in _UPPER if c not in plain]
    counts = [
        len(shape) - len(term.replace("...", "")) if "..." in term else 0
        for term, shape in zip(terms, shapes, strict=True)
    ]
    most = max(counts)
    if min(counts) < 0 or most > len(free):
        raise _wrong(equation, shapes, "an array has fewer dimensions than letters")
    dots = "".join(free[:most])
    terms = [t.replace("...", dots[most - n :], 1) for t, n in zip(terms, counts, strict=True)]
    if arrow:
        out = out.replace("...", dots, 1)
    else:
        every = "".join(terms)
        once = sorted({c for c in every if every.count(c) == 1} - set(dots))
        out = dots + "".join(once)
    _check(equation, shapes, terms, out, dots)
    return terms, out


def _check(
    equation: str, shapes: Sequence[tuple[int, ...]], terms: Sequence[str], out: str, dots: str
) -> None:
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        if len(term) != len(shape) or not all(c.isascii() and c.isalpha() for c in term):
            raise _wrong(equation, shapes, f"'{term}' has not one letter for each of {list(shape)}")
        for letter, size in zip(term, shape, strict=True):
            known = sizes.get(letter, 1 if letter in dots else size)
            if size != known and not (letter in dots and 1 in (size, known)):
                cause = f"dimension '{letter}' has the sizes {known} and {size}"
                raise _wrong(equation, shapes, cause)
            sizes[letter] = size if known == 1 else known
    if len(set(out)) != len(out) or not set(out) <= set(sizes):
        raise _wrong(equation, shapes, "each letter of the result comes once, and in an operand")


def _wrong(equation: str, shapes: Sequence[tuple[int, ...]], cause: str) -> InputError:
    return InputError(
        "array-einsum",
        f"'{equation}' does not fit arrays of {' and '.join(map(str, map(list, shapes)))}",
        place=user_place(),
        cause=cause,
    )
