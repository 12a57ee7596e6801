# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of few rows with a matrix of 4 or 8 bits that is read in words."""

from __future__ import annotations

import numpy as np
import pytest
from edited_schedules import edited
from packed_texts import Packed

from xyntra.errors import CompileError
from xyntra.passes.lower.cpu import LoweringOptions

WIDE = LoweringOptions(vector_bits=512, vector_registers=32)
OPTIONS = {"narrow": LoweringOptions(), "wide": WIDE}
CASES = {
    "blocks of 32": Packed(1, 37, 30, 16),
    "blocks of 128": Packed(2, 131, 9, 64),
    "blocks of 16, and a rest": Packed(3, 66, 33, 8),
    "one block": Packed(2, 300, 1, 64),
    "8 bits": Packed(2, 70, 9, 32, bits=8),
    "8 bits around 128": Packed(1, 70, 9, 32, bits=8, zero=128),
    "around 8": Packed(1, 130, 9, 16, zero=8),
    "rows of f16": Packed(2, 131, 5, 32, rows="f16"),
    "columns that lie apart": Packed(2, 71, 5, 64, turned=True),
}


@pytest.mark.parametrize("machine", OPTIONS)
@pytest.mark.parametrize("name", CASES)
def test_results(compiled, name, machine):
    case = CASES[name]
    case.check(compiled(case.text, options=OPTIONS[machine]), "packed-words")


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 1e37, 1e-40])
def test_what_is_not_finite_or_extreme(compiled, special):
    """An infinity meets what integers are less their zero point: 0, or a sign."""
    case = Packed(2, 37, 30, 16)
    arrays = case.arrays()
    arrays[0][0, 3, 5, 1] = special
    found = compiled(case.text)(*arrays)[0]
    with np.errstate(invalid="ignore"):
        wanted = arrays[0].reshape(2, -1).astype(np.float64) @ case.weight(arrays).T
    limit = np.finfo(np.float32).max
    wanted[0] = np.where(np.abs(wanted[0]) > limit, np.sign(wanted[0]) * np.inf, wanted[0])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("told", [(4, (1, 1), 0), (8, (5, 4), 64), (32, (2, 2), 4096)], ids=str)
def test_edited_schedules(lowered_by, told):
    case = Packed(5, 70, 9, 32)
    choices = {"vector": told[0], "tile": told[1], "ahead": told[2]}
    case.check(lowered_by(case.text, edited("packed-words", choices), WIDE), "packed-words")


REFUSED = [
    ({"vector": 12, "tile": (1, 1)}, "vector = 12: allowed are words that divide blocks of 32"),
    ({"vector": 128, "tile": (1, 1)}, "vector = 128: allowed are words"),
    ({"vector": 8, "tile": (6, 4)}, "tile = [6, 4]: allowed are up to 5 rows"),
    ({"vector": 8, "tile": (2, 3)}, "tile = [2, 3]: allowed are up to 5 rows"),
    ({"vector": 8, "tile": (2, 2), "ahead": -64}, "ahead = -64: allowed are 0 to 1048576"),
]


@pytest.mark.parametrize(("choices", "message"), REFUSED, ids=str)
def test_refused_schedules(lowered_by, choices, message):
    with pytest.raises(CompileError) as caught:
        lowered_by(Packed(5, 70, 9, 32).text, edited("packed-words", choices), WIDE)
    assert caught.value.code == "bad-schedule"
    assert message in caught.value.message
