# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the programs of the release workflow: notes cut from the changelog, README's example."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

CHANGES = """# Changelog

## [Unreleased]

### Added

- Not yet.

## [0.2.0] - 2027-01-02

### Changed

- Twice as fast.

## [0.1.0] - 2026-12-01

- The first.

[0.1.0]: https://example.org
"""


@pytest.fixture
def release_notes(root: Path) -> ModuleType:
    """Return `.ci/release_notes.py`, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("release_notes", root / ".ci/release_notes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_notes_are_those_of_one_version(release_notes: ModuleType) -> None:
    assert release_notes.notes(CHANGES, "0.2.0") == "### Changed\n\n- Twice as fast.\n"
    assert release_notes.notes(CHANGES, "0.1.0") == "- The first.\n"
    assert "Not yet" in release_notes.notes(CHANGES, "Unreleased")
    with pytest.raises(ValueError, match=r"no section \[0\.3\.0\]"):
        release_notes.notes(CHANGES, "0.3.0")


def test_a_version_without_notes_stops_the_release(
    release_notes: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release_notes.main(["99.0.0"]) == 1
    assert "99.0.0" in capsys.readouterr().err


def test_the_example_of_the_readme_runs(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, root / ".ci/check_wheel.py", root / "README.md", tmp_path]
    environment = {**os.environ, "XYNTRA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "README's example works" in done.stdout
