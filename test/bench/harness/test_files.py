# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files are complete and verified, or left as they were."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bench.harness.files import atomic_path, sha256_of, verify, write_verified
from xyntra.errors import ModelError

DATA = b"model"
HASH = hashlib.sha256(DATA).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stop_half_way(path: Path) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"ne")
        temporary.with_suffix(".data").write_bytes(b"beside")
        raise RuntimeError("half way")


def test_a_written_file_is_the_only_one(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "sub" / "m.onnx") as temporary:
        assert temporary.name == "m.onnx"
        temporary.write_bytes(DATA)
        assert not (tmp_path / "sub" / "m.onnx").exists()
    assert names(tmp_path / "sub") == ["m.onnx"]
    assert (tmp_path / "sub" / "m.onnx").read_bytes() == DATA


def test_a_failure_keeps_the_old_file_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="half way"):
        stop_half_way(path)
    assert names(tmp_path) == ["m.onnx"]
    assert path.read_bytes() == b"old"


def test_writing_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "m.onnx"):
        pass
    assert names(tmp_path) == []


def test_the_right_bytes_are_accepted(tmp_path: Path) -> None:
    assert sha256_of(DATA) == HASH
    write_verified(tmp_path / "m.onnx", DATA, HASH, "here")
    assert (tmp_path / "m.onnx").read_bytes() == DATA


@pytest.mark.parametrize("changed", [b"", b"Model", b"model\n", b"mode"])
def test_a_changed_file_is_refused(changed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    with pytest.raises(ModelError) as refused:
        write_verified(path, changed, HASH, "pkg==1, m.onnx")
    assert refused.value.code == "model-hash-mismatch"
    assert refused.value.place == "pkg==1, m.onnx"
    assert HASH in (refused.value.cause or "")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["m.onnx"]


def test_a_hash_is_compared_as_a_whole() -> None:
    with pytest.raises(ModelError):
        verify(DATA, HASH[:10], "here")
