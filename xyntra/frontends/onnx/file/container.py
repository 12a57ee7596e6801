# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scanning of an ONNX file: its graph without the weights, and where each weight is.

`scan` reads the serialized ModelProto in place (the file is mapped, not read) and builds a
*skeleton*: the same model, byte for byte, in which the data of large tensors is cut out. A cut
tensor keeps its name, dims and data type; it says `data_location = EXTERNAL` and has one
`external_data` entry whose key is `MARKER_KEY` and whose value is the name of its `WeightRef`;
if its elements are all equal or those of a triangular mask, another entry, `PATTERN_KEY`, has the
text of their `TriangularValues`. Cut are initializers and the `value` of Constant nodes, in the
graph, its subgraphs and in functions, where they have more than `INLINE_BYTES` bytes of data or lie
in another file. Sparse tensors, strings and attributes of other nodes stay.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from xyntra.errors import ModelError, UnsupportedError
from xyntra.frontends.onnx.file import foreign
from xyntra.frontends.onnx.file.external import ExternalFiles
from xyntra.frontends.onnx.file.graphs import INLINE_BYTES, Cutter
from xyntra.frontends.onnx.file.tensors import MARKER_KEY
from xyntra.frontends.onnx.file.wire import BYTES, VARINT, Field, WireReader, splice
from xyntra.frontends.weights import MappedFile, WeightRef, WeightSource

__all__ = ["INLINE_BYTES", "MARKER_KEY", "ScannedModel", "scan"]

_IR_VERSION, _GRAPH, _OPSET_IMPORT, _FUNCTIONS = 1, 7, 8, 25
_OPSET_DOMAIN, _OPSET_VERSION = 1, 2
_FIRST_BYTE = 0x08
"""Tag of `ir_version`, which writers put first."""
_MAX_SKELETON = (1 << 31) - 1
"""Bytes of the largest message that protobuf reads."""


@dataclass(frozen=True)
class ScannedModel:
    """A model without its weights.

    `skeleton` is a serialized ModelProto; `weights` maps names to references; `path` is
    None and `buffer` the model itself where it was given as bytes, else `buffer` is the mapped
    file. `opsets` maps operator domains to versions, the default domain being "".
    """

    skeleton: bytes
    weights: dict[str, WeightRef]
    path: Path | None
    buffer: memoryview
    ir_version: int
    opsets: dict[str, int]
    mapped: MappedFile | None = field(default=None, repr=False)

    def source(self) -> WeightSource:
        """A source of the weights' arrays which shares this model's mapping."""
        if self.mapped is None:
            return WeightSource(self.buffer)
        return WeightSource(files=(self.mapped,))


@dataclass(slots=True)
class _Outline:
    """The fields of a ModelProto that matter here."""

    ir_version: int = 0
    opsets: dict[str, int] = field(default_factory=dict)
    graphs: list[Field] = field(default_factory=list)
    functions: list[Field] = field(default_factory=list)

    @property
    def started(self) -> bool:
        """Tell whether anything of an ONNX model was seen."""
        return bool(self.ir_version or self.opsets or self.graphs)

    def add(self, reader: WireReader, item: Field) -> None:
        """Takes up field `item`."""
        number, _, _, value, end = item
        if number == _GRAPH:
            reader.expect(item, BYTES, "graph")
            self.graphs.append(item)
        elif number == _FUNCTIONS:
            reader.expect(item, BYTES, "function")
            self.functions.append(item)
        elif number == _IR_VERSION:
            reader.expect(item, VARINT, "IR version")
            self.ir_version = reader.signed(value, end)
        elif number == _OPSET_IMPORT:
            reader.expect(item, BYTES, "operator set")
            self._add_opset(reader, value, end)

    def _add_opset(self, reader: WireReader, start: int, end: int) -> None:
        domain, version = "", 0
        for item in reader.fields(start, end):
            if item[0] == _OPSET_DOMAIN:
                reader.expect(item, BYTES, "operator set's domain")
                domain = reader.text(item[3], item[4])
            elif item[0] == _OPSET_VERSION:
                reader.expect(item, VARINT, "operator set's version")
                version = reader.signed(item[3], item[4])
        self.opsets["" if domain == "ai.onnx" else domain] = version


