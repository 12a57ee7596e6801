# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models with free dimensions: one compilation, all sizes, right numbers and clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError, UnsupportedError
from xyntra.executable import Executable
from xyntra.tools import cli

Settings = dict[str, Any]
Array = np.ndarray[Any, Any]
SIZES = ((1, 1), (1, 2), (2, 1), (3, 5), (2, 7), (1, 13), (4, 64), (3, 61), (1, 100))
RANGES = {"batch": range(1, 5), "seq": range(1, 101)}


def _encoder() -> onnx.ModelProto:
    """A layer of one head: products, a bias, attention with a mask, a softmax over a free axis."""
    return make_model(
        [
            ("MatMul", ["x", "w"], ["q"]),
            ("MatMul", ["x", "v"], ["k"]),
            onnx.helper.make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
            ("MatMul", ["q", "t"], ["s"]),
            ("Add", ["s", "m"], ["a"]),
            onnx.helper.make_node("Softmax", ["a"], ["p"], axis=-1),
            ("MatMul", ["p", "x"], ["y"]),
            ("Add", ["y", "b"], ["z"]),
            ("Relu", ["z"], ["h"]),
        ],
        {"x": ["batch", "seq", 32], "m": ["batch", 1, "seq"]},
        ["h", "p"],
        {"w": _drawn(1, 32, 48), "v": _drawn(2, 32, 48), "b": _drawn(3, 32)},
    )


def _drawn(seed: int, *shape: int) -> Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return (values / np.sqrt(shape[0])).astype(np.float32)


def _expected(x: Array, m: Array) -> tuple[Array, Array]:
    x, m = x.astype(np.float64), m.astype(np.float64)
    scores = (x @ _drawn(1, 32, 48)) @ (x @ _drawn(2, 32, 48)).swapaxes(1, 2) + m
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.maximum(weights @ x + _drawn(3, 32), 0), weights


@pytest.fixture(scope="module")
def encoder() -> Executable:
    settings = {"cache": False, "strict": True}
    return xyntra.compile(_encoder(), target="cpu", dims=RANGES, config=settings)


