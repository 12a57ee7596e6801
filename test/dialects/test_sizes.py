# SPDX-License-Identifier: MIT OR Apache-2.0
"""Expressions of sizes: arithmetic, bounds and text, compared with Python's integers."""

from __future__ import annotations

from random import Random

import pytest

from xyntra.dialects.sizes import Expr, ProductLimit, constant, parse, symbol

RANGES = {"b": (1, 8), "s": (1, 60)}


def _drawn(random: Random, depth: int) -> Expr:
    if not depth:
        names = (symbol("b"), symbol("s"), constant(random.randrange(-3, 20)))
        return random.choice(names)
    left, right = _drawn(random, depth - 1), _drawn(random, depth - 1)
    divisor = constant(random.randrange(1, 17))
    return random.choice(
        (left + right, left - right, left * right, left // divisor, left % divisor)
    )


@pytest.mark.parametrize("seed", range(60))
def test_text_and_bounds_agree_with_values(seed: int) -> None:
    random = Random(seed)
    expression = _drawn(random, 4)
    low, high = expression.bounds(RANGES)
    for _ in range(40):
        sizes = {name: random.randint(*ends) for name, ends in RANGES.items()}
        assert low <= expression.at(sizes) <= high
        assert parse(str(expression)).at(sizes) == expression.at(sizes)


def test_what_divides_is_divided() -> None:
    rows = constant(768) * symbol("b") * symbol("s")
    assert rows // constant(768) == symbol("b") * symbol("s")
    assert (rows % constant(64)).number == 0
    assert str(-(-symbol("s") // constant(6))) == "-1*((-1*s) // (6))"


@pytest.mark.parametrize("text", ["", "s +", "f(s)", "s.x", "s ** 2", "[s]", "1.5", "s" * 5000])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expression"):
        parse(text)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_where_a_product_of_sizes_is_limited(seed: int) -> None:
    random, limit = Random(seed), ProductLimit(("b", "s"), 64)
    expression = _drawn(random, 4)
    low, high = expression.bounds(RANGES, limit)
    for b in range(1, 9):
        for s in range(1, 61):
            if b * s <= limit.most:
                assert low <= expression.at({"b": b, "s": s}) <= high


def test_a_limit_tells_more_than_ranges() -> None:
    tiles = (symbol("b") * symbol("s") + constant(63)) // constant(64) * constant(12)
    assert tiles.bounds(RANGES) == (12, 96)
    assert tiles.bounds(RANGES, ProductLimit(("b", "s"), 128)) == (12, 24)


def test_distances_in_padded_images_are_divided() -> None:
    width = symbol("s") + constant(2)
    place = width * (symbol("b") + constant(5)) + constant(1)
    assert place.divided(width) == (symbol("b") + constant(5), constant(1))
    assert (width * constant(3)).divided(width * symbol("b")) == (constant(0), width * constant(3))
