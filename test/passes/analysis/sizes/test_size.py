# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ints that know their expression: what they record, and how expressions are found."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import pytest

from xyntra.dialects.mlir import ir
from xyntra.dialects.sizes import Expr, ProductLimit, constant, symbol
from xyntra.passes.analysis.sizes.agreement import Agreement
from xyntra.passes.analysis.sizes.fit import Fitter
from xyntra.passes.analysis.sizes.instances import far_sizes, near_sizes, text_at
from xyntra.passes.analysis.sizes.session import SizeSession, lowering
from xyntra.passes.analysis.sizes.size import (
    Size,
    always_at_most,
    hint_of,
    most_of,
    of_several,
    pinned,
)

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
    assert _size() != 128
    assert _size() * 2 == _size() + _size()
    assert _size() % 127 != 0  # a remainder by chance
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
        symbol("b") * symbol("b") * symbol("s") * symbol("s"),
        constant(64) * (symbol("b") + constant(2)) * (constant(8) * symbol("s") + constant(4)),
    ],
)
def test_expressions_are_found_from_values(expression: Expr) -> None:
    samples = [{"b": b, "s": s} for b, s in ((11, 127), (13, 131), (17, 113), (19, 137))]
    assert Fitter(samples).fit([expression.at(each) for each in samples]) == expression


def test_what_is_no_simple_expression_has_none() -> None:
    samples = [{"s": s} for s in (127, 131, 113, 137)]
    assert Fitter(samples).fit([min(s["s"], 128) for s in samples]) is None
    assert Fitter(samples).fit([s["s"] // 2 for s in samples]) is None


def test_what_is_equal_at_the_sample_is_pinned(session: SizeSession) -> None:
    assert -(-_size() // 128) == 1
    assert list(session.guards) == [("<=", "-1*((-1*s) // (128))", "1")]


def test_bits_are_those_of_the_sample_and_recorded(session: SizeSession) -> None:
    assert _size().bit_length() == 7
    assert list(session.guards) == [("<", "s", "128"), ("<=", "64", "s")]
    assert _size() & 15 == 15
    assert ("<=", "s", "127") in session.guards
    assert str(_size() >> 2) == "((s) // (4))"


def test_text_has_the_number_of_the_sample(session: SizeSession) -> None:
    assert f"[%rd1+{8 * _size()}]" == "[%rd1+1016]"


def test_what_is_always_so_is_not_recorded(session: SizeSession) -> None:
    assert always_at_most(_size(), 512)
    assert not always_at_most(_size(), 128)
    assert always_at_most(3, 4)
    assert pinned(5) == 5
    assert not session.guards


def test_a_kernel_is_written_down_at_other_sizes() -> None:
    found = Agreement([{127: symbol("s"), 254: constant(2) * symbol("s")}], fixed={3, 32})
    text = (
        "  %127 = f memref<254x32xf32, 3> {n = -127, m = 0xd127}\n  %c = arith.constant 127 : i32\n"
    )
    assert text_at(text, found, {"s": 50}) == text.replace("<254x", "<100x").replace(
        "= -127", "= -50"
    )
    sizes = far_sizes(found, {"s": (1, 512)}, [("<=", "s", "300")])
    assert sizes[0] == {"s": 11}
    assert 200 < sizes[-1]["s"] <= 300


def test_code_is_made_near_usual_sizes() -> None:
    rows = symbol("b") * symbol("s")
    found = Agreement([{127: symbol("s"), 47: symbol("b"), 5969: rows}], fixed={12, 768})
    ranges, limit = {"b": (1, 16), "s": (1, 128)}, ProductLimit(("b", "s"), 128)
    one, other = near_sizes(found, {"b": 1, "s": 128}, ranges, limit)
    for each in (one, other):
        assert min(each.values()) > 1
        assert each["b"] * each["s"] <= limit.most
        assert 12 not in each.values()
    assert all(one[name] != other[name] for name in ranges)
    assert near_sizes(found, {"b": 16, "s": 512}, {"b": (1, 16), "s": (1, 512)}, None)[0] == {
        "b": 16,
        "s": 512,
    }
    assert not near_sizes(found, {"b": 1, "s": 1}, {"b": (1, 1), "s": (1, 1)}, None)
