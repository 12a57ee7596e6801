# SPDX-License-Identifier: MIT OR Apache-2.0
"""Python objects that are no models here, but are taken for ones: what they are, and what to do.

Nothing is imported to recognise them: what an object is, its classes' names and modules tell.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from xyntra.errors import InputError, UnsupportedError, XyntraError

__all__ = ["TORCH_SUFFIXES", "is_torch_model", "refused"]

TORCH_SUFFIXES = (".pt", ".pth", ".ts", ".jit", ".ptl", ".torchscript", ".pt2")
"""Of files that PyTorch writes; those of exported programs end in .pt2."""

_COMPILE = 'exe = xyntra.compile("model.onnx")'
_EXPORT = f'torch.onnx.export(model, (example_input,), "model.onnx", dynamo=True)\n{_COMPILE}'
_GENERAL = "give a path, the bytes of a file, MLIR text, or an onnx.ModelProto"

_NOT_IMPORTED = (
    # A class as module and name, what it is called, and what to do; the first that fits counts.
    ("torch.nn", "Module", "PyTorch modules are", _EXPORT),
    (
        "torch.export",
        "ExportedProgram",
        "PyTorch's exported programs are",
        f'torch.onnx.export(program, f="model.onnx", dynamo=True)\n{_COMPILE}',
    ),
    (
        "keras",
        "Model",
        "Keras models are",
        f'model.export("model.onnx", format="onnx")\n{_COMPILE}',
    ),
    (
        "tensorflow",
        "Module",
        "TensorFlow modules are",
        'tf.saved_model.save(module, "folder")\n'
        "python -m tf2onnx.convert --saved-model folder --output model.onnx",
    ),
    (
        "sklearn",
        "BaseEstimator",
        "scikit-learn's estimators are",
        "skl2onnx.to_onnx(estimator, example_input)",
    ),
    (
        "flax",
        "Module",
        "Flax modules are",
        "export the function with jax2onnx, and compile the ONNX file",
    ),
)


def refused(model: Any) -> XyntraError:
    """The error for what `compile` cannot take: what it is, and what to give instead."""
    kind = f"a {type(model).__module__}.{type(model).__qualname__}".replace("a builtins.", "a ")
    for module, name, what, hint in _NOT_IMPORTED:
        if _is(model, module, name):
            return UnsupportedError(
                "format-unsupported",
                f"{what} not imported directly yet",
                cause=f"the model is {kind}",
                hint=hint,
            )
    known, advice = _known(model)
    return InputError("model-type", f"a model cannot be {known or kind}", hint=advice or _GENERAL)


def is_torch_model(model: Any) -> bool:
    """Tell whether a model is a PyTorch module, an exported program, or the path of a saved one."""
    if isinstance(model, (str, os.PathLike)):
        return _is_torch_file(os.fspath(model))
    if isinstance(model, type):
        return False
    return _is(model, "torch.nn", "Module") or _is(model, "torch.export", "ExportedProgram")


def _is_torch_file(path: str) -> bool:
    """Tell whether a file is an archive or a pickle, and has a suffix of PyTorch's."""
    if os.path.splitext(path)[1].lower() not in TORCH_SUFFIXES or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(4)[:2] in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04")
    except OSError:
        return False


def _is(model: Any, module: str, name: str) -> bool:
    """Tell whether a class of `model` has this name, in this module or below it."""
    return any(
        each.__name__ == name and f"{each.__module__}.".startswith(f"{module}.")
        for each in type(model).__mro__
    )


def _known(model: Any) -> tuple[str | None, str | None]:
    """Return what a value is that is no framework's model, and what to do with it."""
    if model is None:
        return "None", None
    if _is(model, "xyntra.executable", "Executable"):
        return "an executable: it is compiled already", "call it: exe(x)"
    if _is(model, "onnxruntime", "InferenceSession"):
        path = getattr(model, "_model_path", None)
        return (
            "a session of onnxruntime, which does not give its graph away",
            f"compile what it was made from: xyntra.compile({path or 'model.onnx'!r})",
        )
    if hasattr(model, "SerializeToString"):
        return (
            f"a {type(model).__name__}",
            "onnx.helper.make_model(graph) makes a ModelProto of a GraphProto",
        )
    if isinstance(model, type):
        return f"the class {model.__name__}", f"make one of it: {model.__name__}(…)"
    if _is_array(model):
        return "an array: it is data for a model", 'exe = xyntra.compile("model.onnx"); exe(array)'
    if isinstance(model, Mapping):
        return (
            f"a {type(model).__name__}: weights alone have no graph",
            "load them into their model, and export that with torch.onnx.export",
        )
    if hasattr(model, "read"):
        return "an open file", "xyntra.compile(file.read()), or the path of the file"
    if callable(model):
        return (
            f"a function ('{getattr(model, '__name__', type(model).__name__)}')",
            "put it into a torch.nn.Module, whose forward calls it, and export that:\n" + _EXPORT,
        )
    return None, None


def _is_array(model: Any) -> bool:
    return hasattr(model, "__dlpack__") or hasattr(model, "__array_interface__")
