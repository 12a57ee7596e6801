# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs checks by name, all of them whatever fails, and says at the end which failed.

The one place where each check's command is written: make, CTest, pre-commit and the hosted
workflows all come here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve().parent
PYTHON = [sys.executable]
CHECKS = {
    "style": [*PYTHON, "-m", "ruff", "check", "."],
    "format": [*PYTHON, "-m", "ruff", "format", "--check", "."],
    "limits": [*PYTHON, str(HERE / "limits.py")],
    "types": [*PYTHON, "-m", "mypy", "--package", "xyntra"],
    "lit": [str(Path(sys.executable).with_name("lit")), "-sv", "lit-tests"],
    "pytest": [*PYTHON, str(HERE / "pytest_shards.py")],
}


def main(names: list[str]) -> int:
    """Run the named checks; return 0 if all passed, 1 if one failed, 2 for an unknown name."""
    unknown = [name for name in names if name not in CHECKS]
    if unknown or not names:
        print(f"usage: check.py {{{','.join(CHECKS)}}}...", file=sys.stderr)
        return 2
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        if subprocess.run(CHECKS[name], cwd=ROOT, check=False).returncode != 0:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
