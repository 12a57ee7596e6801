# SPDX-License-Identifier: MIT OR Apache-2.0
"""Protobuf wire format: a bounds-checked reader and the splicing of new bytes into nested messages.

Only what ONNX files contain: varints, fixed 32- and 64-bit values and length-delimited fields.
Groups are refused. Nothing is copied while reading, so a 2 GiB file costs no more memory than its
headers.

Source: "Encoding", Protocol Buffers documentation,
https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xyntra.errors import ModelError, UnsupportedError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_FIELDS = 10_000_000
"""Fields read from one buffer before it is refused: bounds the time a hostile file can take."""

_FIXED_SIZES = {FIXED64: 8, FIXED32: 4}

Field = tuple[int, int, int, int, int]
"""(number, wire type, start of the tag, start of the value, end of the value), offsets in bytes."""

Chunk = bytes | memoryview


class WireReader:
    """Reads one buffer of protobuf wire format; every offset is checked before it is used.

    `label` names the file in messages. Errors are `ModelError`s whose place gives the byte offset:
    `model-truncated` where the buffer ends too early, `model-malformed` where a message contradicts
    itself. A buffer of more than `MAX_FIELDS` fields is an `UnsupportedError` (`model-too-large`).
    """

    __slots__ = ("_budget", "data", "label")

    def __init__(self, data: memoryview, label: str) -> None:
        self.data = data
        self.label = label
        self._budget = MAX_FIELDS

    def error(
        self,
        code: str,
        message: str,
        at: int,
        *,
        cause: str | None = None,
        hint: str | None = None,
    ) -> ModelError:
        """A `ModelError` placed at byte `at` of this buffer."""
        return ModelError(code, message, place=self.place(at), cause=cause, hint=hint)

    def place(self, at: int, what: str | None = None) -> str:
        """Return where byte `at` is, for messages: file, item, byte offset."""
        return ", ".join(part for part in (self.label, what, f"byte {at}") if part)

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """The unsigned 64-bit varint at `at` and the offset behind it."""
        data = self.data
        value = 0
        for index in range(at, min(end, at + 10)):
            byte = data[index]
            value |= (byte & 0x7F) << (7 * (index - at))
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, index + 1
        if end - at < 10:
            raise self._overrun("a number", at, end, "it has no last byte")
        raise self.error("model-malformed", "a number is longer than ten bytes", at)

    def signed(self, at: int, end: int) -> int:
        """The varint at `at` as an int64 in two's complement."""
        value = self.varint(at, end)[0]
        return value - (1 << 64) if value >> 63 else value

    def fields(self, start: int, end: int) -> Iterator[Field]:
        """The fields of the message in bytes `start` to `end`, in file order."""
        data = self.data
        at = start
        while at < end:
            self._budget -= 1
            tag = data[at]
            value = at + 1
            if tag >= 0x80:
                tag, value = self._tag(at, end)
            wire_type = tag & 7
            if wire_type == BYTES:
                if value < end and data[value] < 0x80:
                    length, value = data[value], value + 1
                elif value + 1 < end and data[value + 1] < 0x80:
                    length, value = data[value] & 0x7F | data[value + 1] << 7, value + 2
                else:
                    length, value = self.varint(value, end)
                stop = value + length
            elif wire_type == VARINT:
                short = value < end and data[value] < 0x80
                stop = value + 1 if short else self.varint(value, end)[1]
            else:
                stop = value + self._fixed_size(wire_type, at)
            if stop > end or tag < 8 or self._budget < 0:
                raise self._bad_field(tag, at, value, stop, end)
            yield tag >> 3, wire_type, at, value, stop
            at = stop

    def text(self, start: int, end: int) -> str:
        """The UTF-8 string in bytes `start` to `end`."""
        try:
            return str(self.data[start:end], "utf-8")
        except UnicodeDecodeError as error:
            raise self.error(
                "model-malformed", "a name is not valid UTF-8", start, cause=str(error)
            ) from None

    def expect(self, field: Field, wire_type: int, what: str) -> None:
        """Refuses `field` unless it is stored as `wire_type`; `what` names the field."""
        if field[1] != wire_type:
            raise self.error(
                "model-malformed",
                f"the {what} is stored in an unexpected form",
                field[2],
                cause=f"wire type {field[1]} where {wire_type} belongs",
            )

    def _tag(self, at: int, end: int) -> tuple[int, int]:
        tag, value = self.varint(at, end)
        if tag > 0xFFFF_FFFF:
            raise self.error("model-malformed", "a field has a number that is too large", at)
        return tag, value

    def _fixed_size(self, wire_type: int, at: int) -> int:
        size = _FIXED_SIZES.get(wire_type)
        if size is None:
            raise self.error(
                "model-malformed", f"a field has wire type {wire_type}, which ONNX does not use", at
            )
        return size

    def _bad_field(
        self, tag: int, at: int, value: int, stop: int, end: int
    ) -> ModelError | UnsupportedError:
        if self._budget < 0:
            return UnsupportedError(
                "model-too-large",
                f"the model has more than {MAX_FIELDS} fields outside of packed tensors",
                place=self.place(at),
            )
        if tag < 8:
            return self.error("model-malformed", "a field has the number 0", at)
        return self._overrun(
            f"field {tag >> 3}", at, end, f"{stop - value} bytes are declared, {end - value} remain"
        )

    def _overrun(self, what: str, at: int, end: int, cause: str) -> ModelError:
        if end < len(self.data):
            return self.error(
                "model-malformed", f"{what} runs past the end of its message", at, cause=cause
            )
        return self.error(
            "model-truncated",
            f"the file ends in the middle of {what}",
            at,
            cause=cause,
            hint="download or export the file again",
        )


@dataclass(frozen=True, slots=True)
class Patch:
    """New content for bytes `start` to `end` of a buffer."""

    start: int
    end: int
    chunks: list[Chunk]

    @property
    def size(self) -> int:
        """Bytes of the new content."""
        return sum(map(len, self.chunks))


def encode_varint(value: int) -> bytes:
    """`value` (not negative) as a varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_bytes(number: int, content: bytes) -> bytes:
    """The length-delimited field `number` holding `content`."""
    return encode_varint(number << 3 | BYTES) + encode_varint(len(content)) + content


def splice(data: memoryview, start: int, end: int, patches: Iterable[Patch]) -> list[Chunk]:
    """Bytes `start` to `end` with `patches` (disjoint, inside, in any order) applied, as slices."""
    chunks: list[Chunk] = []
    at = start
    for patch in sorted(patches, key=lambda patch: patch.start):
        chunks.append(data[at : patch.start])
        chunks.extend(patch.chunks)
        at = patch.end
    chunks.append(data[at:end])
    return chunks


def enclose(data: memoryview, field: Field, chunks: list[Chunk]) -> Patch:
    """`field` (length-delimited) with its content replaced by `chunks` and its length corrected.

    The tag keeps its bytes, also where they are not the shortest form.
    """
    _, _, at, _, end = field
    tag_end = at + 1
    while data[tag_end - 1] >= 0x80:
        tag_end += 1
    length = encode_varint(sum(map(len, chunks)))
    return Patch(at, end, [data[at:tag_end], length, *chunks])
