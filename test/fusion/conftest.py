# SPDX-License-Identifier: MIT OR Apache-2.0
"""The generator of random graphs is not installed: it is imported from the clone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parents[2])
# At the end, so that an installed xyntra stays the one that is tested.
if ROOT not in sys.path:
    sys.path.append(ROOT)

from bench.fusion_check import Checker  # noqa: E402
from xyntra.dialects import make_context  # noqa: E402


@pytest.fixture(scope="session")
def checker() -> Checker:
    """Return a checker that remembers kernels over all tests."""
    return Checker(make_context())
