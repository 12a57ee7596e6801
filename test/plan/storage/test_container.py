# SPDX-License-Identifier: MIT OR Apache-2.0
"""A container gives back what was put into it, aligned, or refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xyntra.errors import ArchiveError
from xyntra.plan.storage.container import ALIGNMENT, read_container, write_container

NAMES = st.text("ab/é\0", max_size=4)
NO_DEADLINE = settings(deadline=None)
META = st.dictionaries(
    NAMES, st.integers() | NAMES | st.lists(st.integers(), max_size=3), max_size=4
)


def written(meta: dict[str, Any], blobs: dict[str, bytes]) -> bytes:
    return b"".join(write_container(meta, blobs))


@NO_DEADLINE
@given(META, st.dictionaries(NAMES, st.binary(max_size=200), max_size=5))
def test_what_was_written_is_read(meta: dict[str, Any], blobs: dict[str, bytes]) -> None:
    data = written(meta, blobs)
    found = read_container(memoryview(data), "place")
    assert found.meta == meta
    assert {name: bytes(blob) for name, blob in found.blobs.items()} == blobs
    assert list(found.blobs) == list(blobs)
    position = 0
    for blob in blobs.values():
        if len(blob) > 8:
            position = data.index(blob, position)
            while position % ALIGNMENT:
                position = data.index(blob, position + 1)


@NO_DEADLINE
@given(st.data())
def test_any_changed_byte_is_found(data: st.DataObject) -> None:
    # Padding is the one place that no checksum covers.
    blobs = {"a": bytes(range(64)), "b": bytes(range(100, 228))}
    whole = bytearray(written({"k": 1}, blobs))
    header_end = 52 + int.from_bytes(whole[12:20], "little")
    start = -(-header_end // ALIGNMENT) * ALIGNMENT
    used = [*range(header_end), *range(start, start + 64 + 128)]
    whole[data.draw(st.sampled_from(used))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ArchiveError) as caught:
        read_container(memoryview(whole), "file.xyn")
    assert caught.value.code in ("archive-invalid", "archive-version", "archive-corrupt")
    assert caught.value.place == "file.xyn"


@NO_DEADLINE
@given(st.integers(0, 1 << 16))
def test_any_cut_is_found(length: int) -> None:
    whole = written({}, {"a": bytes(1000)})
    last = len(whole) - (-1000 % ALIGNMENT)
    with pytest.raises(ArchiveError):
        read_container(memoryview(whole)[: length % last], "file.xyn")


def test_a_header_of_absurd_length_is_refused() -> None:
    whole = bytearray(written({}, {}))
    whole[12:20] = b"\xff" * 8
    with pytest.raises(ArchiveError) as caught:
        read_container(memoryview(whole), "file.xyn")
    assert caught.value.code == "archive-corrupt"


def test_views_are_no_copies() -> None:
    data = bytearray(written({}, {"a": b"abc"}))
    blob = read_container(memoryview(data), "place").blobs["a"]
    data[data.index(b"abc") + 1] = ord("X")
    assert bytes(blob) == b"aXc"
