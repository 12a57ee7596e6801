# SPDX-License-Identifier: MIT OR Apache-2.0
"""Opens what `compile` is given: the model without its weights, and where those are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from xyntra.compiler.inputs.foreign_files import explained
from xyntra.compiler.inputs.foreign_objects import refused
from xyntra.errors import InputError, ModelError, XyntraError
from xyntra.frontends.onnx.file.container import scan
from xyntra.frontends.weights import WeightRef, WeightSource
from xyntra.plan.storage.container import MAGIC
from xyntra.plan.storage.files import open_regular

if TYPE_CHECKING:
    import numpy as np

_MLIR_BYTECODE = b"ML\xefR"
_MLIR_SUFFIXES = (".mlir", ".mlirbc", ".linalg")
_MLIR_START = re.compile(
    rb"""(\s|//[^\n]*\n)*(module\b|func\.func\b|builtin\.module\b|"builtin\.module"|"func\.func"|"""
    rb"""[\#!][A-Za-z_][\w.$-]*\s*=|//)"""
)
"""How MLIR text begins: with a module or a function, behind comments and aliases."""
_TARGET = re.compile(rb'\bxyntra\.target = "([a-z0-9_:]{1,64})"')
_HEAD = 1 << 16
"""Bytes of a file that are looked at to tell what it is."""


@dataclass(frozen=True)
class ModelSource:
    """A model to compile.

    Attributes:
        kind: "onnx" (`model` is a skeleton without weights), "mlir", or "torch", "kernel" and
            "array" (all three an `AtenProgram`).
        model: what the compiler reads.
        path: the file that the model came from.
        references: where each weight is.
        reader: reads them.
        trusted: whether the author of MLIR text may run code here.
        arrays: weights that lie in memory.
    """

    kind: Literal["onnx", "mlir", "torch", "kernel", "array"]
    model: bytes
    path: Path | None
    references: dict[str, WeightRef]
    reader: WeightSource | None
    trusted: bool = False
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The target that MLIR text says it was made for; "" for none."""
        found = _TARGET.search(self.model) if self.kind == "mlir" else None
        return found[1].decode() if found else ""

    def weights(self, names: Iterable[str]) -> dict[str, np.ndarray[Any, Any]]:
        """Read-only arrays of the weights called `names`, mapped where possible.

        Raises:
            ModelError: a weight is not there.
        """
        arrays = {}
        for name in names:
            if name in self.arrays:
                arrays[name] = self.arrays[name]
                continue
            if name not in self.references or self.reader is None:
                raise ModelError(
                    "weight-missing",
                    f"the weight '{name}' is not in the model's parameters",
                    place=str(self.path) if self.path else None,
                    hint="name the file that holds them in the attribute 'xyntra.parameters'",
                )
            arrays[name] = self.reader.load(self.references[name], aligned=False)
        return arrays


def open_source(model: Any) -> ModelSource:
    """Open a model given as a path, as contents, or as a ModelProto.

    Raises:
        ModelError: the file is missing or is no model.
        UnsupportedError: it is a model in a format that is not read, or of a framework.
        InputError: `model` is something else.
    """
    if isinstance(model, str) and ("\n" in model or "{" in model):
        return _mlir(model.encode(), None)
    if isinstance(model, (str, os.PathLike)):
        return _open_path(Path(model))
    if type(model).__name__ == "ModelProto" and hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        return open_contents(bytes(model))
    raise refused(model)


def open_contents(data: bytes, label: str | None = None) -> ModelSource:
    """Open a model given as the contents of a file.

    Args:
        data: ONNX, MLIR bytecode, or MLIR text.
        label: what messages call it.

    Raises:
        ModelError, UnsupportedError, InputError: as `open_source`.
    """
    if data.startswith(MAGIC):
        raise _compiled(label)
    return _mlir(data, None) if _is_mlir(data) else open_onnx(data, label)


def _open_path(path: Path) -> ModelSource:
    head = _head(path)
    if path.suffix == ".xyn" or head.startswith(MAGIC):
        raise _compiled(str(path))
    if path.suffix not in _MLIR_SUFFIXES and not _is_mlir(head):
        try:
            return open_onnx(path)
        except XyntraError as error:
            raise explained(error, path) from None
    try:
        with open_regular(path) as file:
            return _mlir(file.read(), path)
    except OSError as error:
        raise ModelError(
            "model-missing", "the file cannot be read", place=str(path), cause=error.strerror
        ) from None


def _head(path: Path) -> bytes:
    """The first bytes of a regular file; none of what is not one or cannot be read."""
    try:
        if not path.is_file():
            return b""
        with open_regular(path) as file:
            return file.read(_HEAD)
    except (OSError, ValueError):
        return b""


def _compiled(place: str | None) -> InputError:
    return InputError(
        "model-compiled",
        "the model is compiled already",
        place=place,
        hint="xyntra.load(path)",
    )


def open_onnx(model: Path | bytes, label: str | None = None) -> ModelSource:
    """Open an ONNX model; messages call it `label`, or by its path."""
    scanned = scan(model, name=label)
    return ModelSource("onnx", scanned.skeleton, scanned.path, scanned.weights, scanned.source())


def _is_mlir(data: bytes) -> bool:
    return data.startswith(_MLIR_BYTECODE) or _MLIR_START.match(data[:_HEAD]) is not None


def _mlir(text: bytes, path: Path | None) -> ModelSource:
    return ModelSource("mlir", text, path, {}, None)
