# SPDX-License-Identifier: MIT OR Apache-2.0
"""docs/operators.md lists the operators that there are importers for."""

from __future__ import annotations

from bench.documents.operators import DOCUMENT, render

LISTS = "## ai.onnx ("  # what stands before depends on the version of the onnx package


def test_the_list_is_up_to_date() -> None:
    written, listed = (text.partition(LISTS)[2] for text in (DOCUMENT.read_text(), render()))
    assert listed
    assert written == listed, "python -m bench.documents.operators"
