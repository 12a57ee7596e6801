# SPDX-License-Identifier: MIT OR Apache-2.0
"""References and the arrays made from them: decoding, views and copies, changed files, JSON."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xyntra.errors import ModelError
from xyntra.frontends import weight_codecs
from xyntra.frontends.onnx.file.wire import encode_varint
from xyntra.frontends.weight_types import DTYPE_BITS, dtype_of
from xyntra.frontends.weights import MappedFile, WeightRef, WeightSource


def ref_to(path: Path, **fields: Any) -> WeightRef:
    """A reference to 100 floats at byte 8 of `path`, with `fields` set differently."""
    status = path.stat()
    mark = (status.st_size, status.st_mtime_ns)
    base = WeightRef("w", "float32", (10, 10), str(path), 8, 400, "raw", mark)
    return dataclasses.replace(base, **fields)


@pytest.fixture
def weights_file(tmp_path: Path) -> Path:
    path = tmp_path / "weights.bin"
    path.write_bytes(bytes(8) + np.arange(200, dtype=np.float32).tobytes())
    return path


def varints(values: list[int], dtype: str, tag: bytes = b"") -> tuple[WeightRef, bytes]:
    data = b"".join(tag + encode_varint(value % 2**64) for value in values)
    encoding = "tagged-varint" if tag else "varint"
    return WeightRef("w", dtype, (len(values),), None, 0, len(data), encoding), data


def error_of(ref: WeightRef, data: bytes | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ref.load(data)
    assert "'w'" in caught.value.message or caught.value.code == "weights-changed"
    return caught.value


def test_every_dtype_has_its_size() -> None:
    for name, bits in DTYPE_BITS.items():
        dtype = dtype_of(name)
        assert dtype.name == name
        assert dtype.itemsize * 8 == max(bits, 8)
        if bits < 8:
            limits = ml_dtypes.finfo(dtype) if "float" in name else ml_dtypes.iinfo(dtype)
            assert limits.bits == bits


def test_an_aligned_weight_is_a_view(weights_file: Path) -> None:
    source = WeightSource()
    ref = ref_to(weights_file)
    array = source.load(ref)
    assert np.array_equal(array, np.arange(100, dtype=np.float32).reshape(10, 10))
    assert np.shares_memory(array, np.frombuffer(source.stored(ref), np.uint8))


def test_an_unaligned_weight_is_a_copy_unless_a_view_will_do(weights_file: Path) -> None:
    source = WeightSource()
    ref = ref_to(weights_file, offset=9)
    stored = np.frombuffer(source.stored(ref), np.uint8)
    copy, view = source.load(ref), source.load(ref, aligned=False)
    assert copy.ctypes.data % 64 == 0
    assert copy.flags.aligned
    assert not np.shares_memory(copy, stored)
    assert np.shares_memory(view, stored)
    assert copy.tobytes() == view.tobytes() == stored.tobytes()


@pytest.mark.parametrize("offset", [8, 9])
@pytest.mark.parametrize("aligned", [True, False])
def test_arrays_are_read_only(weights_file: Path, offset: int, aligned: bool) -> None:
    array = WeightSource().load(ref_to(weights_file, offset=offset), aligned=aligned)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1


def test_a_view_of_a_file_cannot_be_made_writeable(weights_file: Path) -> None:
    array = WeightSource().load(ref_to(weights_file))
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


def test_decoded_arrays_are_read_only() -> None:
    ref, data = varints([1, 2, 300], "int64")
    with pytest.raises(ValueError, match="read-only"):
        ref.load(data)[0] = 1


def test_a_view_outlives_its_source(weights_file: Path) -> None:
    array = ref_to(weights_file).load()
    os.unlink(weights_file)
    assert array.sum() == np.arange(100).sum()


def test_a_file_is_mapped_once(weights_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    open_file = os.open
    monkeypatch.setattr(os, "open", lambda path, *a: (opened.append(path), open_file(path, *a))[1])
    source = WeightSource()
    for offset in (8, 12, 16):
        source.load(ref_to(weights_file, offset=offset))
    assert opened == [str(weights_file)]


def test_a_mapping_can_be_shared(weights_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = WeightSource(files=(MappedFile(str(weights_file)),))
    monkeypatch.setattr(os, "open", None)
    assert source.load(ref_to(weights_file)).shape == (10, 10)


def test_a_buffer_can_stand_for_the_file(weights_file: Path) -> None:
    ref = ref_to(weights_file)
    data = weights_file.read_bytes()
    os.unlink(weights_file)
    assert ref.load(data).sum() == np.arange(100).sum()
    assert ref.load(memoryview(data)).shape == (10, 10)


def test_no_bytes() -> None:
    ref, _ = varints([1], "int64")
    assert error_of(ref).code == "weights-missing"


def test_empty_weights(tmp_path: Path) -> None:
    path = tmp_path / "empty.bin"
    path.touch()
    for shape in ((0,), (3, 0, 4)):
        array = ref_to(path, shape=shape, offset=0, nbytes=0).load()
        assert array.shape == shape
        assert array.dtype == np.float32


@pytest.mark.parametrize("change", ["longer", "shorter", "touched", "emptied", "rewritten"])
@pytest.mark.parametrize("when", ["before mapping", "after mapping"])
def test_a_changed_file_is_refused(weights_file: Path, change: str, when: str) -> None:
    ref = ref_to(weights_file)
    source = WeightSource()
    if when == "after mapping":
        source.load(ref)
    data = weights_file.read_bytes()
    new = {"longer": data + b"\0", "shorter": data[:-1], "touched": data, "emptied": b""}
    weights_file.write_bytes(new.get(change, bytes(len(data))))
    # File systems may keep times too coarse to tell two quick writes apart.
    mark = ref.fingerprint
    assert mark is not None
    os.utime(weights_file, ns=(mark[1] + 10**9, mark[1] + 10**9))
    with pytest.raises(ModelError) as caught:
        source.load(ref)
    assert caught.value.code == "weights-changed"
    assert caught.value.place == str(weights_file)
    same_size = change in ("touched", "rewritten")
    assert ("modification time" in str(caught.value.cause)) is same_size


def test_a_file_replaced_by_renaming_stays_mapped(weights_file: Path) -> None:
    ref = ref_to(weights_file)
    source = WeightSource()
    source.load(ref)
    other = weights_file.with_name("other.bin")
    other.write_bytes(b"other")
    os.replace(other, weights_file)
    assert source.load(ref).sum() == np.arange(100).sum()
    assert error_of(ref).code == "weights-changed"


@pytest.mark.parametrize("kind", ["deleted", "directory", "fifo"])
def test_a_file_that_is_gone(weights_file: Path, kind: str) -> None:
    ref = ref_to(weights_file)
    weights_file.unlink()
    if kind == "directory":
        weights_file.mkdir()
    elif kind == "fifo":
        os.mkfifo(weights_file)
    assert error_of(ref).code == "weights-missing"


@pytest.mark.parametrize(("offset", "nbytes"), [(10, 400), (409, 0), (2**60, 400)])
def test_a_reference_beyond_the_end(offset: int, nbytes: int) -> None:
    ref = WeightRef("w", "float32", (100,), None, offset, nbytes)
    assert error_of(ref, bytes(408)).code == "weights-changed"


def test_a_reference_whose_size_is_wrong() -> None:
    ref = WeightRef("w", "float32", (100,), None, 0, 396)
    assert error_of(ref, bytes(408)).code == "tensor-size-mismatch"


INTEGERS = {
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "uint8": (0, 2**8 - 1),
}


@pytest.mark.parametrize("tag", [b"", b"\x28"], ids=["packed", "tagged"])
@pytest.mark.parametrize("dtype", INTEGERS)
@given(data=st.data(), block=st.sampled_from([1, 7, 64, 1 << 22]))
def test_integers(dtype: str, tag: bytes, data: st.DataObject, block: int) -> None:
    low, high = INTEGERS[dtype]
    values = data.draw(
        st.lists(st.integers(low, high) | st.sampled_from([low, high, 0]), max_size=50)
    )
    ref, stored = varints(values, dtype, tag)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weight_codecs, "_BLOCK", block)
        array = ref.load(stored)
    assert array.dtype == dtype
    assert array.tolist() == values


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int16", 2**15),
        ("int16", -(2**15) - 1),
        ("uint16", -1),
        ("uint16", 2**16),
        ("int8", 128),
        ("int8", -129),
        ("uint8", 256),
        ("uint8", -1),
        ("uint32", 2**32),
        ("uint32", 2**64 - 1),
        ("float16", 2**16),
        ("float16", -1),
        ("bfloat16", 2**16),
        ("float8_e5m2", 256),
        ("bool", 2),
        ("bool", -1),
        ("uint4", 256),
    ],
)
def test_numbers_that_do_not_fit(dtype: str, value: int) -> None:
    ref, data = varints([0, 1, value, 1], dtype)
    if DTYPE_BITS[dtype] < 8:
        ref = dataclasses.replace(ref, shape=(8,))
    assert error_of(ref, data).code == "tensor-value-range"


def test_a_bool_must_be_zero_or_one() -> None:
    ref = WeightRef("w", "bool", (3,), None, 0, 3)
    assert ref.load(b"\0\1\0").tolist() == [False, True, False]
    assert error_of(ref, b"\0\1\2").code == "tensor-value-range"


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("varint", b"\x01\x80"),
        ("varint", b"\x01" + b"\x80" * 10 + b"\x00"),
        ("varint", b"\x80" * 30),
        ("tagged-varint", b"\x38\x01\x38"),
        ("tagged-varint", b"\x38\x01\x38\x80"),
        ("tagged-varint", b"\xb8\x00\x01\x38\x01"),
        ("tagged-fixed", b"\x25\x00\x00\x00"),
    ],
)
def test_malformed_encodings(encoding: str, data: bytes) -> None:
    dtype = "float32" if encoding == "tagged-fixed" else "int64"
    ref = WeightRef("w", dtype, (2,), None, 0, len(data), encoding)
    assert error_of(ref, data).code == "tensor-malformed"


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_wrong_number_of_varints(count: int) -> None:
    ref, data = varints([1] * count, "int64")
    assert error_of(dataclasses.replace(ref, shape=(4,)), data).code == "tensor-size-mismatch"


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_fixed_size_elements_with_tags(dtype: str) -> None:
    array = np.random.default_rng(0).normal(size=31).astype(dtype)
    part = 8 if dtype in ("float64", "complex128") else 4
    raw = array.tobytes()
    data = b"".join(b"\x25" + raw[at : at + part] for at in range(0, len(raw), part))
    ref = WeightRef("w", dtype, (31,), None, 0, len(data), "tagged-fixed")
    assert ref.load(data).tobytes() == raw


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("dtype", ["uint4", "int4", "uint2", "int2"])
def test_elements_of_less_than_a_byte(dtype: str, count: int) -> None:
    bits = DTYPE_BITS[dtype]
    values = [
        (7 * i + 3) % 2**bits - (2 ** (bits - 1) if dtype[0] == "i" else 0) for i in range(count)
    ]
    packed = bytearray((count * bits + 7) // 8)
    for i, value in enumerate(values):
        packed[i * bits // 8] |= (value % 2**bits) << (i * bits % 8)
    ref = WeightRef("w", dtype, (count,), None, 0, len(packed))
    assert not ref.contiguous
    assert ref.load(bytes(packed)).astype(int).tolist() == values


REFS = [
    WeightRef("w", "float32", (2, 3), "/models/a.onnx", 10, 24, "raw", (100, 200)),
    WeightRef("größe/\0\n", "bfloat16", (), None, 0, 2),
    WeightRef("v", "int64", (5,), None, 7, 9, "varint"),
    WeightRef("t", "uint4", (3,), "a", 0, 2),
    WeightRef("e", "float8_e5m2", (0,), None, 0, 0),
]


@pytest.mark.parametrize("ref", REFS, ids=lambda ref: ref.dtype)
def test_json_gives_the_same_reference(ref: WeightRef) -> None:
    text = json.dumps(ref.to_json())
    assert WeightRef.from_json(json.loads(text)) == ref


def test_references_compare_and_hash() -> None:
    copy = WeightRef.from_json(REFS[0].to_json())
    assert {REFS[0], copy} == {copy}


@pytest.mark.parametrize(
    "change",
    [
        {"name": None},
        {"name": 3},
        {"dtype": "float99"},
        {"dtype": None},
        {"dtype": ["float32"]},
        {"encoding": "zip"},
        {"encoding": None},
        {"shape": None},
        {"shape": 3},
        {"shape": "23"},
        {"shape": [2, -3]},
        {"shape": [2.0, 3]},
        {"shape": [True, 6]},
        {"shape": [2, 4]},
        {"shape": [2**40, 2**40]},
        {"shape": [0, 2**60]},
        {"offset": -1},
        {"offset": 1.5},
        {"offset": "0"},
        {"offset": None},
        {"nbytes": -24},
        {"nbytes": 23},
        {"nbytes": None},
        {"file": 3},
        {"file": ["a"]},
        {"fingerprint": 3},
        {"fingerprint": [1]},
        {"fingerprint": ["a", "b"]},
        {"extra": 1},
    ],
    ids=str,
)
def test_invalid_json(change: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as caught:
        WeightRef.from_json(REFS[0].to_json() | change)
    assert caught.value.code == "weight-ref-invalid"


@pytest.mark.parametrize("missing", ["name", "dtype", "shape", "file", "offset", "nbytes"])
def test_incomplete_json(missing: str) -> None:
    data = REFS[0].to_json()
    del data[missing]
    with pytest.raises(ModelError) as caught:
        WeightRef.from_json(data)
    assert caught.value.code == "weight-ref-invalid"


@pytest.mark.parametrize("data", [None, 3, "text", [], [1]])
def test_json_of_another_kind(data: Any) -> None:
    with pytest.raises(ModelError) as caught:
        WeightRef.from_json(data)
    assert caught.value.code == "weight-ref-invalid"
