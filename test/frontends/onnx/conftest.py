# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the helpers of the operators' tests importable from the tests of this folder too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "ops"))
