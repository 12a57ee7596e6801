# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every command and every Python line of the pages that say so does what the page shows."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest
from page_runner import blocks, run_console, run_python

pytest.importorskip("onnxruntime")

DOCS = Path(__file__).resolve().parents[2] / "docs"
MAIN = "from xyntra.tools.cli import main; main()"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: None) -> Path:
    """An empty folder to be in, with `xyntra` on the path."""
    programs, folder = tmp_path / "bin", tmp_path / "folder"
    programs.mkdir()
    folder.mkdir()
    (programs / "xyntra").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{MAIN}" "$@"\n')
    (programs / "xyntra").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("name", ["first-hour.md", "tutorial-levels.md"])
def test_the_page_does_what_it_says(name: str, shell: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    wrong: list[str] = []
    kinds = []
    for kind, text, line in blocks(DOCS / name):
        kinds.append(kind)
        if kind == "console":
            wrong += run_console(text, line)
        else:
            wrong += run_python(text, line, names, name)
    assert set(kinds) == {"console", "pycon"}
    assert not wrong, "\n".join(wrong)


def test_the_page_of_modules_does_what_it_says(shell: Path) -> None:
    dynamo = pytest.importorskip("torch._dynamo")
    if "xyntra" not in dynamo.list_backends():  # in a clone whose entry points are not installed
        dynamo.register_backend(
            importlib.import_module("xyntra.integrations.torch_compile").backend, "xyntra"
        )
    test_the_page_does_what_it_says("tutorial-torch.md", shell)


def test_what_differs_is_found(shell: Path) -> None:
    assert run_console("$ echo one\ntwo\n", 1)
    assert not run_console("$ echo one 1.25\none ...\n", 1)
    assert run_console("$ echo one; exit 3\n", 1)
    assert run_python(">>> 1 + 1\n3\n", 1, {})
    assert not run_python(">>> 1 + 1\n2\n", 1, {})
