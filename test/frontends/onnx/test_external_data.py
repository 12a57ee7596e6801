# SPDX-License-Identifier: MIT OR Apache-2.0
"""Weights in other files: read as onnx writes them, refused wherever a model should not point."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from xyntra.errors import ModelError, UnsupportedError
from xyntra.frontends.onnx.file.container import scan

COUNT = 600
NBYTES = 4 * COUNT


def floats(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def arrays() -> dict[str, NDArray[np.generic]]:
    return {
        "w": floats(30, 40),
        "small": floats(3),
        "ids": np.arange(900),
        "half": floats(700).astype(np.float16),
        "bytes": np.arange(2000, dtype=np.uint8),
    }


def model() -> onnx.ModelProto:
    branch = helper.make_graph([], "g", [], [], [numpy_helper.from_array(floats(350), "b")])
    nodes = [
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(floats(500), "c")),
        helper.make_node("If", ["p"], ["y"], then_branch=branch, else_branch=branch),
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays().items()]
    return helper.make_model(helper.make_graph(nodes, "graph", [], [], tensors))


@pytest.mark.parametrize("one_file", [True, False])
@pytest.mark.parametrize("threshold", [0, 1024])
@pytest.mark.parametrize("attributes", [True, False])
def test_models_saved_by_onnx(
    tmp_path: Path, one_file: bool, threshold: int, attributes: bool
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(
        model(),
        path,
        save_as_external_data=True,
        all_tensors_to_one_file=one_file,
        location="weights.bin" if one_file else None,
        size_threshold=threshold,
        convert_attribute=attributes,
    )
    scanned = scan(path)
    source = scanned.source()
    expected = arrays() | {"c": floats(500), "y.then_branch/b": floats(350)}
    if threshold:
        assert "small" not in scanned.weights
        del expected["small"]
    for name, array in expected.items():
        found = source.load(scanned.weights[name])
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()
    outside = {name for name, ref in scanned.weights.items() if ref.file != str(path)}
    assert ("c" in outside) is attributes
    assert {"w", "ids", "half", "bytes"} <= outside
    assert len(scanned.skeleton) < 3000


def write(
    folder: Path,
    *,
    dims: tuple[int, ...] = (COUNT,),
    data_type: int = TensorProto.FLOAT,
    as_constant: bool = False,
    entries: list[tuple[str, str]] | None = None,
    **values: Any,
) -> Path:
    """A model in `folder` whose one weight has the given external data, and data.bin beside it."""
    tensor = TensorProto(
        name="w", dims=dims, data_type=data_type, data_location=TensorProto.EXTERNAL
    )
    for key, value in entries if entries is not None else values.items():
        tensor.external_data.add(key=key, value=value)
    nodes = [helper.make_node("Constant", [], ["w"], value=tensor)] if as_constant else []
    graph = helper.make_graph(nodes, "graph", [], [], [] if as_constant else [tensor])
    folder.mkdir(exist_ok=True)
    (folder / "data.bin").write_bytes(floats(COUNT).tobytes() + floats(COUNT, seed=1).tobytes())
    (folder / "model.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    return folder / "model.onnx"


def refused(path: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        scan(path)
    assert "'w'" in str(caught.value.place)
    return caught.value


@pytest.mark.parametrize("as_constant", [True, False])
@pytest.mark.parametrize(
    ("values", "seed"),
    [
        ({"location": "data.bin"}, 0),
        ({"location": "./data.bin"}, 0),
        ({"location": "data.bin", "offset": "0", "length": str(NBYTES)}, 0),
        ({"location": "data.bin", "offset": str(NBYTES)}, 1),
        ({"location": "data.bin", "offset": f"000{NBYTES}", "length": str(NBYTES)}, 1),
        ({"location": "data.bin", "checksum": "0" * 40, "basepath": "", "unknown": "?"}, 0),
    ],
)
def test_places_that_are_fine(
    tmp_path: Path, values: dict[str, Any], seed: int, as_constant: bool
) -> None:
    scanned = scan(write(tmp_path, as_constant=as_constant, **values))
    assert scanned.weights["w"].file == str(tmp_path / "data.bin")
    assert scanned.weights["w"].load().tobytes() == floats(COUNT, seed=seed).tobytes()


def test_a_subdirectory_and_a_link_inside(tmp_path: Path) -> None:
    path = write(tmp_path, location="sub/link.bin")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link.bin").symlink_to("../data.bin")
    assert scan(path).weights["w"].load().tobytes() == floats(COUNT).tobytes()


def test_a_model_reached_through_a_linked_directory(tmp_path: Path) -> None:
    write(tmp_path / "real", location="data.bin")
    (tmp_path / "link").symlink_to("real")
    ref = scan(tmp_path / "link" / "model.onnx").weights["w"]
    assert ref.file == str(tmp_path / "real" / "data.bin")


def test_small_and_empty_tensors_are_references_too(tmp_path: Path) -> None:
    ref = scan(write(tmp_path, dims=(2,), location="data.bin", length="8")).weights["w"]
    assert ref.load().tobytes() == floats(COUNT)[:2].tobytes()
    empty = scan(write(tmp_path, dims=(0, 4), location="data.bin", length="0")).weights["w"]
    assert empty.load().shape == (0, 4)


@pytest.mark.parametrize(
    "location",
    [
        "/etc/passwd",
        "/",
        "//host/share",
        "../data.bin",
        "..",
        "sub/../../data.bin",
        "sub/../data.bin",
        "./../data.bin",
        "C:\\data.bin",
        "C:data.bin",
        "..\\data.bin",
        "\\data.bin",
        "\\\\host\\share\\data.bin",
        "sub\\..\\data.bin",
        ".",
        "sub",
        "fifo",
        "outside",
        "outside-folder/data.bin",
        "chain",
        "zero",
    ],
)
def test_places_outside(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "model"
    path = write(folder, location=location)
    (tmp_path / "data.bin").write_bytes(bytes(NBYTES))
    (folder / "sub").mkdir()
    (folder / "sub" / "data.bin").write_bytes(bytes(NBYTES))
    os.mkfifo(folder / "fifo")
    (folder / "outside").symlink_to("../data.bin")
    (folder / "outside-folder").symlink_to(tmp_path)
    (folder / "chain").symlink_to("outside")
    (folder / "zero").symlink_to("/dev/zero")
    assert refused(path).code == "external-data-outside"


@pytest.mark.parametrize("location", ["none.bin", "none/data.bin", "data.bin/x", "dangling"])
def test_missing_files(tmp_path: Path, location: str) -> None:
    path = write(tmp_path, location=location)
    (tmp_path / "dangling").symlink_to("gone.bin")
    assert refused(path).code == "external-data-missing"


@pytest.mark.parametrize(
    "values",
    [
        {"offset": "1", "length": str(NBYTES)},
        {"offset": str(NBYTES + 4)},
        {"offset": str(2 * NBYTES)},
        {"offset": str(2 * NBYTES + 1)},
        {"offset": "9" * 18},
    ],
)
def test_short_files(tmp_path: Path, values: dict[str, Any]) -> None:
    path = write(tmp_path, location="data.bin", **values)
    if values["offset"] == "1":
        (tmp_path / "data.bin").write_bytes(bytes(NBYTES))
    error = refused(path)
    assert error.code == "external-data-short"
    assert str(tmp_path) not in str(error.message)


@pytest.mark.parametrize("key", ["offset", "length"])
@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "+1",
        "",
        " ",
        " 1",
        "1 ",
        "1.0",
        "1e3",
        "0x10",
        "abc",
        "1_000",
        "٣",
        "²",
        "1\0",
        "9" * 19,
    ],
)
def test_bad_numbers(tmp_path: Path, key: str, text: str) -> None:
    error = refused(write(tmp_path, **{"location": "data.bin", key: text}))
    assert error.code == "external-data-invalid"


@pytest.mark.parametrize("length", [0, 1, NBYTES - 1, NBYTES + 1, 2 * NBYTES])
def test_a_length_that_is_not_the_tensors(tmp_path: Path, length: int) -> None:
    error = refused(write(tmp_path, location="data.bin", length=str(length)))
    assert error.code == "tensor-size-mismatch"
    assert str(NBYTES) in str(error.cause)
    assert str(length) in str(error.cause)


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [("offset", "0")],
        [("location", "")],
        [("location", "data.bin\0.png")],
        [("location", "data.bin"), ("location", "other.bin")],
        [("location", "data.bin"), ("offset", "0"), ("offset", "4")],
        [("location", "data.bin"), ("length", "0"), ("length", str(NBYTES))],
        [("xyntra.weight", "w")],
    ],
)
def test_invalid_entries(tmp_path: Path, entries: list[tuple[str, str]]) -> None:
    assert refused(write(tmp_path, entries=entries)).code == "external-data-invalid"


def test_a_loop_of_links(tmp_path: Path) -> None:
    path = write(tmp_path, location="loop")
    (tmp_path / "loop").symlink_to("loop")
    assert refused(path).code in ("external-data-invalid", "external-data-missing")


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    path = write(tmp_path, location="x" * 5000)
    assert refused(path).code in ("external-data-invalid", "external-data-missing")


@pytest.mark.parametrize("dims", [(-1,), (2**40, 2**40), (2**62,)])
def test_bad_shapes(tmp_path: Path, dims: tuple[int, ...]) -> None:
    assert refused(write(tmp_path, dims=dims, location="data.bin")).code == "tensor-shape-invalid"


def test_terabytes(tmp_path: Path) -> None:
    path = write(tmp_path, dims=(2**40,), location="data.bin")
    assert refused(path).code == "external-data-short"


@pytest.mark.parametrize("data_type", [TensorProto.STRING, TensorProto.FLOAT6E2M3])
def test_dtypes_that_cannot_be_external(tmp_path: Path, data_type: int) -> None:
    with pytest.raises(UnsupportedError) as caught:
        scan(write(tmp_path, data_type=data_type, location="data.bin"))
    assert caught.value.code == "tensor-dtype-unsupported"


@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("attribute", ["value", "other"])
def test_attributes_of_other_nodes_may_not_point_to_files(attribute: str, several: bool) -> None:
    tensor = TensorProto(dims=[1], data_type=1, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="data.bin")
    given = {attribute: [tensor, tensor] if several else tensor}
    node = helper.make_node("ConstantOfShape", ["s"], ["y"], **given)
    graph = helper.make_graph([node], "graph", [], [])
    with pytest.raises(UnsupportedError) as caught:
        scan(helper.make_model(graph).SerializeToString())
    assert caught.value.code == "external-data-attribute"


def test_a_model_given_as_bytes_needs_a_directory(tmp_path: Path) -> None:
    data = write(tmp_path, location="data.bin").read_bytes()
    with pytest.raises(ModelError) as caught:
        scan(data)
    assert caught.value.code == "external-data-no-directory"
    assert "base_dir" in str(caught.value.hint)
    for base in (tmp_path, str(tmp_path)):
        weight = scan(data, base_dir=base).weights["w"]
        assert weight.load().tobytes() == floats(COUNT).tobytes()


def test_a_changed_data_file_is_refused(tmp_path: Path) -> None:
    ref = scan(write(tmp_path, location="data.bin")).weights["w"]
    (tmp_path / "data.bin").write_bytes(bytes(NBYTES))
    with pytest.raises(ModelError) as caught:
        ref.load()
    assert caught.value.code == "weights-changed"


def test_the_skeleton_names_no_file(tmp_path: Path) -> None:
    skeleton = scan(write(tmp_path, location="data.bin", length=str(NBYTES))).skeleton
    (tensor,) = onnx.ModelProto.FromString(skeleton).graph.initializer
    assert [(entry.key, entry.value) for entry in tensor.external_data] == [("xyntra.weight", "w")]
    assert b"data.bin" not in skeleton
