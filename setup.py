# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names the packages: every folder below the four top-level ones, none of them by hand.

The rest of the project's description is in pyproject.toml.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from setuptools import setup

ROOTS = {
    "xyntra": "xyntra",
    "xyntra.dialects": "dialects",
    "xyntra.passes": "passes",
    "xyntra.tools": "tools",
}


def packages() -> Iterator[str]:
    """Yield the dotted name of every folder that holds files.

    Raises:
        RuntimeError: a folder with Python files has no `__init__.py`.
    """
    for package, root in ROOTS.items():
        for folder, below, files in os.walk(root):
            below[:] = [name for name in below if name.isidentifier() and name != "__pycache__"]
            if "__init__.py" in files:
                yield ".".join((package, *Path(folder).relative_to(root).parts))
            elif any(name.endswith(".py") for name in files):
                raise RuntimeError(f"{folder} has Python files but no __init__.py")


setup(packages=sorted(packages()), package_data={"": ["*"]})
