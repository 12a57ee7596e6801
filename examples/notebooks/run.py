# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs notebooks without Jupyter: `python examples/notebooks/run.py [--write] [NOTEBOOK…]`.

The cells of a notebook share one namespace, as in Jupyter, and what a cell prints and the value of
its last line are compared with what the file holds. `--write` puts them there instead.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import linecache
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def run_cell(source: str, name: str, names: dict[str, Any]) -> tuple[str, str | None]:
    """Run a cell; return what it prints, and its last line's value as text, if it has one.

    Args:
        source: of the cell.
        name: a file name, by which kernels find their source.
        names: the namespace.
    """
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), names)  # noqa: S102  (a notebook is a program)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)  # noqa: S307
    return printed.getvalue(), None if value is None else repr(value)


def outputs_of(printed: str, value: str | None, count: int) -> list[dict[str, Any]]:
    """Return what a cell gave in the notebook's format."""
    found: list[dict[str, Any]] = []
    if printed:
        text = printed.splitlines(keepends=True)
        found.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": value.splitlines(keepends=True)}
        found.append(
            {
                "data": data,
                "execution_count": count,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return found


def run_notebook(path: Path, *, write: bool = False) -> list[str]:
    """Run all cells of a notebook in order; return what differs from the file.

    Args:
        path: of the notebook.
        write: store what the cells give instead of comparing.
    """
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    wrong: list[str] = []
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(cells, 1):
        source = "".join(cell["source"])
        given = outputs_of(*run_cell(source, f"<cell {count} of {path.name}>", names), count)
        if given != cell["outputs"]:
            wrong.append(f"{path.name}, cell {count}:\n{source}\ngives {given}")
        cell["outputs"], cell["execution_count"] = given, count
    if write:
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")
        return []
    return wrong


def main() -> int:
    """Run the notebooks that are named, all of this folder if none is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(HERE.glob("*.ipynb")))
    parser.add_argument("--write", action="store_true", help="store what the cells give")
    options = parser.parse_args()
    wrong = [each for path in options.notebooks for each in run_notebook(path, write=options.write)]
    print("\n".join(wrong) or f"{len(options.notebooks)} notebooks: as their files say")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
