# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records of parts of a run of random graphs become one."""

from __future__ import annotations

from typing import Any

import pytest

from verify.fusion.join import joined


def part(first: int, graphs: int, **other: Any) -> dict[str, Any]:
    counted = {"found": {"error": first}, "counts": {}, "operations": {"add": 2}, "dtypes": {}}
    whole = {"seed": 1, "target": "webgpu", "first": first, "graphs": graphs}
    return {**whole, "refused": 1, "seconds": 2.0, "problems": [], **counted, **other}


def test_parts_are_added_up_in_order() -> None:
    whole = joined([part(5, 3), part(0, 5)])
    assert (whole["first"], whole["graphs"], whole["refused"]) == (0, 8, 2)
    assert whole["operations"] == {"add": 4}
    assert whole["found"] == {"error": 5}


@pytest.mark.parametrize("other", [part(6, 3), part(4, 3), part(5, 3, seed=2)])
def test_gaps_and_other_runs_are_refused(other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="part"):
        joined([part(0, 5), other])
