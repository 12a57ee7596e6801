# SPDX-License-Identifier: MIT OR Apache-2.0
"""The JavaScript of pages is what its sources build to, small, and passes its own tests."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from xyntra.observe.colours import KIND_COLOURS
from xyntra.targets.webgpu import web

MOST_BYTES = 60_000
SCRIPTS = ("check.js", "offline.js", "page.js", "panels.js", "xyntra.js")


def built(name: str) -> bytes:
    return files(web).joinpath(name).read_bytes()


def sources_digest(folder: Path) -> str:
    """Return what `web/build.mjs` writes into what it builds."""
    digest = hashlib.sha256()
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.ts")}
    for name in sorted(paths):
        digest.update(name.encode() + b"\0" + paths[name].read_bytes() + b"\0")
    return digest.hexdigest()


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_built_from_these_sources(name: str, root: Path) -> None:
    found = re.search(rb"sources ([0-9a-f]{64})", built(name))
    assert found is not None
    assert found[1].decode() == sources_digest(root / "web" / "src"), "run: npm run build, in web/"


def test_the_runtime_is_small() -> None:
    assert len(built("xyntra.js")) <= MOST_BYTES


def test_building_again_gives_the_same(root: Path, tmp_path: Path) -> None:
    if shutil.which("node") is None or not (root / "web" / "node_modules").is_dir():
        pytest.skip("needs node, and npm install in web/")
    command = ["node", "build.mjs", str(tmp_path)]
    subprocess.run(command, cwd=root / "web", check=True, capture_output=True)
    for name in (*SCRIPTS, "index.html", "style.css"):
        assert (tmp_path / name).read_bytes() == built(name), name


def test_the_packages_own_tests(root: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    tests = sorted(str(path) for path in (root / "web" / "test").glob("*.test.mjs"))
    assert tests
    done = subprocess.run([node, "--test", *tests], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


def test_every_kind_of_kernel_has_its_colour() -> None:
    style = built("style.css").decode()
    for kind, (_, line, _) in KIND_COLOURS.items():
        assert f".kind-{kind} {{ background: {line}" in style