def _inputs(batch: int, seq: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(batch * 1000 + seq)
    x = rng.standard_normal((batch, seq, 32)).astype(np.float32)
    m = np.where(rng.random((batch, 1, seq)) < 0.3, -1e4, 0).astype(np.float32)
    return x, m


@pytest.mark.parametrize(("batch", "seq"), SIZES)
def test_one_executable_takes_all_sizes(encoder: Executable, batch: int, seq: int) -> None:
    x, m = _inputs(batch, seq)
    for found, expected in zip(encoder(x, m), _expected(x, m), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_sizes_are_kept_for_a_while_and_can_come_back(encoder: Executable) -> None:
    for seq in (*range(1, 40), 1, 39):
        x, m = _inputs(1, seq)
        np.testing.assert_allclose(encoder(x, m)[0], _expected(x, m)[0], rtol=1e-4, atol=1e-5)


def test_results_go_where_they_are_wanted(encoder: Executable) -> None:
    x, m = _inputs(2, 9)
    out = [np.empty((2, 9, 32), np.float32), np.empty((2, 9, 9), np.float32)]
    encoder(x, m, out=out)
    np.testing.assert_allclose(out[1], _expected(x, m)[1], rtol=1e-4, atol=1e-5)
    before = np.full((2, 8, 32), 7, np.float32)
    with pytest.raises(InputError, match=r"of shape \(2, 9, 32\)"):
        encoder(x, m, out=[before, out[1]])
    assert (before == 7).all()


def test_a_saved_model_takes_all_sizes(encoder: Executable, tmp_path: Path) -> None:
    encoder.save(tmp_path / "model.xyn")
    loaded = xyntra.load(tmp_path / "model.xyn")
    x, m = _inputs(3, 17)
    np.testing.assert_array_equal(loaded(x, m)[0], encoder(x, m)[0])


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        (((1, 101, 32), (1, 1, 101)), "seq = 101 is not in its range, 1 to 100"),
        (((1, 0, 32), (1, 1, 0)), "seq = 0 is not in its range"),
        (((5, 3, 32), (5, 1, 3)), "batch = 5 is not in its range, 1 to 4"),
        (((2, 16, 32), (2, 1, 17)), "input 'x' bound seq = 16"),
        (((2, 16, 32), (1, 1, 16)), "input 'x' bound batch = 2"),
        (((2, 16, 31), (2, 1, 16)), "dimension 2 has to be 32"),
        (((2, 16), (2, 1, 16)), "give an array of 3 dimensions"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    encoder: Executable, shapes: tuple[tuple[int, ...], ...], says: str
) -> None:
    with pytest.raises(InputError) as caught:
        encoder(*(np.zeros(shape, np.float32) for shape in shapes))
    assert caught.value.code == "input-shape"
    assert says in str(caught.value)


def test_what_is_free_is_explained(encoder: Executable) -> None:
    text = encoder.explain()
    assert "seq: 1 to 100" in text
    assert "tiles of 1 row" in text
    assert "(batch, seq, 32)" in repr(encoder)


def test_measured_kernels_are_those_of_the_sizes(encoder: Executable) -> None:
    x, m = _inputs(1, 5)
    assert len(encoder.time_kernels({"x": x, "m": m})) == len(encoder.kernels)


SUM = make_model([("Add", ["x", "y"], ["z"])], {"x": ["n", 3], "y": ["n", 3]}, ["z"])


def test_sizes_in_steps_are_checked() -> None:
    dims = {"n": range(8, 65, 8)}
    exe = xyntra.compile(SUM, target="cpu", dims=dims, config={"cache": False})
    x = np.ones((24, 3), np.float32)
    np.testing.assert_array_equal(exe(x, x), x + x)
    with pytest.raises(InputError, match="8 to 64 in steps of 8"):
        exe(x[:20], x[:20])


def test_dimensions_get_names_in_shapes() -> None:
    model = make_model([("Abs", ["x"], ["z"])], {"x": ["?", 3]}, ["z"])
    given: dict[str, Any] = {"inputs": {"x": ("n", 3)}, "dims": {"n": range(1, 65)}}
    exe = xyntra.compile(model, target="cpu", config={"cache": False}, **given)
    assert exe(np.full((5, 3), -1, np.float32)).tolist() == [[1, 1, 1]] * 5
    with pytest.raises(InputError, match="the size of 'm' is not given"):
        xyntra.compile(model, inputs={"x": ("m", 3)}, config={"cache": False})


def test_the_command_takes_ranges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sum.onnx"
    onnx.save(SUM, path)
    saved = tmp_path / "sum.xyn"
    given = ["--target", "cpu", "--no-cache", "--dim"]
    assert cli.run(["compile", str(path), *given, "n=1:64", "-o", str(saved)]) == 0
    x = np.ones((7, 3), np.float32)
    np.testing.assert_array_equal(xyntra.load(saved)(x, x), x + x)
    assert cli.run(["compile", str(path), *given, "n=64:1", "-o", str(saved)]) != 0
    assert "cannot have the sizes" in capsys.readouterr().err
    assert cli.run(["compile", str(path), *given, "n=1:64", "--emit", "linalg"]) != 0
    assert "texts of a model have one size" in capsys.readouterr().err


@pytest.mark.parametrize("sizes", [range(1), range(-1, 9), range(5, 1), range(9, 1, -1)])
def test_ranges_without_sizes_are_refused(sizes: range) -> None:
    with pytest.raises(InputError) as caught:
        xyntra.compile(SUM, dims={"n": sizes})
    assert caught.value.code == "dimension-range"


def test_other_gpus_have_no_free_dimensions_yet() -> None:
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(SUM, target="webgpu", dims={"n": range(1, 9)})
    assert caught.value.code == "free-dimension"


def test_constants_are_repeated_as_often_as_a_size_says() -> None:
    row = np.array([[1, 2, 3]], np.float32)
    nodes = [("Shape", ["x"], ["s"]), ("Expand", ["row", "s"], ["z"])]
    model = make_model(nodes, {"x": ["n", 3]}, ["z"], {"row": row})
    dims = {"n": range(1, 65)}
    exe = xyntra.compile(model, target="cpu", dims=dims, config={"cache": False})
    for n in (1, 7, 64):
        found = exe(np.zeros((n, 3), np.float32))
        np.testing.assert_array_equal(found, np.repeat(row, n, 0))


def test_a_model_that_is_another_at_other_sizes_is_refused() -> None:
    # What a constant holds depends on the size: one hot at the last place.
    model = make_model(
        [
            ("Shape", ["x"], ["s"]),
            onnx.helper.make_node("Cast", ["s"], ["f"], to=1),
            ("Exp", ["f"], ["z"]),
        ],
        {"x": ["n", 3]},
        ["z"],
    )
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(model, target="cpu", dims={"n": range(1, 65)}, config={"cache": False})
    assert caught.value.code == "free-dimension"


def test_attention_of_few_heads_is_blocked_at_every_batch() -> None:
    """Whether blocks of queries are shared out must not depend on how many heads a call has."""
    nodes = [
        *(("Reshape", [name, "shape"], [f"{name}1"]) for name in "qkv"),
        onnx.helper.make_node("Transpose", ["q1"], ["q2"], perm=[0, 2, 1, 3]),
        onnx.helper.make_node("Transpose", ["k1"], ["k2"], perm=[0, 2, 3, 1]),
        onnx.helper.make_node("Transpose", ["v1"], ["v2"], perm=[0, 2, 1, 3]),
        ("MatMul", ["q2", "k2"], ["s"]),
        onnx.helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        ("MatMul", ["p", "v2"], ["y"]),
    ]
    inputs: dict[str, Any] = {name: ["batch", "seq", 64] for name in "qkv"}
    model = make_model(nodes, inputs, ["y"], {"shape": np.array([0, 0, 4, 16])})
    exe = xyntra.compile(model, target="cpu", dims=RANGES, config={"cache": False})
    assert "attention" in {kernel.kind for kernel in exe.kernels}
    assert "plain loops" not in exe.explain()
    for batch, seq in SIZES:
        arrays = np.random.default_rng(seq).standard_normal((3, batch, seq, 64)).astype(np.float32)
        q, k, v = arrays.reshape(3, batch, seq, 4, 16).swapaxes(2, 3).astype(np.float64)
        weights = np.exp(q @ k.swapaxes(2, 3))
        expected = weights / weights.sum(-1, keepdims=True) @ v
        np.testing.assert_allclose(exe(*arrays), expected, rtol=1e-4, atol=1e-5)


def test_what_is_left_behind_blocks_of_a_long_row_is_written() -> None:
    """At all samples, and at usual sizes, nothing is left."""
    model = make_model(
        [("Pad", ["x", "pads", "value"], ["z"])],
        {"x": ["n", 1024]},
        ["z"],
        {"pads": np.array([0, 0, 3, 0]), "value": np.float32(1.5)},
    )
    dims = {"n": range(1, 7)}
    exe = xyntra.compile(model, target="cpu", dims=dims, config={"cache": False, "strict": True})
    for n in range(1, 7):
        x = np.full((n, 1024), -1, np.float32)
        out = np.full((n + 3, 1024), 7, np.float32)
        exe(x, out=[out])
        np.testing.assert_array_equal(out[:n], x)
        assert (out[n:] == 1.5).all()
