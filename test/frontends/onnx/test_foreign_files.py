# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files that are no models, of another kind, empty, missing or not files at all."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import pytest

from xyntra.errors import ModelError, UnsupportedError
from xyntra.frontends.onnx.file import container
from xyntra.frontends.onnx.file.container import scan
from xyntra.frontends.onnx.file.wire import WireReader, encode_bytes, encode_varint


def refused(source: bytes | str | Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        scan(source)
    assert caught.value.place
    return caught.value


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(f"model/{name}", b"content" * 1000)
    return file.getvalue()


FOREIGN = {
    "HTML": (b"<!DOCTYPE html>\n<html><body>Not found</body></html>", "web page"),
    "HTML after blanks": (b"\n\n  <html>", "web page"),
    "XML": (b"<?xml version='1.0'?><model/>", "web page"),
    "JSON": (json.dumps({"model": [1, 2, 3]}).encode(), "text"),
    "prose": (b"This is not a model at all.\n" * 50, "text"),
    "MLIR": (b"module {\n  func.func @main() {\n    return\n  }\n}\n", "MLIR text"),
    "ONNX as text": (b'<\n  ir_version: 10,\n  opset_import: ["" : 20]\n>\n', "written as text"),
    "LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "Git LFS"),
    "zip": (zipped("a.onnx"), "zip archive"),
    "TorchScript": (zipped("data.pkl", "code/__torch__.py", "constants.pkl"), "TorchScript"),
    "checkpoint": (zipped("data.pkl", "data/0"), "checkpoint"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(50), "gzip"),
    "pickle": (b"\x80\x02}q\x00." + bytes(20), "pickle"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(50), "HDF5"),
    "numpy": (b"\x93NUMPY\x01\x00" + bytes(50), "numpy"),
    "TFLite": (b"\x1c\x00\x00\x00TFL3" + bytes(50), "TensorFlow Lite"),
    "ORT": (b"\x1c\x00\x00\x00ORTM" + bytes(50), "onnxruntime"),
    "safetensors": (
        b"\x20\x00\x00\x00\x00\x00\x00\x00" + b'{"w": {"dtype": "F32"}}',
        "safetensors",
    ),
    "GGUF": (b"GGUF\x03\x00\x00\x00" + bytes(50), "GGUF"),
    "zeros": (bytes(1000), None),
    "ones": (b"\xff" * 1000, None),
    "one byte": (b"\x00", None),
    "a protobuf without graph": (b"\x08\x0a\x12\x03abc", None),
    "only an unknown field": (encode_varint(999 << 3) + b"\x01", None),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_other_kinds_of_files(case: str, tmp_path: Path) -> None:
    data, expected = FOREIGN[case]
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    for source in (data, path):
        error = refused(source)
        assert isinstance(error, ModelError)
        assert error.code == "model-not-onnx"
        assert error.hint
        assert (expected or "not an ONNX model") in error.message


def test_a_model_without_operator_sets() -> None:
    assert refused(b"\x08\x0a" + encode_bytes(7, b"")).code == "opset-missing"
    assert scan(b"\x08\x02" + encode_bytes(7, b"")).opsets == {}


@pytest.mark.parametrize("empty", [b"", bytearray(), memoryview(b"")])
def test_an_empty_model(empty: bytes) -> None:
    assert refused(empty).code == "model-empty"


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    error = refused(tmp_path / "m.onnx")
    assert (error.code, error.place) == ("model-empty", str(tmp_path / "m.onnx"))


@pytest.mark.parametrize("name", ["no.onnx", "no/model.onnx", "file/model.onnx"])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    error = refused(str(tmp_path / name))
    assert (error.code, error.place) == ("model-missing", str(tmp_path / name))


def test_a_missing_relative_file_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused("no.onnx").hint == f"looked in {tmp_path}"


def test_a_name_stands_for_the_path_in_messages() -> None:
    with pytest.raises(ModelError) as caught:
        scan(b"", name="encoder")
    assert caught.value.place == "encoder"


def test_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").symlink_to("gone.onnx")
    assert refused(tmp_path / "m.onnx").code == "model-missing"


def test_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").symlink_to("m.onnx")
    assert refused(tmp_path / "m.onnx").code == "model-unreadable"


def test_a_directory(tmp_path: Path) -> None:
    assert refused(tmp_path).code == "model-not-file"


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.onnx")
    assert refused(tmp_path / "m.onnx").code == "model-not-file"


def test_a_device() -> None:
    assert refused("/dev/zero").code == "model-not-file"


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000])
def test_an_impossible_path(path: str) -> None:
    assert refused(path).code == "model-unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.touch()
    path.chmod(0)
    assert refused(path).code == "model-unreadable"


MODEL = b"\x08\x0a" + encode_bytes(7, encode_bytes(2, b"graph")) + encode_bytes(8, b"\x10\x14")


def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(MODEL)
    read_outline = container._read_outline

    def write_meanwhile(reader: WireReader) -> object:
        with path.open("ab") as file:
            file.write(b"more")
        return read_outline(reader)

    monkeypatch.setattr(container, "_read_outline", write_meanwhile)
    assert refused(path).code == "model-changed"


def test_a_model_that_is_large_without_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_MAX_SKELETON", len(MODEL))
    assert scan(MODEL).skeleton == MODEL
    with pytest.raises(UnsupportedError) as caught:
        scan(MODEL + b"\x10\x00")
    assert caught.value.code == "model-too-large"
