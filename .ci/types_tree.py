# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs mypy over the package as it is installed.

`dialects`, `passes` and `tools` become sub-packages of `xyntra` only on installation, which mypy
cannot see in the repository. A tree of links under build/ has the installed shape.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAPPED = ("dialects", "passes", "tools")


def link_tree(tree: Path) -> None:
    """Make `tree` hold one package `xyntra` of links to the repository's files."""
    package = tree / "xyntra"
    shutil.rmtree(tree, ignore_errors=True)
    package.mkdir(parents=True)
    own = [path for path in (ROOT / "xyntra").iterdir() if path.name != "__pycache__"]
    for path in [*own, *(ROOT / name for name in MAPPED)]:
        (package / path.name).symlink_to(path, target_is_directory=path.is_dir())


def main() -> int:
    """Return mypy's exit status, its messages naming the repository's paths."""
    tree = ROOT / "build" / "types"
    link_tree(tree)
    command = [
        *(sys.executable, "-m", "mypy", "--package", "xyntra"),
        *("--config-file", str(ROOT / "pyproject.toml")),
        *("--cache-dir", str(ROOT / "build" / "mypy")),
    ]
    environ = os.environ | {"MYPYPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environ, stdout=subprocess.PIPE, text=True)
    mapped = rf"^xyntra{re.escape(os.sep)}(?=({'|'.join(MAPPED)}){re.escape(os.sep)})"
    print(re.sub(mapped, "", done.stdout, flags=re.MULTILINE), end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
