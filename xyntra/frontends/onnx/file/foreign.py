# SPDX-License-Identifier: MIT OR Apache-2.0
"""Guesses the format of a file that is not ONNX, for the error message."""

from __future__ import annotations

_EXPORT = "export the model: torch.onnx.export(model, (example_input,), 'model.onnx', dynamo=True)"
_KERAS = "export the Keras model: model.export('model.onnx', format='onnx')"
_TFLITE = "python -m tf2onnx.convert --tflite FILE --output model.onnx"
_MAGIC: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"version https://git-lfs", "a Git LFS pointer", "run 'git lfs pull' to fetch the file"),
    (0, b"\x1f\x8b", "a gzip archive", "unpack it first"),
    (0, b"\x80\x02", "a Python pickle", "export the model to ONNX; pickles are never loaded"),
    (0, b"\x80\x04", "a Python pickle", "export the model to ONNX; pickles are never loaded"),
    (0, b"\x89HDF\r\n", "an HDF5 file", _KERAS),
    (0, b"\x93NUMPY", "a numpy array", "pass it as an input, not as the model"),
    (0, b"GGUF", "a GGUF file, which holds weights but no graph", _EXPORT),
    (0, b"ML\xefR", "MLIR bytecode", "write it as text and name the file .mlir"),
    (4, b"ORTM", "an onnxruntime .ort file", "pass the .onnx file that it was made from"),
    (
        4,
        b"TFL3",
        "a TensorFlow Lite model",
        _TFLITE,
    ),
    (8, b'{"', "a safetensors file, which holds weights but no graph", _EXPORT),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<head")
_TEXT_BYTES = bytes({*range(0x20, 0x7F), 9, 10, 13})


def describe(data: memoryview) -> tuple[str, str] | None:
    """A phrase naming the format of `data` and what to do about it; None if not recognised."""
    head = bytes(data[:4096])
    if head.startswith(b"PK\x03\x04"):
        return _zip(data)
    for offset, magic, what, hint in _MAGIC:
        if head[offset:].startswith(magic):
            return what, hint
    if head.lstrip().lower().startswith(_MARKUP):
        return "a web page", "download the file itself, not the page that shows it"
    if head.translate(None, _TEXT_BYTES):
        return None
    if b"ir_version" in head:
        return "an ONNX model written as text", "save it in binary form with onnx.save"
    if any(word in head for word in (b"func.func", b"module {", b"module @", b"module attributes")):
        return "MLIR text", "name the file .mlir"
    return "text", "pass the path of an .onnx file"


def _zip(data: memoryview) -> tuple[str, str]:
    # The directory of a zip archive, which names its entries, is at its end.
    ends = bytes(data[:4096]) + bytes(data[-65536:])
    if b"constants.pkl" in ends or b"/code/" in ends:
        return "a TorchScript archive", _EXPORT
    if b"data.pkl" in ends:
        return "a PyTorch checkpoint, which holds weights but no graph", _EXPORT
    return "a zip archive", "unpack it first"
