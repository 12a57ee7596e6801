# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sizes of named dimensions, from the arguments of `compile` to the errors of a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError, XyntraError
from xyntra.tools import cli

Settings = dict[str, object]
MODEL = make_model([("Add", ["x", "y"], ["z"])], {"x": ["batch", 3], "y": ["batch", 3]}, ["z"])
MLIR = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"


def test_a_dimension_is_bound_by_name(settings: Settings) -> None:
    exe = xyntra.compile(MODEL, dims={"batch": 4}, config=settings)
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    np.testing.assert_array_equal(exe(x, x), x + x)


@pytest.mark.parametrize("size", [[1, 2], slice(1, 5), (1, 8), {1}])
def test_other_collections_than_ranges_are_refused(size: Any, settings: Settings) -> None:
    with pytest.raises(InputError, match="expected sizes") as caught:
        xyntra.compile(MODEL, dims={"batch": size}, config=settings)
    assert caught.value.code == "shape-type"


@pytest.mark.parametrize("dims", [{"batch": 1.5}, {"batch": "2"}, {1: 2}, 5, {"batch": True}])
def test_what_is_no_size_is_refused(dims: Any, settings: Settings) -> None:
    with pytest.raises(InputError) as caught:
        xyntra.compile(MODEL, dims=dims, config=settings)
    assert caught.value.code == "shape-type"
    assert "dims" in str(caught.value.place)


def test_one_size_as_a_shape_leads_to_dims(settings: Settings) -> None:
    with pytest.raises(InputError, match="'batch': 7"):
        xyntra.compile(MODEL, inputs={"batch": 7}, config=settings)


def test_mlir_has_no_named_dimensions(settings: Settings) -> None:
    with pytest.raises(InputError) as caught:
        xyntra.compile(MLIR, dims={"batch": 1}, config=settings)
    assert caught.value.code == "unknown-dimension"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"dims": {"batch": 1}}, "dims={'batch': 2}"),
        ({"inputs": {"y": (1, 3)}}, "inputs={'x': (2, 3)}"),
    ],
)
def test_a_call_says_what_fixed_the_shape(
    arguments: dict[str, Any], says: str, tmp_path: Path, settings: Settings
) -> None:
    exe = xyntra.compile(MODEL, **arguments, config=settings)
    exe.save(tmp_path / "m.xyn")
    for each in (exe, xyntra.load(tmp_path / "m.xyn")):
        with pytest.raises(InputError) as caught:
            each(np.zeros((2, 3), np.float32), np.zeros((1, 3), np.float32))
        assert f"dimension 0 has size 1 by {next(iter(arguments))}[" in str(caught.value.cause)
        assert says in str(caught.value.hint)
    # What the message says to do takes the array.
    again = eval(f"dict({says})")  # noqa: S307  (our own text)
    exe = xyntra.compile(MODEL, **again, config=settings)
    assert exe(*[np.zeros((2, 3), np.float32)] * 2).shape == (2, 3)


def test_a_size_of_the_model_cannot_be_changed(settings: Settings) -> None:
    exe = xyntra.compile(MODEL, dims={"batch": 1}, config=settings)
    with pytest.raises(InputError) as caught:
        exe(np.zeros((2, 4), np.float32), np.zeros((1, 3), np.float32))
    assert "dimension 1 has size 3 by the model itself" in str(caught.value.cause)
    assert caught.value.hint == "give an array of the shape (1, 3)"


def test_text_that_was_emitted_keeps_what_fixed_the_shape(settings: Settings) -> None:
    from xyntra.compiler.driver import emit_level
    from xyntra.compiler.inputs.sizes import Sizes
    from xyntra.compiler.inputs.source import open_source
    from xyntra.config import load_config

    source = open_source(MODEL)
    text = emit_level(source, Sizes(dims={"batch": 1}), load_config(settings), "kernels")
    exe = xyntra.compile(text, config=settings)
    assert [port.fixed_by for port in exe.inputs] == [("dims['batch']", "")] * 2


@pytest.mark.parametrize("option", ["--dim", "--shape"])
def test_the_command_line_binds_dimensions(
    option: str,
    tmp_path: Path,
    in_process: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(MODEL, "m.onnx")
    assert cli.run(["run", "m.onnx", option, "batch=2", "--random", "0"]) == 0
    assert "float32 (2, 3)" in capsys.readouterr().out
    assert cli.run(["compile", "m.onnx", option, "bach=2"]) == 1
    assert "did you mean 'batch'?" in capsys.readouterr().err
    for wrong in ("batch=1..8", "batch=1:8:0", "batch=x", "=3"):
        with pytest.raises(SystemExit):
            cli.run(["compile", "m.onnx", "--dim", wrong])
        assert wrong in capsys.readouterr().err


def test_both_ways_make_one_artifact(settings: Settings) -> None:
    by_dim = xyntra.compile(MODEL, dims={"batch": 2}, config=settings)
    by_shape = xyntra.compile(MODEL, inputs=[(2, 3)], config=settings)
    assert by_dim.plan.kernels.keys() == by_shape.plan.kernels.keys()
    with pytest.raises(XyntraError):
        xyntra.compile(MODEL, dims={"batch": 2}, inputs=[(3, 3)], config=settings)
