# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that a build holds every file of the four folders, and installs as one package."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDERS = {
    "xyntra": "xyntra",
    "dialects": "xyntra/dialects",
    "passes": "xyntra/passes",
    "tools": "xyntra/tools",
}
PROJECT_FILES = (
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "MANIFEST.in",
    "README.md",
    "pyproject.toml",
    "setup.py",
)
JUNK = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "*.egg-info")


def copy_project(root: Path, target: Path) -> Path:
    """Copy what a build reads, because setuptools writes beside its sources."""
    target.mkdir()
    for name in PROJECT_FILES:
        shutil.copy(root / name, target)
    for folder in FOLDERS:
        shutil.copytree(root / folder, target / folder, symlinks=True, ignore=JUNK)
    return target


def build(project: Path, kind: str) -> Path:
    """Build a "wheel" or an "sdist" with setuptools alone, without any index."""
    script = f"from setuptools import build_meta; print(build_meta.build_{kind}('out'))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return project / "out" / done.stdout.splitlines()[-1]


def installed_names(project: Path) -> Iterator[str]:
    for folder, package in FOLDERS.items():
        for path in (project / folder).rglob("*"):
            if path.is_file():
                yield f"{package}/{path.relative_to(project / folder).as_posix()}"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = Path(__file__).resolve().parents[2]
    return copy_project(root, tmp_path_factory.mktemp("packaging") / "project")


@pytest.fixture(scope="module")
def wheel(project: Path) -> Path:
    return build(project, "wheel")


def test_the_wheel_holds_the_tree_and_nothing_else(project: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == set(installed_names(project))


def test_the_wheel_holds_both_licences(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name.rsplit("/", 1)[-1] for name in archive.namelist() if ".dist-info/" in name]
    assert {"LICENSE-MIT", "LICENSE-APACHE", "METADATA", "entry_points.txt"} <= set(names)


def test_the_wheel_imports_from_anywhere(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = (
        "import xyntra, xyntra.dialects, xyntra.errors, xyntra.passes, xyntra.tools\n"
        "print(xyntra.tools.__file__)"
    )
    done = subprocess.run(
        # -S keeps an editable installation's import hook out.
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{script}",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert Path(done.stdout.strip()) == tmp_path / "xyntra" / "tools" / "__init__.py"


def test_a_checkout_is_whole_beside_an_installation(
    project: Path, wheel: Path, tmp_path: Path
) -> None:
    """`python -m bench.…` finds the folder `xyntra` of the checkout first, and all below it."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = "import xyntra.dialects, xyntra.passes, xyntra.tools as t; print(t.__file__)"
    start = f"import sys; sys.path[1:1] = [{str(tmp_path)!r}]\n"
    done = subprocess.run(
        [sys.executable, "-S", "-c", start + script],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert Path(done.stdout.strip()).resolve() == project / "tools" / "__init__.py"


def test_links_are_no_packages_twice(project: Path) -> None:
    links = {path.name for path in (project / "xyntra").iterdir() if path.is_symlink()}
    assert links == {"dialects", "passes", "tools"}
    text = (project / "setup.py").read_text(encoding="utf-8").partition("\nsetup(")[0]
    done = subprocess.run(
        [sys.executable, "-c", f"{text}\nprint(*packages(), sep=chr(10))"],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    found = done.stdout.split()
    assert len(found) == len(set(found))


def test_the_sdist_builds_the_same_wheel(project: Path, wheel: Path, tmp_path: Path) -> None:
    unpack = [sys.executable, "-m", "tarfile", "-e", str(build(project, "sdist")), str(tmp_path)]
    subprocess.run(unpack, check=True)
    (unpacked,) = tmp_path.iterdir()
    again = build(unpacked, "wheel")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())


def test_new_folders_and_data_are_found(root: Path, tmp_path: Path) -> None:
    project = copy_project(root, tmp_path / "project")
    deep = project / "passes" / "brand_new" / "deeper"
    deep.mkdir(parents=True)
    for path in (deep.parent / "__init__.py", deep / "__init__.py", deep / "table.json"):
        path.write_text("", encoding="utf-8")
    with zipfile.ZipFile(build(project, "wheel")) as archive:
        names = archive.namelist()
    assert "xyntra/passes/brand_new/deeper/__init__.py" in names
    assert "xyntra/passes/brand_new/deeper/table.json" in names


def test_a_folder_without_init_fails_the_build(root: Path, tmp_path: Path) -> None:
    project = copy_project(root, tmp_path / "project")
    (project / "tools" / "lost").mkdir()
    (project / "tools" / "lost" / "module.py").write_text("", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"tools/lost has Python files but no __init__\.py"):
        build(project, "wheel")


def test_torch_is_pinned_wherever_it_is_named(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    named = [line for lines in extras.values() for line in lines if re.match(r"torch\b", line)]
    assert named
    assert set(named) == {"torch==2.13.0"}
    assert not any(line.startswith("torch=") for line in project["dependencies"])


def test_console_scripts_are_declared(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {
        "xyntra": "xyntra.tools.cli:main",
        "xyntra-opt": "xyntra.tools.opt:main",
    }
