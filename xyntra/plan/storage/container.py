# SPDX-License-Identifier: MIT OR Apache-2.0
"""The file format of saved models and cached artifacts: named blobs with checksums.

Layout: magic (8 bytes), format version (u32), header length (u64), SHA-256 of the header, the
header as JSON, then the blobs, each at a multiple of 64 bytes from the start so that weights can be
used where they are mapped. All integers are little endian.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xyntra.errors import ArchiveError

MAGIC = b"XYNTRA\r\n"
VERSION = 2
ALIGNMENT = 64
MAX_HEADER = 1 << 28
_PREFIX = struct.Struct("<8sIQ32s")
MALFORMED = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading JSON of another form raises."""


def write_container(
    meta: Mapping[str, Any], blobs: Mapping[str, bytes | memoryview]
) -> Iterator[bytes | memoryview]:
    """The parts of a file, in order, that hold `meta` (JSON-ready) and `blobs`."""
    entries = {}
    offset = 0
    for name, blob in blobs.items():
        entries[name] = [offset, len(blob), hashlib.sha256(blob).hexdigest()]
        offset = _aligned(offset + len(blob))
    header = json.dumps({"meta": meta, "blobs": entries}, separators=(",", ":")).encode()
    yield _PREFIX.pack(MAGIC, VERSION, len(header), hashlib.sha256(header).digest())
    yield header
    position = _PREFIX.size + len(header)
    yield bytes(_aligned(position) - position)
    for blob in blobs.values():
        yield blob
        yield bytes(_aligned(len(blob)) - len(blob))


@dataclass(frozen=True)
class Container:
    """A container read from memory; blobs are views of it."""

    meta: dict[str, Any]
    blobs: dict[str, memoryview]


def read_container(data: memoryview, place: str) -> Container:
    """Read and verify a container.

    Args:
        data: the whole file.
        place: its name, for messages.

    Raises:
        ArchiveError: `archive-invalid`, `archive-version` or `archive-corrupt`.
    """
    if len(data) < _PREFIX.size or bytes(data[:8]) != MAGIC:
        raise ArchiveError("archive-invalid", "this is not a saved Xyntra model", place=place)
    _, version, length, digest = _PREFIX.unpack_from(data)
    if version != VERSION:
        raise ArchiveError(
            "archive-version",
            f"the file has format version {version}, this Xyntra reads version {VERSION}",
            place=place,
            hint="compile the model again with this version",
        )
    end = _PREFIX.size + length
    if length > MAX_HEADER or end > len(data):
        raise _corrupt(place, "the header is cut off")
    header = bytes(data[_PREFIX.size : end])
    if hashlib.sha256(header).digest() != digest:
        raise _corrupt(place, "the header's checksum is wrong")
    try:
        content = json.loads(header)
        start = _aligned(end)
        blobs = {
            name: _blob(data, start + offset, nbytes, checksum, name, place)
            for name, (offset, nbytes, checksum) in content["blobs"].items()
        }
        return Container(dict(content["meta"]), blobs)
    except MALFORMED as error:
        raise ArchiveError(
            "archive-invalid",
            "the header is not of the form that this Xyntra writes",
            place=place,
            cause=repr(error),
        ) from None


def _blob(
    data: memoryview, offset: int, nbytes: int, checksum: str, name: str, place: str
) -> memoryview:
    if offset % ALIGNMENT or not 0 <= offset <= len(data):
        raise ValueError(f"'{name}' lies at {offset}")
    blob = data[offset : offset + nbytes]
    if len(blob) != nbytes:
        raise _corrupt(place, f"'{name}' is cut off")
    if hashlib.sha256(blob).hexdigest() != checksum:
        raise _corrupt(place, f"the checksum of '{name}' is wrong")
    return blob


def _corrupt(place: str, cause: str) -> ArchiveError:
    return ArchiveError(
        "archive-corrupt",
        "the saved model is damaged",
        place=place,
        cause=cause,
        hint="copy the file again, or compile the model again",
    )


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
