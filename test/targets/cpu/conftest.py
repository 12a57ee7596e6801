# SPDX-License-Identifier: MIT OR Apache-2.0
"""Executables whose loops threads share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from threaded_model import shared_model

import xyntra
from xyntra.executable import Executable

ROOT = str(Path(__file__).resolve().parents[3])

if ROOT not in sys.path:  # for the random models of `verify`
    sys.path.append(ROOT)


@pytest.fixture
def compiled(settings: dict[str, object]) -> Callable[[int], Executable]:
    """Return a function that compiles the model for a number of threads."""
    return lambda threads: xyntra.compile(shared_model(), config={**settings, "threads": threads})
