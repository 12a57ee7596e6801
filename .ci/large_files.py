# SPDX-License-Identifier: MIT OR Apache-2.0
"""Refuses the named files that do not belong into a repository because of their size."""

from __future__ import annotations

import sys
from pathlib import Path

LIMIT = 512 << 10


def main(names: list[str]) -> int:
    """Return 1 if a named file is larger than the limit."""
    large = [name for name in names if Path(name).stat().st_size > LIMIT]
    for name in large:
        print(f"{name}: {Path(name).stat().st_size} bytes, {LIMIT} allowed")
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
