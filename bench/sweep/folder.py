# SPDX-License-Identifier: MIT OR Apache-2.0
"""The folder in which a sweep keeps what it compiles."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bench.sweep.networks import Network
from bench.sweep.row import Row

__all__ = ["artifact"]


def artifact(folder: Path, row: Row | Network, suffix: str) -> Path:
    """Return where something of a row is kept; rows of other seeds have files of their own."""
    name = f"{row.seed} {row.target} {row.name}"
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.{suffix}"
