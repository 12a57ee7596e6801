# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the section of CHANGELOG.md of one version: `python .ci/release_notes.py 0.1.0`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"


def notes(text: str, version: str) -> str:
    """Return what stands below the heading `## [version] - date`, up to the next one.

    Raises:
        ValueError: there is no such heading, or nothing below it.
    """
    heading = rf"^## \[{re.escape(version)}\](?: - \d{{4}}-\d\d-\d\d)?$"
    found = re.search(heading + r"\n(.*?)(?=^## \[|^\[[^]]+\]: |\Z)", text, re.M | re.S)
    if found is None or not found[1].strip():
        raise ValueError(f"CHANGELOG.md has no section [{version}] with text")
    return found[1].strip() + "\n"


def main(arguments: list[str]) -> int:
    """Print the notes of the version that is named; returns 1 if there are none."""
    try:
        (version,) = arguments
        print(notes(CHANGELOG.read_text(encoding="utf-8"), version), end="")
    except ValueError as error:
        print(f"release_notes: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
