# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files and folders that are no models here, but are taken for ones: what they are, what to do."""

from __future__ import annotations

import os
from pathlib import Path

from xyntra.errors import ModelError, UnsupportedError, XyntraError

__all__ = ["explained"]

_COMPILE = 'xyntra.compile("model.onnx")'
_TORCH = "torch.onnx.export(model, (example_input,), 'model.onnx', dynamo=True)"
_TF = "python -m tf2onnx.convert"
_WEIGHTS = (
    "they hold weights and no graph; export the model that they belong to:\n"
    f"{_TORCH}, or\n"
    "optimum-cli export onnx --model FOLDER OUTPUT"
)

# What files of a suffix are, and what to do with the file {}.
_SUFFIXES: dict[tuple[str, ...], tuple[str, str]] = {
    (".pt", ".pt2", ".pth", ".torchscript", ".ckpt"): (
        "PyTorch's files of this kind are",
        "load the model into Python, if you trust it, and give xyntra.compile the module",
    ),
    (".safetensors",): ("files of safetensors are", _WEIGHTS),
    (".gguf", ".ggml"): ("GGUF files are", _WEIGHTS),
    (".npz", ".npy"): ("numpy's files are", "give them as inputs: exe(numpy.load('{}'))"),
    (".tflite",): ("TensorFlow Lite models are", f"{_TF} --tflite {{}} --output model.onnx"),
    (".pb", ".pbtxt", ".meta"): (
        "TensorFlow graphs are",
        f"{_TF} --graphdef {{}} --inputs x:0 --outputs y:0 --output model.onnx, or\n"
        f"{_TF} --saved-model FOLDER --output model.onnx",
    ),
    (".h5", ".hdf5", ".keras"): (
        "Keras files are",
        "keras.models.load_model('{}').export('model.onnx', format='onnx')",
    ),
    (".ort",): ("onnxruntime's own files are", "give the .onnx file that it was made from"),
    (".engine", ".plan", ".trt"): (
        "TensorRT engines are",
        "they hold code and no graph: give the ONNX file that it was built from",
    ),
    (".mlmodel", ".mlpackage"): (
        "Core ML models are",
        "export the model that it was converted from to ONNX",
    ),
    (".xml", ".bin"): (
        "OpenVINO's files and plain weights are",
        "export the model that it was converted from to ONNX",
    ),
    (".pkl", ".pickle", ".joblib"): (
        "pickles are never loaded, and",
        "load it in Python, if you trust it, and export the model to ONNX",
    ),
    (".zip", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".zst", ".7z"): (
        "archives are",
        "unpack it, and give the .onnx file inside",
    ),
    (".py", ".ipynb"): (
        "programs are",
        f"run it, and export its model: {_TORCH}",
    ),
}
_KNOWN = {suffix: entry for suffixes, entry in _SUFFIXES.items() for suffix in suffixes}
_NO_MODEL = frozenset(
    {"model-not-onnx", "model-truncated", "model-malformed", "model-too-large", "opset-missing"}
)
_SHOWN = 3


def explained(error: XyntraError, path: Path) -> XyntraError:
    """The error for a file that could not be read as ONNX, with what the file probably is.

    Args:
        error: what reading it as ONNX has raised.
        path: the file or folder.
    """
    if error.code == "model-not-file" and path.is_dir():
        return _folder(path)
    known = _KNOWN.get(path.suffix.lower())
    if error.code == "model-empty":
        hint = "download or export the file again: a transfer that failed leaves such a file"
        return ModelError(error.code, "the file is empty", place=error.place, hint=hint)
    if known is None or error.code not in _NO_MODEL:
        return error
    what, hint = known
    # A web page or a pointer of Git LFS is one under any name.
    if "Git LFS" in error.message or "web page" in error.message:
        return error
    return UnsupportedError(
        "format-unsupported",
        f"{what} not read yet",
        place=str(path),
        cause=error.message if " but " in error.message else f"its name ends in {path.suffix}",
        hint=hint.replace("{}", path.name) + (f"\n{_COMPILE}" if "model.onnx" in hint else ""),
    )


def _folder(path: Path) -> ModelError:
    try:
        names = sorted(os.listdir(path))
    except OSError:
        names = []
    models = [name for name in names if name.endswith((".onnx", ".mlir", ".linalg", ".xyn"))]
    hint = "pass the .onnx file inside"
    cause = "it is a folder"
    if models:
        shown = ", ".join(repr(str(path / name)) for name in models[:_SHOWN])
        more = f" and {len(models) - _SHOWN} more" if len(models) > _SHOWN else ""
        hint = f"it holds {shown}{more}: pass the file"
    elif "saved_model.pb" in names:
        cause = "it is a folder with a SavedModel of TensorFlow"
        hint = f"{_TF} --saved-model {path} --output model.onnx"
    elif "config.json" in names:
        cause = "it is a folder with a model of Hugging Face"
        hint = f"optimum-cli export onnx --model {path} OUTPUT"
    elif path.suffix == ".mlpackage":
        cause = "it is a Core ML package"
        hint = "export the model that it was converted from to ONNX"
    return ModelError(
        "model-not-file", "a model must be a regular file", place=str(path), cause=cause, hint=hint
    )
