# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whatever is wrong with a model, a typed error says so, and the next model compiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_files import BAD_FILES
from bad_graphs import BAD_GRAPHS
from bad_mlir import BAD_MLIR
from bad_models import BadFile
from onnx_models import chain, make_model

import xyntra
from xyntra.errors import (
    ConfigError,
    InputError,
    ModelError,
    UnsupportedError,
    WorkerError,
    XyntraError,
)

Settings = dict[str, object]

MODELS = {**BAD_FILES, **BAD_GRAPHS, **BAD_MLIR}
X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)


def check_error(error: XyntraError, kind: type[XyntraError], code: str, says: str) -> None:
    """Compare an error with what it should be; `internal-error` and the like never are."""
    assert type(error) is kind
    assert error.code == code
    text = str(error)
    assert text.startswith(f"error[{code}]: ")
    assert says in text
    assert xyntra.XyntraError.from_dict(error.to_dict()).to_dict() == error.to_dict()


def check_good_model(settings: Settings) -> None:
    """Compile a model, or find it in the cache, and run it."""
    found = xyntra.compile(chain(), config=settings)(X, X)
    np.testing.assert_array_equal(found, np.maximum(X + X, 0) * 2)


@pytest.mark.parametrize("bad", MODELS.values(), ids=MODELS)
def test_a_bad_model_is_refused(bad: BadFile, tmp_path: Path, settings: Settings) -> None:
    path = bad.make(tmp_path)
    with pytest.raises(XyntraError) as caught:
        xyntra.compile(path, inputs=bad.shapes, config={**settings, **bad.config})
    check_error(caught.value, bad.kind, bad.code, bad.says)
    place = str(caught.value.place)
    assert str(path) in place or place.startswith("inputs")
    check_good_model(settings)


BAD_SHAPES: dict[str, Any] = {
    "a number": 5,
    "text": "x",
    "a set": {(2, 3)},
    "text as shape": {"x": "23"},
    "a fraction": {"x": (2.5, 3)},
    "nested": {"x": [[[2, 3]]]},
    "a number as name": {1: (2, 3)},
    "nothing in order": [None],
    "numbers in order": [2, 3],
    "a size below zero": {"x": (-2, 3)},
}
FREE = make_model([("Add", ["x", "y"], ["z"])], {"x": ["n", 3], "y": ["n", 3]}, ["z"])


@pytest.mark.parametrize("shapes", BAD_SHAPES.values(), ids=BAD_SHAPES)
def test_what_is_no_shape_is_refused(shapes: Any, settings: Settings) -> None:
    with pytest.raises(InputError) as caught:
        xyntra.compile(FREE, inputs=shapes, config=settings)
    assert caught.value.code in ("shape-type", "shape-mismatch")
    assert caught.value.place is not None
    assert caught.value.place.startswith("inputs")


def test_a_name_without_a_size_and_a_sequence_that_is_none_are_refused(settings: Settings) -> None:
    with pytest.raises(InputError) as caught:
        xyntra.compile(FREE, inputs={"x": ("2", "3")}, config=settings)
    check_error(caught.value, InputError, "unknown-dimension", "inputs['x']")
    with pytest.raises(InputError) as caught:
        xyntra.compile(FREE, inputs={"x": [[2, 3]]}, config=settings)
    check_error(caught.value, InputError, "unknown-input", "x[0]")


def test_too_many_shapes_are_refused(settings: Settings) -> None:
    with pytest.raises(InputError) as caught:
        xyntra.compile(FREE, inputs=[(2, 3)] * 3, config=settings)
    check_error(caught.value, InputError, "unknown-input", "x, y")


MLIR = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"


@pytest.mark.parametrize(
    ("shapes", "code"),
    [
        ([(3,)], "shape-mismatch"),
        ({"input0": (2, 1)}, "shape-mismatch"),
        ({"y": (2,)}, "unknown-input"),
    ],
    ids=["another size", "another rank", "another name"],
)
def test_shapes_of_mlir_must_be_its_own(shapes: Any, code: str, settings: Settings) -> None:
    with pytest.raises(InputError) as caught:
        xyntra.compile(MLIR, inputs=shapes, config=settings)
    assert caught.value.code == code
    compiled = xyntra.compile(MLIR, inputs={"input0": (2,)}, config=settings)
    np.testing.assert_array_equal(compiled(X[0, :2]), X[0, :2])


