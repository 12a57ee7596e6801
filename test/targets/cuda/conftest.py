# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the emulator, and the random models of `verify`, importable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = str(HERE.parents[2])

# Tests share kernels and cases with those of other folders.
sys.path[:0] = [str(HERE), *(str(each) for each in HERE.iterdir() if each.is_dir())]
if ROOT not in sys.path:
    sys.path.append(ROOT)


@pytest.fixture(autouse=True)
def _in_process(in_process: None) -> None:
    """Compile without worker processes; what they do is tested elsewhere."""
