# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every command and every Python line of docs/first-hour.md does what the page says."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")

PAGE = Path(__file__).resolve().parent.parent / "docs" / "first-hour.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MAIN = "from xyntra.tools.cli import main; main()"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT = 300


def blocks() -> Iterator[tuple[str, str, int]]:
    """Language, text and line of each block of the page."""
    text = PAGE.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield found[1], found[2], text[: found.start(2)].count("\n")


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console, with what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


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


def run_console(text: str, line: int) -> list[str]:
    """Run the commands of a block; returns what differs from the page."""
    checker, wrong = doctest.OutputChecker(), []
    for command, shown in commands(text):
        done = subprocess.run(
            ["sh", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if not checker.check_output(shown, done.stdout, FLAGS):
            wrong.append(f"line {line}: $ {command}\n{done.stdout}")
    return wrong


def run_python(text: str, line: int, names: dict[str, object]) -> list[str]:
    """Run the lines of a session; returns what differs from the page."""
    test = doctest.DocTestParser().get_doctest(text, {}, f"line {line}", str(PAGE), line)
    test.globs = names
    wrong: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=wrong.append, clear_globs=False)
    return wrong


def test_the_page_does_what_it_says(shell: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    wrong: list[str] = []
    kinds = []
    for kind, text, line in blocks():
        kinds.append(kind)
        if kind == "console":
            wrong += run_console(text, line)
        else:
            wrong += run_python(text, line, names)
    assert set(kinds) == {"console", "pycon"}
    assert not wrong, "\n".join(wrong)


def test_what_differs_is_found(shell: Path) -> None:
    assert run_console("$ echo one\ntwo\n", 1)
    assert not run_console("$ echo one 1.25\none ...\n", 1)
    assert run_console("$ echo one; exit 3\n", 1)
    assert run_python(">>> 1 + 1\n3\n", 1, {})
    assert not run_python(">>> 1 + 1\n2\n", 1, {})
