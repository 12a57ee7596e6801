# SPDX-License-Identifier: MIT OR Apache-2.0
"""The protobuf reader against onnx's own messages, and against bytes that no writer produces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import StringStringEntryProto, helper

from xyntra.errors import ModelError, UnsupportedError
from xyntra.frontends.onnx.file import wire
from xyntra.frontends.onnx.file.wire import Patch, WireReader, encode_bytes, encode_varint


def reader(data: bytes) -> WireReader:
    return WireReader(memoryview(data), "test.onnx")


def read_all(data: bytes) -> list[wire.Field]:
    return list(reader(data).fields(0, len(data)))


@given(st.integers(0, 2**64 - 1))
def test_a_varint_reads_back(value: int) -> None:
    data = encode_varint(value)
    assert reader(data).varint(0, len(data)) == (value, len(data))


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_signed_varint_is_twos_complement(value: int) -> None:
    data = encode_varint(value % 2**64)
    assert reader(data).signed(0, len(data)) == value


def test_fields_cover_a_message_in_order() -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="n" * 20_000, group=2, alpha=1.5)
    data = node.SerializeToString()
    fields = read_all(data)
    assert [field[0] for field in fields] == [1, 1, 2, 3, 4, 5, 5]
    assert [field[2] for field in fields] == [0, *(field[4] for field in fields[:-1])]
    assert fields[-1][4] == len(data)
    assert data[fields[3][3] : fields[3][4]] == b"n" * 20_000


def test_fixed_size_fields() -> None:
    data = b"\x0d" + bytes(4) + b"\x11" + bytes(8)
    assert [field[:2] for field in read_all(data)] == [(1, wire.FIXED32), (2, wire.FIXED64)]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x08", "model-truncated"),
        (b"\x08\x80", "model-truncated"),
        (b"\x88", "model-truncated"),
        (b"\x0a", "model-truncated"),
        (b"\x0a\x80", "model-truncated"),
        (b"\x0a\x05abcd", "model-truncated"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "model-truncated"),
        (b"\x0d\x00\x00\x00", "model-truncated"),
        (b"\x09\x00\x00\x00\x00\x00\x00\x00", "model-truncated"),
        (b"\x08" + b"\x80" * 10 + b"\x00", "model-malformed"),
        (b"\x0a" + b"\xff" * 10 + b"\x01", "model-malformed"),
        (b"\x00\x00", "model-malformed"),
        (b"\x02\x00", "model-malformed"),
        (b"\x0b\x0c", "model-malformed"),
        (b"\x0c", "model-malformed"),
        (b"\x0e", "model-malformed"),
        (b"\x0f", "model-malformed"),
        (b"\x88\x80\x80\x80\x80\x01\x00", "model-malformed"),
    ],
)
def test_bad_bytes(data: bytes, code: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_all(data)
    assert caught.value.code == code
    assert caught.value.place is not None
    assert caught.value.place.startswith("test.onnx, byte ")


def test_a_message_inside_a_longer_file_is_malformed_not_truncated() -> None:
    with pytest.raises(ModelError) as caught:
        list(reader(b"\x0a\x05abcdefgh").fields(0, 4))
    assert caught.value.code == "model-malformed"
    assert caught.value.cause == "5 bytes are declared, 2 remain"


def test_a_number_of_fields_is_the_most_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_FIELDS", 10)
    assert len(read_all(b"\x08\x00" * 10)) == 10
    with pytest.raises(UnsupportedError) as caught:
        read_all(b"\x08\x00" * 11)
    assert caught.value.code == "model-too-large"


def test_text_must_be_utf8() -> None:
    assert reader("größe".encode()).text(0, 7) == "größe"
    with pytest.raises(ModelError) as caught:
        reader(b"abc\xff").text(0, 4)
    assert caught.value.code == "model-malformed"


def test_splice_applies_patches_in_any_order() -> None:
    data = memoryview(b"0123456789")
    patches = [Patch(7, 9, [b"x", b"y"]), Patch(2, 4, []), Patch(5, 5, [b"z"])]
    assert b"".join(wire.splice(data, 1, 10, patches)) == b"14z56xy9"


@given(st.binary(max_size=300))
def test_enclose_corrects_the_length(content: bytes) -> None:
    data = memoryview(encode_bytes(1, b"key") + encode_bytes(2, b"old"))
    field = read_all(bytes(data))[1]
    patch = wire.enclose(data, field, [content[:7], content[7:]])
    entry = StringStringEntryProto.FromString(b"".join(wire.splice(data, 0, len(data), [patch])))
    assert entry.key == "key"
    assert entry.SerializeToString() == encode_bytes(1, b"key") + encode_bytes(2, content)


def test_enclose_keeps_a_tag_in_longer_form() -> None:
    data = memoryview(b"\x8a\x00\x03old")
    patch = wire.enclose(data, read_all(bytes(data))[0], [b"newer"])
    assert b"".join(patch.chunks) == b"\x8a\x00\x05newer"