OBJECTS: dict[str, tuple[Any, type[XyntraError], str]] = {
    "None": (None, InputError, "model-type"),
    "a number": (5, InputError, "model-type"),
    "a list": ([], InputError, "model-type"),
    "a class": (Path, InputError, "model-type"),
    "no bytes": (b"", ModelError, "model-empty"),
    "other bytes": (b"\x00\x01", ModelError, "model-not-onnx"),
    "an empty path": ("", ModelError, "model-not-file"),
    "a path with a zero": ("a\0b", ModelError, "model-unreadable"),
    "a saved model": ("m.xyn", InputError, "model-compiled"),
    "text that is cut": ("module {\n", ModelError, "mlir-invalid"),
}


@pytest.mark.parametrize(("model", "kind", "code"), OBJECTS.values(), ids=OBJECTS)
def test_what_is_no_model_is_refused(
    model: Any, kind: type[XyntraError], code: str, settings: Settings
) -> None:
    with pytest.raises(XyntraError) as caught:
        xyntra.compile(model, config=settings)
    check_error(caught.value, kind, code, "")


CONFIGS: dict[str, tuple[dict[str, Any], type[XyntraError], str, str]] = {
    "unknown setting": ({"config": {"fusee": True}}, ConfigError, "config-unknown", "fusee"),
    "wrong type": ({"config": {"fuse": "maybe"}}, ConfigError, "config-value", "fuse"),
    "out of range": ({"config": {"opt_level": 9}}, ConfigError, "config-value", "opt_level"),
    "no mapping": ({"config": 5}, ConfigError, "config-type", "int"),
    "missing file": ({"config": "gone.toml"}, ConfigError, "config-unreadable", "gone.toml"),
    "no target": ({"target": "!"}, ConfigError, "config-value", "target"),
    "unknown target": ({"target": "abacus"}, UnsupportedError, "target-unsupported", "abacus"),
    "no precision": ({"precision": "f99"}, ConfigError, "config-value", "precision"),
    "tf32 on the CPU": ({"precision": "tf32"}, UnsupportedError, "precision-unsupported", "GPUs"),
}


@pytest.mark.parametrize(("options", "kind", "code", "says"), CONFIGS.values(), ids=CONFIGS)
def test_a_bad_setting_is_refused(
    options: dict[str, Any], kind: type[XyntraError], code: str, says: str, settings: Settings
) -> None:
    with pytest.raises(XyntraError) as caught:
        xyntra.compile(chain(), **options)
    check_error(caught.value, kind, code, says)
    check_good_model(settings)


def test_messages_on_precision_agree() -> None:
    with pytest.raises(ConfigError) as caught:
        xyntra.compile(chain(), precision="f99")
    offered = str(caught.value.message)
    known = '"f32", "f16", "bf16", "int8", "w8", "w4", on CPUs "w4a8", on GPUs "tf32" and "fp8"'
    assert offered == f"'precision' must be {known}, not 'f99'"
    compiled = xyntra.compile(chain(), precision="tf32", target="cuda:sm_90a")
    assert compiled.outputs[0].dtype == "float32"


def test_a_cache_that_is_a_file_is_not_used(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "cache").write_bytes(b"mine")
    own = {**settings, "cache_dir": str(tmp_path / "cache")}
    with pytest.warns(UserWarning, match="cache"):
        check_good_model(own)
    assert (tmp_path / "cache").read_bytes() == b"mine"


@pytest.mark.parametrize("size", [1, 1000])
def test_a_cache_without_room_is_no_error(tmp_path: Path, size: int, settings: Settings) -> None:
    own = {**settings, "cache_dir": str(tmp_path), "cache_size": size}
    check_good_model(own)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= size


def test_a_damaged_cache_entry_is_compiled_again(tmp_path: Path, settings: Settings) -> None:
    own = {**settings, "cache_dir": str(tmp_path)}
    check_good_model(own)
    entries = [p for p in tmp_path.rglob("*") if p.is_file() and p.name != "journal"]
    assert entries
    for entry in entries:
        data = entry.read_bytes()
        entry.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    check_good_model(own)


def test_a_worker_that_takes_long_is_ended() -> None:
    with pytest.raises(WorkerError) as caught:
        xyntra.compile(chain(), config={"cache": False, "compile_timeout": 0.001})
    check_error(caught.value, WorkerError, "worker-timeout", "0.001")


def test_a_worker_without_memory_is_a_typed_error(settings: Settings) -> None:
    with pytest.raises(WorkerError) as caught:
        xyntra.compile(chain(), config={"cache": False, "memory_limit": "100MiB"})
    check_error(caught.value, WorkerError, "worker-memory", "memory_limit")
    check_good_model(settings)
