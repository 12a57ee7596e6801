# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks what ruff cannot: the licence line, sizes, and how the docstring of a module begins."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (".ci", "bench", "dialects", "examples", "passes", "test", "tools", "verify", "xyntra")
LICENCE = "# SPDX-License-Identifier: MIT OR Apache-2.0"
FILE_LINES = 450
FUNCTION_LINES = 70
RIDDLE = re.compile(r"(How|Likewise|Of|The same|What|When|Where|Whether|Which|Who|Whose|Why)\b")
"""Words that a module's docstring does not begin with: it says what the module does."""


def problems(path: Path) -> Iterator[str]:
    """Yield one message for each limit that the file breaks."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if LICENCE not in lines[:2]:
        yield f"{path}:1: the first line is not {LICENCE!r}"
    if len(lines) > FILE_LINES:
        yield f"{path}:1: {len(lines)} lines, {FILE_LINES} allowed"
    tree = ast.parse(text, str(path))
    start = RIDDLE.match(ast.get_docstring(tree) or "")
    if start is not None:
        verb = "'Selects …', 'Emits …'"
        yield f"{path}:2: the docstring begins with {start[0]!r}, not with what it does: {verb}"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                place = f"{path}:{node.lineno}"
                yield f"{place}: {node.name} has {length} lines, {FUNCTION_LINES} allowed"


def main(names: list[str]) -> int:
    """Check the named files, or all of the project's; return 1 if one breaks a limit."""
    paths = [Path(name) for name in names]
    if not paths:
        paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    found = [message for path in paths for message in problems(path)]
    print("\n".join(found) if found else f"{len(paths)} files within the limits")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
