# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the helper modules of this folder, and the benchmark models, importable from its tests."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# At the end, so that an installed xyntra stays the one that is tested.
sys.path.append(str(HERE.parents[2]))
