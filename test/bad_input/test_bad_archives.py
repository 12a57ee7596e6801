# SPDX-License-Identifier: MIT OR Apache-2.0
"""Saved models that are damaged, foreign or absent give typed errors."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_models import mlp

import xyntra
from xyntra.errors import ArchiveError
from xyntra.executable import Executable
from xyntra.plan.storage.container import VERSION, read_container, write_container

X = np.ones((4, 32), np.float32)


@pytest.fixture(scope="module")
def perceptron(settings: dict[str, object]) -> Executable:
    return xyntra.compile(mlp(), config=settings)


@pytest.fixture(scope="module")
def saved(perceptron: Executable, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "m.xyn"
    perceptron.save(path)
    return path.read_bytes()


def refuse(path: Path) -> ArchiveError:
    with pytest.raises(ArchiveError) as caught:
        xyntra.load(path)
    assert str(path) in str(caught.value)
    return caught.value


def header_end(data: bytes) -> int:
    return 52 + int(struct.unpack_from("<Q", data, 12)[0])


FOREIGN = {
    "empty": b"",
    "one byte": b"X",
    "text": b"hello, world" * 10,
    "an onnx model": mlp().SerializeToString(),
    "zeros": bytes(4096),
}


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_what_is_no_saved_model_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.xyn"
    path.write_bytes(data)
    assert refuse(path).code == "archive-invalid"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refuse(tmp_path / "m.xyn").code == "archive-missing"
    assert refuse(tmp_path).code == "archive-missing"


CUTS: dict[str, Callable[[bytes], int]] = {
    "in the prefix": lambda data: 40,
    "before the header": lambda data: 52,
    "in the header": lambda data: header_end(data) - 10,
    "after the header": header_end,
    "in the blobs": lambda data: (header_end(data) + len(data)) // 2,
    "before the last weights": lambda data: len(data) - 100,
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_file_that_is_cut_off_is_refused(
    tmp_path: Path, saved: bytes, cut: Callable[[bytes], int]
) -> None:
    path = tmp_path / "m.xyn"
    path.write_bytes(saved[: cut(saved)])
    assert refuse(path).code in ("archive-corrupt", "archive-invalid")


def test_a_flipped_bit_anywhere_is_found(tmp_path: Path, saved: bytes) -> None:
    blobs = read_container(memoryview(saved), "m.xyn").blobs
    start = header_end(saved)
    regions = {"magic": 3, "length": 13, "digest": 30, "header": 60, "header's end": start - 2}
    regions |= {
        name: saved.index(bytes(blob), start) + len(blob) // 2 for name, blob in blobs.items()
    }
    assert {"ir", "weight/w"} < set(regions)
    for name, position in regions.items():
        damaged = bytearray(saved)
        damaged[position] ^= 16
        (tmp_path / "m.xyn").write_bytes(damaged)
        code = refuse(tmp_path / "m.xyn").code
        assert code == ("archive-invalid" if name == "magic" else "archive-corrupt"), name


def test_another_version_is_refused(tmp_path: Path, saved: bytes) -> None:
    path = tmp_path / "m.xyn"
    path.write_bytes(saved[:8] + struct.pack("<I", 99) + saved[12:])
    error = refuse(path)
    assert error.code == "archive-version"
    assert "99" in str(error)


def rewritten(saved: bytes, edit: Callable[[dict[str, Any], dict[str, Any]], object]) -> bytes:
    """The saved model after `edit` of its meta data and blobs, with right checksums."""
    container = read_container(memoryview(saved), "m.xyn")
    blobs: dict[str, Any] = dict(container.blobs)
    edit(container.meta, blobs)
    return b"".join(write_container(container.meta, blobs))


def _set(*path: Any) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    """Set the entry at `path[:-1]` of the meta data to `path[-1]`."""

    def edit(meta: dict[str, Any], _: dict[str, Any]) -> None:
        entry: Any = meta
        for key in path[:-2]:
            entry = entry[key]
        entry[path[-2]] = path[-1]

    return edit


EDITS: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], object], str]] = {
    "another machine": (_set("target", "abacus"), "archive-target"),
    "no plan": (lambda meta, _: meta.pop("plan"), "archive-invalid"),
    "no target": (lambda meta, _: meta.pop("target"), "archive-invalid"),
    "no weights": (lambda meta, _: meta.pop("weights"), "archive-invalid"),
    "no text": (lambda _, blobs: blobs.pop("ir"), "archive-invalid"),
    "a plan that is a list": (_set("plan", []), "archive-invalid"),
    "a plan of another kind": (_set("plan", "steps", 5), "archive-invalid"),
    "a weight that is absent": (lambda _, blobs: blobs.pop("weight/w"), "archive-invalid"),
    "a weight of another shape": (_set("weights", "w", ["float32", [7, 7]]), "archive-invalid"),
    "a weight of no dtype": (_set("weights", "w", ["float99", [32, 16]]), "archive-invalid"),
}


@pytest.mark.parametrize(("edit", "code"), EDITS.values(), ids=EDITS)
def test_contents_that_do_not_fit_are_refused(
    tmp_path: Path, saved: bytes, edit: Callable[..., object], code: str
) -> None:
    path = tmp_path / "m.xyn"
    path.write_bytes(rewritten(saved, edit))
    assert refuse(path).code == code


def test_a_header_of_another_form_is_refused(tmp_path: Path, saved: bytes) -> None:
    for header in (
        b"[]",
        b"{}",
        b'{"meta": {}, "blobs": [1]}',
        b"not json",
        b'{"blobs": {"a": 1}}',
    ):
        path = tmp_path / "m.xyn"
        digest = hashlib.sha256(header).digest()
        path.write_bytes(struct.pack("<8sIQ32s", saved[:8], VERSION, len(header), digest) + header)
        assert refuse(path).code == "archive-invalid"


def test_an_unchanged_file_is_read(tmp_path: Path, saved: bytes, perceptron: Executable) -> None:
    assert json.dumps(read_container(memoryview(saved), "m.xyn").meta)
    path = tmp_path / "m.xyn"
    path.write_bytes(rewritten(saved, lambda *_: None))
    np.testing.assert_array_equal(xyntra.load(path)(X), perceptron(X))


def test_a_file_that_cannot_be_written(tmp_path: Path, perceptron: Executable) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "gone" / "m.xyn", tmp_path / "folder"):
        with pytest.raises(ArchiveError) as caught:
            perceptron.save(path)
        assert caught.value.code == "write-failed"
        assert str(path) in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def leaves(entry: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every number, text and list in what JSON holds."""
    if isinstance(entry, dict):
        for key, value in entry.items():
            yield from leaves(value, *path, key)
    else:
        yield path
        for number, value in enumerate(entry if isinstance(entry, list) else ()):
            yield from leaves(value, *path, number)


