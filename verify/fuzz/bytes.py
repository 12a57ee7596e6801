# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random damage to the bytes of a protobuf message, at the places where it matters.

Every function takes its randomness from the generator that it is given, so a seed repeats it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from xyntra.errors import XyntraError
from xyntra.frontends.onnx.file.wire import BYTES, Field, WireReader, encode_varint

__all__ = ["BYTE_EDITS"]

_MAX_FIELDS = 20_000

ByteEdit = Callable[[bytearray, Random], None]


def _flip_bit(data: bytearray, random: Random) -> None:
    data[_place(data, random)] ^= 1 << random.randrange(8)


def _set_byte(data: bytearray, random: Random) -> None:
    data[_place(data, random)] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))


def _insert_bytes(data: bytearray, random: Random) -> None:
    at = _place(data, random)
    data[at:at] = random.randbytes(random.randint(1, 16))


def _delete_bytes(data: bytearray, random: Random) -> None:
    at = _place(data, random)
    del data[at : at + random.randint(1, 64)]


def _splice(data: bytearray, random: Random) -> None:
    start, to = _place(data, random), _place(data, random)
    data[to:to] = data[start : start + random.randint(1, 256)]


def _overwrite(data: bytearray, random: Random) -> None:
    start, to = _place(data, random), _place(data, random)
    piece = data[start : start + random.randint(1, 64)]
    data[to : to + len(piece)] = piece


def _truncate(data: bytearray, random: Random) -> None:
    del data[random.randrange(len(data)) :]


def _change_length(data: bytearray, random: Random) -> None:
    """Gives one length-delimited field another length, without moving what follows."""
    fields = _nested_fields(bytes(data))
    if not fields:
        return
    _, _, at, value, end = random.choice(fields)
    tag_end = next(i for i in range(at, value) if data[i] < 0x80) + 1
    change = random.choice((-1, 1, -2, 2, 100, -(end - value), 2**31, 2**63))
    data[tag_end:value] = encode_varint(max(end - value + change, 0))


def _place(data: bytearray, random: Random) -> int:
    """A byte, mostly of what is not a weight: half of the time of a field's first ones."""
    if random.random() < 1 / 2:
        fields = _nested_fields(bytes(data))
        if fields:
            _, _, at, value, _ = random.choice(fields)
            return min(random.randint(at, value + 4), len(data) - 1)
    return random.randrange(max(len(data), 1))


def _nested_fields(data: bytes) -> list[Field]:
    """Length-delimited fields at any depth; a name or weight that happens to parse counts too."""
    found: list[Field] = []
    waiting = [(0, len(data))]
    reader = WireReader(memoryview(data), "")
    while waiting and len(found) < _MAX_FIELDS:
        start, end = waiting.pop()
        try:
            inside = [item for item in reader.fields(start, end) if item[1] == BYTES]
        except XyntraError:
            continue
        found += inside
        waiting += [(item[3], item[4]) for item in inside]
    return found


BYTE_EDITS: dict[str, ByteEdit] = {
    edit.__name__.strip("_"): edit
    for edit in (
        _flip_bit, _set_byte, _insert_bytes, _delete_bytes, _splice, _overwrite, _truncate,
        _change_length,
    )
}  # fmt: skip
