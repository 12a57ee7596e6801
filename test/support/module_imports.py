# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the modules of the package, and what each of them imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Import", "imports", "modules", "syntax_tree"]

ROOTS = {
    "xyntra": "xyntra",
    "dialects": "xyntra.dialects",
    "passes": "xyntra.passes",
    "tools": "xyntra.tools",
}


class Import(NamedTuple):
    module: str
    line: int


def modules(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield (path below root, dotted name) of every module; a package is `name.__init__`."""
    for folder, package in ROOTS.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            yield path.relative_to(root), ".".join((package, *parts))


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Return the syntax of a file, which several tests look into."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module, module: str, known: set[str]) -> Iterator[Import]:
    """Yield what `module` imports of xyntra; a name that is a module counts as that module."""
    package = module.rsplit(".", 1)[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - max(node.level - 1, 0)]
            source = ".".join([*base, node.module or ""] if node.level else [node.module or ""])
            source = source.rstrip(".")
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield Import(inner if inner in known else source, node.lineno)
