# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products with a matrix of 4-bit integers that is read byte by byte, or dequantized in blocks."""

from __future__ import annotations

import pytest
from edited_schedules import edited
from packed_texts import Packed

from xyntra.errors import CompileError
from xyntra.passes.lower.cpu import LoweringOptions

WIDE = LoweringOptions(vector_bits=512, vector_registers=32)
OPTIONS = {"narrow": LoweringOptions(), "wide": WIDE}


@pytest.mark.parametrize("machine", OPTIONS)
@pytest.mark.parametrize("sizes", [(35, 131, 5, 32), (7, 66, 33, 8)], ids=str)
def test_ragged_sizes(compiled, sizes, machine):
    case = Packed(*sizes)
    case.check(compiled(case.text, options=OPTIONS[machine]), "packed-rows")


def test_columns_that_lie_apart(compiled):
    case = Packed(9, 70, 5, 64, turned=True)
    case.check(compiled(case.text, options=WIDE), "packed-rows")


def test_small_matrices_are_left_to_other_emitters(compiled):
    kernel = compiled(Packed(2, 8, 3, 16).text, options=WIDE)
    assert not any(each.startswith("packed") for each in kernel.lowered.schedules)


@pytest.mark.parametrize(
    "told",
    [(4, (1, 1), 0), (8, (5, 4), 0), (16, (2, 2), 6), (8, (3, 4), 68), (32, (1, 2), 0)],
    ids=str,
)
def test_edited_schedules(lowered_by, told):
    case = Packed(5, 70, 9, 32)
    choices = {"vector": told[0], "tile": told[1], "block": told[2]}
    case.check(lowered_by(case.text, edited("packed-rows", choices), WIDE), "packed-rows")


REFUSED = [
    ({"vector": 12, "tile": (1, 1)}, "vector = 12: allowed are powers of two from 4"),
    ({"vector": 64, "tile": (1, 1)}, "vector = 64: allowed are powers of two from 4"),
    ({"vector": 8, "tile": (6, 4)}, "tile = [6, 4]: allowed are up to 5 rows"),
    ({"vector": 8, "tile": (2, 3)}, "tile = [2, 3]: allowed are up to 5 rows"),
    ({"vector": 8, "tile": (2, 8)}, "tile = [2, 8]: allowed are up to 5 rows"),
    ({"vector": 8, "tile": (2, 4), "block": 6}, "block = 6: allowed are 0 and multiples of 4"),
    ({"vector": 8, "tile": (2, 4), "block": 72}, "block = 72: allowed are 0 and multiples of 4"),
]


@pytest.mark.parametrize(("choices", "message"), REFUSED, ids=str)
def test_refused_schedules(lowered_by, choices, message):
    with pytest.raises(CompileError) as caught:
        lowered_by(Packed(5, 70, 9, 32).text, edited("packed-rows", choices), WIDE)
    assert caught.value.code == "bad-schedule"
    assert message in caught.value.message