# What is for people to read, and has no part in a call.
_SPEAKS = {"cost", "boundaries", "unfused", "operations", "flops", "kind", "schedules", "source"}
_SPEAKS |= {"nodes", "parameter_file", "name", "fixed_by", "fallbacks", "tuned", "packaged"}
_APART = (("weights_apart",), True)  # which is a model that is given its weights
_OTHERS: tuple[Any, ...] = (-1, 1 << 70, 10**400, 0.5, True, "x", "", None, [], [[]], {})


def changed(value: Any) -> Iterator[Any]:
    """Yield other values for a place in a header."""
    if type(value) is int:
        yield from (value + 1, value - 1, 2 * value + 64, value + (1 << 40))
    if isinstance(value, list) and value:
        yield from (value[:-1], [*value, value[-1]])
    yield from _OTHERS


def test_every_number_of_the_plan_is_checked(tmp_path: Path, saved: bytes) -> None:
    meta = read_container(memoryview(saved), "m.xyn").meta
    path = tmp_path / "m.xyn"
    paths = [each for each in leaves(meta) if not _SPEAKS & set(each)]
    assert len(paths) > 50
    for place in paths:
        value = meta
        for key in place:
            value = value[key]
        for other in changed(value):
            if json.dumps(other) == json.dumps(value) or (place, other) == _APART:
                continue
            if place[1:2] == ("outputs",) and place[-1] == "apart" and type(other) is str:
                continue  # a reason, for people to read
            path.write_bytes(rewritten(saved, _set(*place, other)))
            assert refuse(path).code.startswith("archive-"), (place, other)


def test_what_a_plan_says_is_checked_too(tmp_path: Path, saved: bytes) -> None:
    """Whatever stands there, a report can be made of it, or it is refused."""
    meta = read_container(memoryview(saved), "m.xyn").meta
    path = tmp_path / "m.xyn"
    for place in leaves(meta):
        value = meta
        for key in place:
            value = value[key]
        if not _SPEAKS & set(place):
            continue
        for other in changed(value):
            path.write_bytes(rewritten(saved, _set(*place, other)))
            try:
                exe = xyntra.load(path)
            except ArchiveError:
                continue
            assert exe.explain()
            assert exe(X).shape == (4, 16)
