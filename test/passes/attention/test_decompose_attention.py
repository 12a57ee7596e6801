# SPDX-License-Identifier: MIT OR Apache-2.0
"""The decomposition of `xyntra.attention` against float64."""

from __future__ import annotations

import numpy as np
import pytest
from attention_cases import Case, expected, heads_first, run

CASES = {
    "one": heads_first(1, 1, 1, 1, 1, 1),
    "ragged": heads_first(2, 3, 7, 5, 5, 3),
    "causal": heads_first(1, 2, 6, 9, 4, 4, causal_offset=3),
    "half": heads_first(1, 2, 5, 6, 8, 8, dtype="float16"),
    "bfloat16": heads_first(1, 2, 5, 6, 8, 8, dtype="bfloat16"),
    "masks": heads_first(
        2, 2, 4, 6, 3, 3, keep=((2, 6), "b, t"), bias=((4, 6), "s, t"), fill=-10.0
    ),
    "fill last": heads_first(
        1,
        2,
        4,
        6,
        3,
        3,
        keep=((6,), "t"),
        bias=((4, 6), "s, t"),
        fill=-2.0,
        fill_last=True,
    ),
    "zero": heads_first(2, 2, 4, 6, 3, 3, keep=((2, 1, 6), "b, 0, t"), masked_rows="zero"),
    "merged": Case(
        (1, 6, 5, 5, 4, 4),
        ((5, 40), "s, h * 4 + d"),
        ((5, 40), "t, (h floordiv 3) * 4 + d + 24"),
        ((5, 40), "t, (h floordiv 3) * 4 + e + 32"),
        ((1, 5, 24), "b, s, h * 4 + e"),
    ),
}
TOLERANCE = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}


@pytest.mark.parametrize("name", CASES)
def test_decomposition(name: str) -> None:
    """The decomposed kernel gives what the definition says."""
    case = CASES[name]
    arrays = case.random(3)
    if name == "zero":
        arrays[3][1] = False
    result = run(case, arrays, "decompose-named-ops").astype("f8")
    np.testing.assert_allclose(
        result, expected(case, arrays), rtol=TOLERANCE[case.dtype], atol=TOLERANCE[case.dtype]
    )


def test_fully_masked_rows_are_nan_as_in_softmax() -> None:
    case = heads_first(1, 1, 2, 3, 2, 2, keep=((2, 3), "s, t"))
    arrays = case.random(4)
    arrays[3][:] = [[True, True, False], [False, False, False]]
    result = run(case, arrays, "decompose-named-ops")
    assert np.isfinite(result[0, 0, 0]).all()
    assert np.isnan(result[0, 0, 1]).all()
