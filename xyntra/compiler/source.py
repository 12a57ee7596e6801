# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `compile` is given, opened: the model without its weights, and where those are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from xyntra.errors import InputError, ModelError, UnsupportedError
from xyntra.frontends.onnx.container import scan
from xyntra.frontends.weights import WeightRef, WeightSource

if TYPE_CHECKING:
    import numpy as np

_MLIR_BYTECODE = b"ML\xefR"
_MLIR_SUFFIXES = (".mlir", ".mlirbc")
_TORCH_SUFFIXES = (".pt", ".pth", ".pt2", ".torchscript")


@dataclass(frozen=True)
class Source:
    """A model to compile.

    Attributes:
        kind: "onnx" (`model` is a skeleton without weights) or "mlir".
        model: what the compiler reads.
        path: the file that the model came from.
        references: where each weight is.
        reader: reads them.
    """

    kind: Literal["onnx", "mlir"]
    model: bytes
    path: Path | None
    references: dict[str, WeightRef]
    reader: WeightSource | None

    def weights(self, names: Iterable[str]) -> dict[str, np.ndarray[Any, Any]]:
        """Read-only arrays of the weights called `names`, mapped where possible.

        Raises:
            ModelError: a weight is not there.
        """
        arrays = {}
        for name in names:
            if name not in self.references or self.reader is None:
                raise ModelError(
                    "weight-missing",
                    f"the weight '{name}' is not in the model's parameters",
                    place=str(self.path) if self.path else None,
                    hint="name the file that holds them in the attribute 'xyntra.parameters'",
                )
            arrays[name] = self.reader.load(self.references[name], aligned=False)
        return arrays


def open_source(model: Any) -> Source:
    """Open a model given as a path, as contents, or as a ModelProto.

    Raises:
        ModelError: the file is missing or is no model.
        UnsupportedError: it is a model in a format that is not read.
        InputError: `model` is something else.
    """
    if isinstance(model, str) and ("\n" in model or "{" in model):
        return _mlir(model.encode(), None)
    if isinstance(model, (str, os.PathLike)):
        return _open_path(Path(model))
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
        return _mlir(data, None) if _is_mlir(data) else open_onnx(data)
    raise InputError(
        "model-type",
        f"a model cannot be a {type(model).__name__}",
        hint="give a path, the bytes of a file, MLIR text, or an onnx.ModelProto",
    )


def _open_path(path: Path) -> Source:
    if path.suffix in _TORCH_SUFFIXES:
        raise UnsupportedError(
            "format-unsupported",
            "PyTorch files are not read yet",
            place=str(path),
            hint="export the model with torch.onnx.export",
        )
    if path.suffix == ".xyn":
        raise InputError(
            "model-compiled",
            "the model is compiled already",
            place=str(path),
            hint="xyntra.load(path)",
        )
    if path.suffix not in _MLIR_SUFFIXES:
        return open_onnx(path)
    try:
        return _mlir(path.read_bytes(), path)
    except OSError as error:
        raise ModelError(
            "model-missing", "the file cannot be read", place=str(path), cause=error.strerror
        ) from None


def open_onnx(model: Path | bytes) -> Source:
    """Open an ONNX model."""
    scanned = scan(model)
    return Source("onnx", scanned.skeleton, scanned.path, scanned.weights, scanned.source())


def _is_mlir(data: bytes) -> bool:
    if data.startswith(_MLIR_BYTECODE):
        return True
    head = data[:4096].lstrip()
    return head.startswith((b"module", b"func.func", b"#", b"//", b"builtin.module"))


def _mlir(text: bytes, path: Path | None) -> Source:
    return Source("mlir", text, path, {}, None)
