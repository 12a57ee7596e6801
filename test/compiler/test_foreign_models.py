# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whatever is taken for a model is named, and the message says what to do with it."""

from __future__ import annotations

import io
import sys
import types
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import chain

import xyntra
from xyntra.errors import InputError, ModelError, UnsupportedError, XyntraError
from xyntra.tools import cli

Settings = dict[str, object]
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)


def zipped(name: str) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr(name, b"x" * 100)
    return memory.getvalue()


def class_of(name: str, module: str, **fields: Any) -> type:
    """A class that looks like one of a library that need not be installed."""
    made = types.new_class(name)
    made.__module__ = module
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def refused(model: Any, settings: Settings | None = None) -> XyntraError:
    with pytest.raises(XyntraError) as caught:
        xyntra.compile(model, config=settings)
    return caught.value


FILES: dict[str, tuple[bytes, str, str]] = {
    "m.ckpt": (b"\x80\x02}q\x00.", "PyTorch", "xyntra.compile"),
    "m.pt": (b"RIFF", "PyTorch", "xyntra.compile"),
    "m.safetensors": (bytes([32, *bytes(7)]) + b'{"w": {}}', "safetensors", "optimum-cli"),
    "m.gguf": (b"GGUF\x03\x00\x00\x00", "GGUF", "optimum-cli"),
    "m.tflite": (b"\x1c\x00\x00\x00TFL3", "TensorFlow Lite", "--tflite m.tflite"),
    "m.pb": (b"\x0a\x05\x0a\x03abc", "TensorFlow graphs", "--graphdef m.pb"),
    "m.h5": (b"\x89HDF\r\n\x1a\n", "Keras", "load_model('m.h5')"),
    "m.keras": (zipped("config.json"), "Keras", "load_model('m.keras')"),
    "m.npy": (b"\x93NUMPY\x01\x00", "numpy", "numpy.load('m.npy')"),
    "m.ort": (b"\x1c\x00\x00\x00ORTM", "onnxruntime", ".onnx file"),
    "m.engine": (b"ptrt\x00", "TensorRT", "ONNX file"),
    "m.mlmodel": (b"\x08\x04\x12", "Core ML", "ONNX"),
    "m.pkl": (b"\x80\x04.", "pickles are never loaded", "ONNX"),
    "m.zip": (zipped("a.onnx"), "archives", "unpack"),
    "m.py": (b"import torch\n", "programs", "torch.onnx.export"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_formats(name: str, tmp_path: Path) -> None:
    data, what, hint = FILES[name]
    (tmp_path / name).write_bytes(data)
    error = refused(tmp_path / name)
    assert isinstance(error, UnsupportedError)
    assert (error.code, error.place) == ("format-unsupported", str(tmp_path / name))
    assert what in error.message
    assert hint in str(error.hint)


@pytest.mark.parametrize("name", ["m.pt", "m.gguf", "m.pb"])
def test_missing_empty_and_downloaded_wrongly(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    assert refused(path).code == "model-missing"
    path.write_bytes(b"")
    error = refused(path)
    assert (error.code, error.message) == ("model-empty", "the file is empty")
    assert "download" in str(error.hint)
    path.write_bytes(LFS)
    assert "git lfs pull" in str(refused(path).hint)
    path.write_bytes(b"<!DOCTYPE html><html></html>")
    assert "web page" in refused(path).message


def test_an_onnx_model_is_one_under_any_name(tmp_path: Path, settings: Settings) -> None:
    for name in ("m.pb", "m.bin", "model", "m.linalg.bak"):
        onnx.save(chain(), tmp_path / name)
        np.testing.assert_array_equal(
            xyntra.compile(tmp_path / name, config=settings)(X, X), np.maximum(X + X, 0) * 2
        )


@pytest.mark.parametrize("head", ["", "// a comment\n\n", "#map = affine_map<(d0) -> (d0)>\n"])
@pytest.mark.parametrize("name", ["m.linalg", "m.txt", "m.onnx", "noname"])
def test_mlir_is_known_by_its_text(
    name: str, head: str, tmp_path: Path, settings: Settings
) -> None:
    text = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n  return %x : tensor<3xf32>\n}\n"
    (tmp_path / name).write_text(head + text)
    np.testing.assert_array_equal(xyntra.compile(tmp_path / name, config=settings)(X[0]), X[0])


def test_a_saved_model_is_known_by_its_bytes(tmp_path: Path, settings: Settings) -> None:
    xyntra.compile(chain(), config=settings).save(tmp_path / "own.bin")
    for model in (tmp_path / "own.bin", (tmp_path / "own.bin").read_bytes()):
        error = refused(model)
        assert (error.code, error.hint) == ("model-compiled", "xyntra.load(path)")


FOLDERS = {
    "with models": (["a.onnx", "b.onnx", "c.onnx", "d.onnx", "e.mlir"], "a.onnx'"),
    "of TensorFlow": (["saved_model.pb", "variables"], "--saved-model"),
    "of Hugging Face": (["config.json", "model.safetensors"], "optimum-cli export onnx --model"),
    "without anything": ([], "inside"),
}


@pytest.mark.parametrize(("names", "says"), FOLDERS.values(), ids=FOLDERS)
def test_folders(names: list[str], says: str, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).touch()
    error = refused(tmp_path)
    assert isinstance(error, ModelError)
    assert error.code == "model-not-file"
    assert says in str(error.hint)


OBJECTS: dict[str, tuple[Any, str, str]] = {
    "None": (None, "None", "path"),
    "a function": (lambda x: x, "a function", "torch.onnx.export"),
    "a builtin": (len, "'len'", "torch.onnx.export"),
    "an array": (X, "an array", "exe(array)"),
    "a scalar": (np.float32(1), "an array", "exe(array)"),
    "weights": ({"w": X}, "weights alone", "torch.onnx.export"),
    "a file": (io.BytesIO(b"x"), "an open file", "file.read()"),
    "a graph": (onnx.GraphProto(), "a GraphProto", "make_model"),
    "a list": ([X], "list", "path"),
    "a class": (Path, "the class Path", "Path("),
    "a module of Python's": (sys, "module", "path"),
}


@pytest.mark.parametrize(("model", "what", "hint"), OBJECTS.values(), ids=OBJECTS)
def test_objects_that_are_no_models(model: Any, what: str, hint: str) -> None:
    error = refused(model)
    assert isinstance(error, InputError)
    assert error.code == "model-type"
    assert what in error.message
    assert hint in str(error.hint)


FRAMEWORKS = {
    "keras": (class_of("Model", "keras.src.models.model"), "Keras models", "model.export("),
    "tensorflow": (class_of("Module", "tensorflow.python.module.module"), "TensorFlow", "tf2onnx"),
    "sklearn": (class_of("BaseEstimator", "sklearn.base"), "scikit-learn", "skl2onnx"),
    "flax": (class_of("Module", "flax.linen.module"), "Flax", "jax2onnx"),
}


@pytest.mark.parametrize(("kind", "what", "hint"), FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_models_of_frameworks(kind: type, what: str, hint: str) -> None:
    error = refused(types.new_class("Own", (kind,))())
    assert isinstance(error, UnsupportedError)
    assert error.code == "format-unsupported"
    assert what in error.message
    assert hint in str(error.hint)


def test_a_session_names_its_file(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    onnx.save(chain(), tmp_path / "m.onnx")
    session = runtime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    error = refused(session)
    assert "session of onnxruntime" in error.message
    assert str(tmp_path / "m.onnx") in str(error.hint)


def test_an_executable_is_compiled_already(settings: Settings) -> None:
    error = refused(xyntra.compile(chain(), config=settings))
    assert "compiled already" in error.message


def test_the_command_line_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.pt2").write_bytes(zipped("m/serialized.json"))
    assert cli.run(["run", str(tmp_path / "m.pt2")]) == 1
    hint = "torch.export.save(" if find_spec("torch") else "pip install 'xyntra[torch]'"
    assert hint in capsys.readouterr().err
