# SPDX-License-Identifier: MIT OR Apache-2.0
"""Modules that are loaded with the first kernel of their kind are known by name."""

from __future__ import annotations

import ast
from pathlib import Path

from new_process import printed_by

from xyntra.passes.lower import cpu


def _imported_in_functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {
        str(node.module)
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("xyntra.passes.")
    }


def test_emitters_are_those_that_passes_load_in_functions() -> None:
    folder = Path(cpu.__file__).parent
    found = set().union(*map(_imported_in_functions, sorted(folder.rglob("*.py"))))
    assert found == set(cpu.EMITTERS)


def test_emitters_are_not_loaded_with_the_lowering() -> None:
    script = (
        "import sys; from importlib import import_module; from xyntra.passes.lower import cpu;"
        "print(*(name for name in cpu.EMITTERS if name in sys.modules));"
        "print(*(name for name in cpu.EMITTERS if not import_module(name)))"
    )
    found = printed_by(script)
    assert found.split() == []
