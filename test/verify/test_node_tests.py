# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that disputed node tests excuse nothing else, and that the page has what was found."""

from __future__ import annotations

import json

import pytest

from verify.onnx_backend.cases import DISPUTED, Outcome, judged
from verify.onnx_backend.document import DOCUMENT, REGION, RESULTS, render


@pytest.mark.parametrize("name", DISPUTED)
def test_only_the_outcome_that_is_described_is_disputed(name: str) -> None:
    case = DISPUTED[name]
    assert judged(name, Outcome(case.what, "", f"so: {case.sign}")).what == "disputed"
    for other in (Outcome("crashed", "exit", case.sign), Outcome(case.what, "", "another")):
        assert judged(name, other) == other
    assert judged("test_add", Outcome(case.what, "", case.sign)).what == case.what


def test_the_page_is_written_from_the_results() -> None:
    results = {name: json.loads(path.read_text()) for name, path in RESULTS.items()}
    text = DOCUMENT.read_text(encoding="utf-8")
    assert REGION.replace(text, render(results)) == text
