# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparisons are not installed: they are imported from the clone."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
# At the end, so that an installed xyntra stays the one that is tested.
if ROOT not in sys.path:
    sys.path.append(ROOT)
