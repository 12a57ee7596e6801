# SPDX-License-Identifier: MIT OR Apache-2.0
"""One serialized TensorProto: where its data is, whether it fits, and the marker put in its place.

Field numbers and encodings are those of `TensorProto` in onnx.proto.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from xyntra.errors import ModelError, UnsupportedError
from xyntra.frontends.onnx.file.external import ExternalFiles
from xyntra.frontends.onnx.file.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    Chunk,
    Field,
    Patch,
    WireReader,
    encode_bytes,
    encode_varint,
    splice,
)
from xyntra.frontends.weight_types import DTYPE_BITS, stored_bytes
from xyntra.frontends.weights import MAX_ELEMENTS, Fingerprint, WeightRef

MAX_RANK = 64
"""Dimensions of a tensor: as many as numpy has."""

MARKER_KEY, PATTERN_KEY = "xyntra.weight", "xyntra.pattern"
STRING = 8
DTYPES = dict(
    enumerate(
        "float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 "
        "complex64 complex128 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
        "uint4 int4 float4_e2m1fn float8_e8m0fnu uint2 int2 float6_e2m3fn float6_e3m2fn".split(),
        start=1,
    )
)
"""`TensorProto.DataType` to numpy or ml_dtypes name."""

_DIMS, _DATA_TYPE, _SEGMENT, _FLOATS, _INT32S, _INT64S, _NAME, _RAW = 1, 2, 3, 4, 5, 7, 8, 9
_DOUBLES, _UINT64S, _EXTERNAL_DATA, _DATA_LOCATION = 10, 11, 13, 14
_EXTERNAL = 1

_ELEMENT_WIRE_TYPES = {
    _FLOATS: FIXED32, _DOUBLES: FIXED64, _INT32S: VARINT, _INT64S: VARINT, _UINT64S: VARINT,
}  # fmt: skip
_DATA_FIELDS = (_RAW, *_ELEMENT_WIRE_TYPES)
_FIELD_OF_DTYPE = {
    "float32": _FLOATS, "complex64": _FLOATS, "float64": _DOUBLES, "complex128": _DOUBLES,
    "int64": _INT64S, "uint64": _UINT64S, "uint32": _UINT64S,
}  # fmt: skip
"""Typed field of a dtype; every other dtype goes into `int32_data`."""

_CONTINUED = bytes(range(0x80, 0x100))
_COUNT_STEP = 1 << 20


@dataclass(slots=True)
class DataSpan:
    """Bytes `start` to `end` holding a tensor's data.

    `tagged`: every element has its own field tag, `elements` counts them. `whole` is False where
    the data lies in several pieces.
    """

    start: int
    end: int
    tagged: bool
    elements: int = 0
    whole: bool = True


@dataclass(slots=True)
class TensorFields:
    """The fields of a TensorProto, with its data as a place in the file. `at` is its first byte."""

    at: int
    end: int
    name: str = ""
    dims: list[int] = field(default_factory=list)
    data_type: int = 0
    data: dict[int, DataSpan] = field(default_factory=dict)
    external: bool = False
    entries: list[tuple[str, str]] = field(default_factory=list)
    segmented: bool = False
    removed: list[Patch] = field(default_factory=list)

    @property
    def dtype(self) -> str:
        """The name of the element type; empty where the number is unknown."""
        return DTYPES.get(self.data_type, "")

    @property
    def stored(self) -> int:
        """Bytes of data in the model file."""
        return sum(span.end - span.start for span in self.data.values())

    @property
    def in_one_piece(self) -> bool:
        """Tell whether no data field is scattered over the message."""
        return all(span.whole for span in self.data.values())

    def describe(self) -> str:
        """Shape and dtype for messages."""
        return f"shape {'x'.join(map(str, self.dims)) or '()'} and dtype {self.dtype}"


def read_tensor(reader: WireReader, start: int, end: int) -> TensorFields:
    """Reads the TensorProto in bytes `start` to `end`, without its data.

    Raises:
        ModelError: `model-truncated` or `model-malformed`.
    """
    tensor = TensorFields(start, end)
    for item in reader.fields(start, end):
        number, _, at, value, stop = item
        if number in _DATA_FIELDS:
            _add_data(reader, tensor, item)
        elif number == _DIMS:
            _add_dims(reader, tensor, item)
        elif number == _DATA_TYPE:
            reader.expect(item, VARINT, "data type")
            tensor.data_type = reader.signed(value, stop)
        elif number == _NAME:
            reader.expect(item, BYTES, "tensor's name")
            tensor.name = reader.text(value, stop)
        elif number == _EXTERNAL_DATA:
            reader.expect(item, BYTES, "external data")
            tensor.entries.append(_entry(reader, value, stop))
            tensor.removed.append(Patch(at, stop, []))
        elif number == _DATA_LOCATION:
            reader.expect(item, VARINT, "data location")
            tensor.external = reader.signed(value, stop) == _EXTERNAL
            tensor.removed.append(Patch(at, stop, []))
        elif number == _SEGMENT:
            tensor.segmented = True
    return tensor


def element_count(tensor: TensorFields, place: str) -> int:
    """The number of elements, once dims and dtype are known to make sense.

    Raises:
        ModelError: `tensor-dtype-unknown` or `tensor-shape-invalid`.
    """
    if not tensor.dtype:
        raise ModelError(
            "tensor-dtype-unknown",
            f"a tensor has element type {tensor.data_type}, which ONNX does not define",
            place=place,
        )
    if len(tensor.dims) > MAX_RANK:
        raise ModelError(
            "tensor-shape-invalid", f"a tensor has more than {MAX_RANK} dimensions", place=place
        )
    if any(size < 0 for size in tensor.dims):
        raise ModelError(
            "tensor-shape-invalid", f"a tensor has a negative dimension: {tensor.dims}", place=place
        )
    if math.prod(max(size, 1) for size in tensor.dims) > MAX_ELEMENTS:
        raise ModelError(
            "tensor-shape-invalid",
            "a tensor has an impossible shape",
            place=place,
            cause=f"{tensor.describe()} is more than 2**48 elements",
        )
    return math.prod(tensor.dims)


def locate(
    reader: WireReader,
    tensor: TensorFields,
    name: str,
    count: int,
    place: str,
    externals: ExternalFiles,
    file: tuple[str | None, Fingerprint | None],
) -> WeightRef:
    """The reference called `name` to the tensor's data; `file` is the model file itself.

    Raises:
        ModelError: `tensor-size-mismatch`, `tensor-data-ambiguous`, `tensor-data-wrong-field`, or
        an
            `external-data-…` code.
        UnsupportedError: `tensor-dtype-unsupported`, `tensor-segment`, `tensor-data-split`.
    """
    dtype, shape = tensor.dtype, tuple(tensor.dims)
    if dtype not in DTYPE_BITS:
        raise UnsupportedError(
            "tensor-dtype-unsupported", f"a tensor of dtype {dtype} cannot be loaded", place=place
        )
    if tensor.segmented:
        raise UnsupportedError("tensor-segment", "a tensor is stored in segments", place=place)
    if tensor.external:
        span = externals.span(tensor.entries, stored_bytes(dtype, count), place)
        return WeightRef(name, dtype, shape, *span[:3], "raw", span.fingerprint)
    number, data = _only_data(tensor, place)
    encoding = _check_size(reader, tensor, count, place, number, data)
    size = data.end - data.start
    return WeightRef(name, dtype, shape, file[0], data.start, size, encoding, file[1])


def marked(reader: WireReader, tensor: TensorFields, name: str, pattern: str | None) -> list[Chunk]:
    """The TensorProto's bytes with a marker for weight `name` in place of data or its old place.

    `pattern` is the text of its `TriangularValues`, if it has one.
    """
    texts = {MARKER_KEY: name} if pattern is None else {MARKER_KEY: name, PATTERN_KEY: pattern}
    entries = [
        encode_bytes(_EXTERNAL_DATA, encode_bytes(1, key.encode()) + encode_bytes(2, text.encode()))
        for key, text in texts.items()
    ]
    location = encode_varint(_DATA_LOCATION << 3) + encode_varint(_EXTERNAL)
    return [*splice(reader.data, tensor.at, tensor.end, tensor.removed), *entries, location]


def _add_dims(reader: WireReader, tensor: TensorFields, item: Field) -> None:
    _, wire_type, _, value, stop = item
    if wire_type == VARINT:
        tensor.dims.append(reader.signed(value, stop))
        return
    reader.expect(item, BYTES, "shape")
    while value < stop and len(tensor.dims) <= MAX_RANK:
        tensor.dims.append(reader.signed(value, stop))
        value = reader.varint(value, stop)[1]


def _entry(reader: WireReader, start: int, end: int) -> tuple[str, str]:
    pair = {1: "", 2: ""}
    for item in reader.fields(start, end):
        if item[0] in pair:
            reader.expect(item, BYTES, "place of external data")
            pair[item[0]] = reader.text(item[3], item[4])
    return pair[1], pair[2]


def _add_data(reader: WireReader, tensor: TensorFields, item: Field) -> None:
    number, wire_type, at, value, stop = item
    tagged = number != _RAW and wire_type == _ELEMENT_WIRE_TYPES[number]
    if not tagged:
        reader.expect(item, BYTES, "tensor's data")
    _remove(tensor, at, stop)
    known = tensor.data.get(number)
    if known is None or number == _RAW:
        # Of a repeated raw_data, protobuf keeps the last.
        whole = not tagged or value == at + 1
        tensor.data[number] = DataSpan(at if tagged else value, stop, tagged, 1, whole)
    elif tagged and known.tagged and known.end == at:
        known.end = stop
        known.elements += 1
        known.whole &= value == at + 1
    else:
        known.whole = False


def _remove(tensor: TensorFields, start: int, end: int) -> None:
    if tensor.removed and tensor.removed[-1].end == start:
        start = tensor.removed.pop().start
    tensor.removed.append(Patch(start, end, []))


def _only_data(tensor: TensorFields, place: str) -> tuple[int, DataSpan]:
    """The one field with data and its place; an empty `raw_data` where there is none."""
    right = _FIELD_OF_DTYPE.get(tensor.dtype, _INT32S)
    filled = {n: span for n, span in tensor.data.items() if n == _RAW or span.end > span.start}
    if len(filled) > 1:
        raise ModelError(
            "tensor-data-ambiguous", "a tensor has data in more than one field", place=place
        )
    number, span = next(iter(filled.items()), (_RAW, DataSpan(tensor.at, tensor.at, False)))
    if number not in (_RAW, right):
        raise ModelError(
            "tensor-data-wrong-field",
            "a tensor has its data in a field that is not for its dtype",
            place=place,
            cause=f"field {number} holds data where {right} belongs to {tensor.dtype}",
        )
    if not span.whole:
        raise UnsupportedError(
            "tensor-data-split", "a tensor has its data in several pieces", place=place
        )
    return number, span


def _check_size(
    reader: WireReader, tensor: TensorFields, count: int, place: str, number: int, span: DataSpan
) -> str:
    """The encoding of the data, once its size is known to be right."""
    expected = stored_bytes(tensor.dtype, count)
    unit, found, encoding = "bytes", span.end - span.start, "raw"
    if span.tagged and number in (_FLOATS, _DOUBLES):
        found, encoding = span.elements * (4 if number == _FLOATS else 8), "tagged-fixed"
    elif number in (_INT32S, _INT64S, _UINT64S):
        expected = count if DTYPE_BITS[tensor.dtype] >= 8 else expected
        found = span.elements if span.tagged else _numbers(reader, span)
        unit, encoding = "numbers", "tagged-varint" if span.tagged else "varint"
    if found != expected:
        raise ModelError(
            "tensor-size-mismatch",
            "the data of a tensor does not fit its shape",
            place=place,
            cause=f"{tensor.describe()} needs {expected} {unit}, the file has {found}",
        )
    return encoding


def _numbers(reader: WireReader, span: DataSpan) -> int:
    """How many varints the span holds: each ends with the one byte whose high bit is clear."""
    if span.end > span.start and reader.data[span.end - 1] >= 0x80:
        raise reader.error("model-malformed", "a tensor's last number has no end", span.end)
    steps = range(span.start, span.end, _COUNT_STEP)
    pieces = (reader.data[at : min(at + _COUNT_STEP, span.end)] for at in steps)
    return sum(len(bytes(piece).translate(None, _CONTINUED)) for piece in pieces)
