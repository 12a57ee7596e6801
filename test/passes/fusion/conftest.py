# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the helper modules of this folder importable from its tests, in every import mode."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
