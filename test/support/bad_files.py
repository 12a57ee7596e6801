# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files that are no models, and models whose weights or operator sets are wrong."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
from bad_models import BadFile, data, edited
from onnx import TensorProto
from onnx_models import mlp

from xyntra.errors import ModelError, UnsupportedError


def _zip(name: str, contents: bytes) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr(name, contents)
    return memory.getvalue()


def _external(
    location: str, contents: bytes | None, link: str | None = None
) -> Callable[[Path], Path]:
    """A model whose weight `w` lies in `location`."""

    def make(folder: Path) -> Path:
        inner = folder / "model"
        inner.mkdir()
        proto = mlp()
        weight = proto.graph.initializer[0]
        weight.ClearField("raw_data")
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value=location.format(folder=folder))
        if link is not None:
            (folder / "outside.bin").write_bytes(bytes(2048))
            (inner / link).symlink_to(folder / "outside.bin")
        elif contents is not None:
            (inner / location.format(folder=folder)).resolve().write_bytes(contents)
        (inner / "bad.onnx").write_bytes(proto.SerializeToString())
        return inner / "bad.onnx"

    return make


def _missing(folder: Path) -> Path:
    return folder / "bad.onnx"


def _folder(folder: Path) -> Path:
    (folder / "bad.onnx").mkdir()
    return folder / "bad.onnx"


def _weight(**fields: Any) -> Callable[[onnx.ModelProto], object]:
    def edit(proto: onnx.ModelProto) -> None:
        weight = proto.graph.initializer[0]
        for name, value in fields.items():
            weight.ClearField(name)
            if name == "raw_data":
                weight.raw_data = value
            elif name == "dims":
                weight.dims.extend(value)
            else:
                setattr(weight, name, value)

    return edit


def _opset(version: int) -> Callable[[onnx.ModelProto], object]:
    def edit(proto: onnx.ModelProto) -> None:
        proto.opset_import[0].version = version

    return edit


_GOOD = mlp().SerializeToString()

BAD_FILES = {
    "missing": BadFile(_missing, ModelError, "model-missing", "bad.onnx"),
    "a folder": BadFile(_folder, ModelError, "model-not-file", "bad.onnx"),
    "empty": BadFile(data(b""), ModelError, "model-empty", "bad.onnx"),
    "one byte": BadFile(data(b"\x08"), ModelError, "model-truncated", "bad.onnx"),
    "zeros": BadFile(data(bytes(100)), ModelError, "model-not-onnx", "bad.onnx"),
    "text": BadFile(data(b"hello, world\n"), ModelError, "model-not-onnx", "bad.onnx"),
    "html": BadFile(
        data(b"<!DOCTYPE html><html></html>"), ModelError, "model-not-onnx", "bad.onnx"
    ),
    "lfs pointer": BadFile(
        data(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
        ModelError,
        "model-not-onnx",
        "bad.onnx",
    ),
    "zip": BadFile(data(_zip("a.txt", b"hello")), ModelError, "model-not-onnx", "bad.onnx"),
    "png": BadFile(
        data(b"\x89PNG\r\n\x1a\n" + bytes(64)), ModelError, "model-not-onnx", "bad.onnx"
    ),
    "torchscript as onnx": BadFile(
        data(_zip("m/constants.pkl", b"\x80\x02.")), ModelError, "model-not-onnx", "bad.onnx"
    ),
    "torchscript": BadFile(
        data(_zip("m/constants.pkl", b"\x80\x02."), "bad.pt"),
        ModelError,
        "model-not-torchscript",
        "bad.pt",
    ),
    **{
        f"cut to {part} %": BadFile(
            data(_GOOD[: len(_GOOD) * part // 100]), ModelError, "model-truncated", "bad.onnx"
        )
        for part in (1, 10, 50, 90, 99)
    },
    "last byte missing": BadFile(data(_GOOD[:-1]), ModelError, "model-truncated", "bad.onnx"),
    "bytes appended": BadFile(
        data(_GOOD + b"\xff\xff\xff"), ModelError, "model-truncated", "bad.onnx"
    ),
    "opset 0": BadFile(edited(_opset(0)), UnsupportedError, "opset-unsupported", "0"),
    "opset 6": BadFile(edited(_opset(6)), UnsupportedError, "opset-unsupported", "6"),
    "opset 999": BadFile(edited(_opset(999)), UnsupportedError, "opset-unsupported", "999"),
    "opset negative": BadFile(edited(_opset(-1)), UnsupportedError, "opset-unsupported", "-1"),
    "no opset": BadFile(
        edited(lambda m: m.ClearField("opset_import")), ModelError, "opset-missing", "bad.onnx"
    ),
    "no graph": BadFile(
        edited(lambda m: m.ClearField("graph")), ModelError, "model-not-onnx", "bad.onnx"
    ),
    "weight outside": BadFile(
        _external("../w.bin", bytes(2048)), ModelError, "external-data-outside", "'w'"
    ),
    "weight at an absolute path": BadFile(
        _external("{folder}/w.bin", bytes(2048)), ModelError, "external-data-outside", "'w'"
    ),
    "weight behind a link": BadFile(
        _external("w.bin", None, link="w.bin"), ModelError, "external-data-outside", "'w'"
    ),
    "weight file missing": BadFile(
        _external("w.bin", None), ModelError, "external-data-missing", "'w'"
    ),
    "weight file short": BadFile(
        _external("w.bin", bytes(2047)), ModelError, "external-data-short", "'w'"
    ),
    "weight file empty": BadFile(_external("w.bin", b""), ModelError, "external-data-short", "'w'"),
    "weight longer than its bytes": BadFile(
        edited(_weight(dims=[32, 17]), mlp), ModelError, "tensor-size-mismatch", "'w'"
    ),
    "weight shorter than its bytes": BadFile(
        edited(_weight(dims=[32, 15]), mlp), ModelError, "tensor-size-mismatch", "'w'"
    ),
    "weight of negative size": BadFile(
        edited(_weight(dims=[-32, -16]), mlp), ModelError, "tensor-shape-invalid", "'w'"
    ),
    "weight of absurd size": BadFile(
        edited(_weight(dims=[2**62, 16]), mlp), ModelError, "tensor-shape-invalid", "'w'"
    ),
    "weight of unknown type": BadFile(
        edited(_weight(data_type=77), mlp), ModelError, "tensor-dtype-unknown", "'w'"
    ),
}
