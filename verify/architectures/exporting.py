# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exports architectures to ONNX, and keeps the files in the user's cache folder.

An entry holds `model.onnx`, `inputs.npz`, `outputs.npz` (what torch computes) and `entry.json`,
whose `error` says why an exporter failed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import shutil
import tempfile
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from verify.architectures.building import Built, build
from verify.architectures.libraries import LIBRARIES
from verify.architectures.registry import Architecture

__all__ = ["EXPORTERS", "Entry", "cache_folder", "entry", "export_all"]

EXPORTERS = ("dynamo", "torchscript")
_OPSET = 20
_HERE = Path(__file__).resolve().parent
_SOURCES = ("building.py", "weights.py")
_FORMAT = 1
"""To be raised when what this module writes changes."""


class Entry:
    """The files of one export.

    Attributes:
        folder: where they are, or will be.
        half: the weights and the computation are in f16.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = folder / "model.onnx"

    @property
    def done(self) -> bool:
        """Whether an export was tried."""
        return (self.folder / "entry.json").exists()

    @property
    def error(self) -> str | None:
        """Why the exporter failed, or None."""
        found: str | None = self._info().get("error")
        return found

    @property
    def nodes(self) -> int:
        """The number of nodes of the exported graph."""
        return int(self._info().get("nodes", 0))

    @property
    def parameters(self) -> int:
        """The number of elements of the exported graph's initializers."""
        return int(self._info().get("parameters", 0))

    def note(self, error: str) -> None:
        """Record that the exporter failed."""
        _write(self, {"error": error})

    def inputs(self) -> dict[str, np.ndarray[Any, Any]]:
        """The example inputs, by the names of the graph's inputs."""
        with np.load(self.folder / "inputs.npz") as file:
            return dict(file)

    def outputs(self) -> list[np.ndarray[Any, Any]]:
        """What torch computes from the example inputs."""
        with np.load(self.folder / "outputs.npz") as file:
            return [file[name] for name in file]

    def _info(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "entry.json").read_text("utf-8"))
        return found


def cache_folder() -> Path:
    """The folder that exports are kept in. It may be removed at any time."""
    from xyntra.config import user_cache_dir

    return user_cache_dir().with_name("xyntra-architectures")


def entry(architecture: Architecture, exporter: str, *, half: bool = False) -> Entry:
    """Where the export of an architecture is kept."""
    text = json.dumps([_FORMAT, architecture.key, _code_key(), half])
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    suffix = "-f16" if half else ""
    return Entry(cache_folder() / f"{architecture.name}-{exporter}{suffix}-{key}")


def export_all(architecture: Architecture, exporters: list[str], *, half: bool = False) -> None:
    """Build an architecture once, and write one entry for each exporter.

    Errors, of building too, are written to the entries.
    """
    entries = {name: entry(architecture, name, half=half) for name in exporters}
    try:
        built = build(architecture)
    except Exception as error:
        for found in entries.values():
            _write(found, {"error": f"building failed: {_said(error)}"})
        return
    if half:
        built = _halved(built)
    for name, found in entries.items():
        _export(built, name, found, half)


def _export(built: Built, exporter: str, found: Entry, half: bool) -> None:
    import torch

    with tempfile.TemporaryDirectory(prefix="xyntra-export-") as folder:
        path = Path(folder) / "model.onnx"
        names = [f"in_{name}" for name in built.inputs]
        inputs = tuple(_at(value, half) for value in built.inputs.values())
        words = io.StringIO()
        try:
            with contextlib.redirect_stdout(words), torch.no_grad():
                if half:
                    _export_half(built, path, names, exporter)
                else:
                    _run_exporter(built.module, inputs, path, names, exporter)
            info = _counts(path)
        except Exception as error:
            _write(found, {"error": _said(error)})
            return
        outputs = built.outputs()
        arrays = {n: v.numpy() for n, v in zip(names, inputs, strict=True)}
        _write(found, info, path, arrays, outputs)


def _run_exporter(
    module: Any, inputs: tuple[Any, ...], path: Path, names: list[str], exporter: str
) -> None:
    import torch

    options: dict[str, Any] = {"input_names": names, "external_data": False}
    if exporter == "dynamo":
        torch.onnx.export(module, inputs, path, dynamo=True, verbose=False, **options)
    else:
        torch.onnx.export(module, inputs, path, dynamo=False, opset_version=_OPSET, **options)


def _export_half(built: Built, path: Path, names: list[str], exporter: str) -> None:
    """Export the module in f16, or where torch cannot run it so, rewrite what it exports in f32."""
    import onnx

    from verify.architectures.half import narrowed

    try:
        inputs = tuple(_at(value, True) for value in built.inputs.values())
        _run_exporter(built.module.half(), inputs, path, names, exporter)
        onnx.checker.check_model(path, full_check=True)
    except Exception:
        _run_exporter(built.module.float(), tuple(built.inputs.values()), path, names, exporter)
        onnx.save(narrowed(onnx.load(path)), path)
    finally:
        built.module.float()


def _halved(built: Built) -> Built:
    """The same model with weights and inputs rounded to f16."""
    built.module.half().float()
    built.inputs = {name: _rounded(value) for name, value in built.inputs.items()}
    return built


def _rounded(value: Any) -> Any:
    return value.half().float() if value.is_floating_point() else value


def _at(value: Any, half: bool) -> Any:
    return value.half() if half and value.is_floating_point() else value


def _counts(path: Path) -> dict[str, Any]:
    import onnx

    model = onnx.load(path)
    parameters = sum(int(np.prod(tensor.dims)) for tensor in model.graph.initializer)
    return {"nodes": len(model.graph.node), "parameters": parameters}


def _write(
    found: Entry,
    info: dict[str, Any],
    model: Path | None = None,
    inputs: dict[str, np.ndarray[Any, Any]] | None = None,
    outputs: list[np.ndarray[Any, Any]] | None = None,
) -> None:
    shutil.rmtree(found.folder, ignore_errors=True)
    found.folder.mkdir(parents=True)
    if model is not None:
        shutil.copyfile(model, found.model)
        np.savez(found.folder / "inputs.npz", **(inputs or {}))
        np.savez(found.folder / "outputs.npz", *(outputs or []))
    (found.folder / "entry.json").write_text(json.dumps(info), "utf-8")


def _said(error: Exception) -> str:
    """The class and first lines of an error, and where it was raised."""
    cause = error
    while cause.__cause__ is not None and isinstance(cause.__cause__, Exception):
        cause = cause.__cause__
    frames = traceback.extract_tb(cause.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return f"{type(cause).__name__}: {' / '.join(lines[:4])[:400]}{place}"


@functools.cache
def _code_key() -> str:
    texts = [(_HERE / name).read_text("utf-8") for name in _SOURCES]
    texts += [metadata.version(name) for name in LIBRARIES]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