def scan(
    source: str | os.PathLike[str] | bytes,
    *,
    name: str | None = None,
    base_dir: str | os.PathLike[str] | None = None,
) -> ScannedModel:
    """Reads the ONNX model at a path, or given as bytes, without its weights.

    `name` stands for the model in messages. `base_dir` is the directory that external data is
    relative to: by default that of the path; a model given as bytes has none.

    Raises:
        ModelError: the file cannot be read (`model-missing`, `model-not-file`, `model-unreadable`,
            `model-empty`), is not ONNX (`model-not-onnx`), ends early (`model-truncated`), changes
            meanwhile (`model-changed`) or contradicts itself (`model-malformed`, `opset-missing`,
            `duplicate-name`, `tensor-…`, `external-data-…` and others).
        UnsupportedError: a valid model with tensors in a form that is not read here.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        data = memoryview(bytes(source))
        return _scan(data, name or "model given as bytes", None, _directory(base_dir))
    mapped = _map(source, name or os.fspath(source))
    directory = _directory(base_dir) or Path(source).parent
    return _scan(mapped.view, name or os.fspath(source), mapped, directory)


def _directory(base_dir: str | os.PathLike[str] | None) -> Path | None:
    return None if base_dir is None else Path(base_dir)


def _map(path: str | os.PathLike[str], label: str) -> MappedFile:
    try:
        return MappedFile(os.path.abspath(path))
    except (FileNotFoundError, NotADirectoryError):
        hint = "check the path" if os.sep in os.fspath(path) else f"looked in {os.getcwd()}"
        raise ModelError("model-missing", "there is no such file", place=label, hint=hint) from None
    except IsADirectoryError:
        raise ModelError(
            "model-not-file",
            "a model must be a regular file",
            place=label,
            hint="pass the .onnx file inside" if os.path.isdir(path) else None,
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(
            "model-unreadable", "the model file cannot be read", place=label, cause=str(error)
        ) from None


def _scan(
    data: memoryview, label: str, mapped: MappedFile | None, directory: Path | None
) -> ScannedModel:
    if not data:
        raise ModelError("model-empty", "the model has no bytes", place=label)
    reader = WireReader(data, label)
    outline = _read_outline(reader)
    file = (mapped.path, mapped.fingerprint) if mapped else (None, None)
    cutter = Cutter(reader, ExternalFiles(directory), file)
    cuts = [*map(cutter.graph, outline.graphs), *map(cutter.function, outline.functions)]
    chunks = splice(data, 0, len(data), filter(None, cuts))
    if sum(map(len, chunks)) > _MAX_SKELETON:
        raise UnsupportedError(
            "model-too-large", "the model has more than 2 GiB besides its weights", place=label
        )
    skeleton = b"".join(chunks)
    if mapped and not mapped.unchanged():
        raise ModelError("model-changed", "the model file changed while it was read", place=label)
    path = Path(mapped.path) if mapped else None
    return ScannedModel(
        skeleton, cutter.weights, path, data, outline.ir_version, outline.opsets, mapped
    )


def _read_outline(reader: WireReader) -> _Outline:
    """The fields of the ModelProto that fills `reader`.

    Raises:
        ModelError: `model-not-onnx`, `model-truncated`, `model-malformed` or `opset-missing`.
    """
    outline = _Outline()
    try:
        for item in reader.fields(0, len(reader.data)):
            outline.add(reader, item)
    except ModelError as error:
        other = foreign.describe(reader.data)
        if other or not (outline.started or reader.data[0] == _FIRST_BYTE):
            raise _not_onnx(reader, other, error.message) from None
        raise
    if not outline.graphs:
        raise _not_onnx(reader, foreign.describe(reader.data), "it has no graph")
    if not outline.opsets and outline.ir_version not in (1, 2):
        raise ModelError(
            "opset-missing",
            "the model does not say which version of the operators it uses",
            place=reader.label,
            cause="there is no opset_import",
            hint="the file may be incomplete: download or export it again",
        )
    return outline


def _not_onnx(reader: WireReader, other: tuple[str, str] | None, cause: str) -> ModelError:
    what, hint = other or (None, "the file may be incomplete or of another format")
    message = "the file is not an ONNX model" + (f" but {what}" if what else "")
    return ModelError("model-not-onnx", message, place=reader.label, cause=cause, hint=hint)
