# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every cell of the notebooks gives what the file says, from an empty namespace."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "notebooks"


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebook_runner", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("name", ["kernel", "model", "training"])
def test_cells_give_what_the_file_says(runner: ModuleType, name: str, in_process: None) -> None:
    assert runner.run_notebook(FOLDER / f"{name}.ipynb") == []


def test_what_differs_is_found(runner: ModuleType, tmp_path: Path) -> None:
    notebook = tmp_path / "one.ipynb"
    cells = [{"cell_type": "code", "source": ["print(1)\n", "2 + 2"], "outputs": []}]
    notebook.write_text(json.dumps({"cells": cells}))
    assert "'text': ['1\\n']" in runner.run_notebook(notebook)[0]
    assert runner.run_notebook(notebook, write=True) == []
    assert runner.run_notebook(notebook) == []
    with pytest.raises(ZeroDivisionError):
        runner.run_cell("1 / 0", "<cell>", {})
