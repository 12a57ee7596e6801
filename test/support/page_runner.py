# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the console and Python blocks of a Markdown page and compares what they print."""

from __future__ import annotations

import doctest
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT = 300


def blocks(page: Path) -> Iterator[tuple[str, str, int]]:
    """Language, text and line of each block of the page."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield found[1], found[2], text[: found.start(2)].count("\n")


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console, with what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


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


def run_python(text: str, line: int, names: dict[str, object], page: str = "page") -> list[str]:
    """Run the lines of a session; returns what differs from the page."""
    test = doctest.DocTestParser().get_doctest(text, {}, f"line {line}", page, line)
    test.globs = names
    wrong: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=wrong.append, clear_globs=False)
    return wrong
