# SPDX-License-Identifier: MIT OR Apache-2.0
"""A headless Chromium loads and runs exported pages; `python -m verify.web` tells more stories."""

from __future__ import annotations

import pytest

from verify.web.browser import missing
from verify.web.stories import tell

STORIES = [
    "progress-result-and-timeline",
    "weights-damaged",
    "without-a-network",
    "a-crash-in-the-middle-of-calls",
]


@pytest.fixture
def chromium(has_naga: None, in_process: None) -> None:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)


@pytest.mark.usefixtures("chromium")
def test_pages_do_what_they_should() -> None:
    assert tell(STORIES, None) == []
