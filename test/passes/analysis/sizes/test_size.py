# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ints that know their expression: what they record, and how expressions are found."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import pytest

from xyntra.dialects.mlir import ir
from xyntra.dialects.sizes import Expr, constant, symbol
from xyntra.passes.analysis.sizes.fit import Fitter
from xyntra.passes.analysis.sizes.session import SizeSession, lowering
from xyntra.passes.analysis.sizes.size import Size, hint_of, most_of, of_several

SAMPLE = {"s": 127}


@pytest.fixture
def session() -> Iterator[SizeSession]:
    kernel = ir.Operation.parse("func.func private @k()", context=ir.Context())
    found = SizeSession(kernel, {}, SAMPLE, {"s": 64}, {"s": (1, 512)})
    with lowering(found):
        yield found


def _size() -> Size:
    return Size(127, symbol("s"))


def test_arithmetic_keeps_the_expression(session: SizeSession) -> None:
    tiles = -(-_size() // 6)
    assert isinstance(tiles, Size)
    assert int(tiles) == 22
    assert [tiles.expression.at({"s": n}) for n in (1, 6, 7)] == [1, 1, 2]
    assert str(prod([768, _size(), 2])) == "1536*s"
    assert type(_size() - _size()) is int
    assert not session.guards


def test_only_what_ranges_leave_open_is_recorded(session: SizeSession) -> None:
    assert _size() > 0
    assert _size() < 513
    assert not session.guards
    assert min(_size(), 14) == 14
    assert list(session.guards) == [("<", "14", "s")]


def test_sizes_are_equal_where_expressions_are(session: SizeSession) -> None:
    assert _size() != 127
    assert _size() * 2 == _size() + _size()
    assert _size() % 127 != 0
    assert not session.guards


def test_estimates_take_the_hint(session: SizeSession) -> None:
    assert hint_of(_size() * 2) == 128
    assert most_of(_size() + 1) == 513
    assert float(_size()) == 64.0
    assert of_several(512, 512 * _size())
    assert not session.guards


@pytest.mark.parametrize(
    "expression",
    [
        constant(7),
        constant(768) * symbol("s"),
        symbol("s") + constant(-1),
        constant(12) * symbol("b") * symbol("s") * symbol("s"),
        constant(4) * symbol("b") * symbol("s") + constant(3) * symbol("s"),
    ],
)
def test_expressions_are_found_from_values(expression: Expr) -> None:
    samples = [{"b": b, "s": s} for b, s in ((11, 127), (13, 131), (17, 113), (19, 137))]
    assert Fitter(samples).fit([expression.at(each) for each in samples]) == expression


def test_what_is_no_simple_expression_has_none() -> None:
    samples = [{"s": s} for s in (127, 131, 113, 137)]
    assert Fitter(samples).fit([min(s["s"], 128) for s in samples]) is None
    assert Fitter(samples).fit([s["s"] // 2 for s in samples]) is None
