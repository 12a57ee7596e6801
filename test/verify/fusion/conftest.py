# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds fixtures for tests of the comparison of random graphs."""

from __future__ import annotations

import pytest

from verify.fusion.check import Checker
from xyntra.dialects import make_context


@pytest.fixture(scope="session")
def checker() -> Checker:
    """Return a checker that remembers kernels over all tests."""
    return Checker(make_context())
