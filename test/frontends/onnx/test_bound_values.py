# SPDX-License-Identifier: MIT OR Apache-2.0
"""Inputs that are bound to values when compiling, and what asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import xyntra
from xyntra.compiler.inputs.constants import MAX_BYTES
from xyntra.errors import InputError, UnsupportedError
from xyntra.tools import cli

RATES = {16000: 6, 8000: 3}
X = np.arange(12, dtype=np.float32).reshape(2, 6)


def branch(name: str, width: int) -> onnx.GraphProto:
    """Sums of rows of `width` elements, through a weight that fits no other width."""
    weight = numpy_helper.from_array(np.ones((width, 1), np.float32), f"w_{name}")
    node = helper.make_node("MatMul", ["x", f"w_{name}"], [f"y_{name}"], name=f"{name}/sum")
    return helper.make_graph(
        [node], name, [], [onnx.ValueInfoProto(name=f"y_{name}")], [weight]
    )  # fmt: skip


def rates_model(dims: list[int | str] | None = None, kind: int = TensorProto.INT64) -> bytes:
    """A model with one branch for each rate, as voice-activity detectors have it."""
    nodes = [
        helper.make_node("Equal", ["sr", "fast"], ["is_fast"]),
        helper.make_node(
            "If", ["is_fast"], ["y"], name="choose", then_branch=branch("then", RATES[16000]),
            else_branch=branch("else", RATES[8000]),
        ),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "rates",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "samples"]),
            helper.make_tensor_value_info("sr", kind, [] if dims is None else dims),
        ],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.array(16000, np.int64), "fast")],
    )
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def compiled(settings: Mapping[str, object], constants: Any, width: int) -> Any:
    shapes = {"x": (2, width)}
    return xyntra.compile(rates_model(), inputs=shapes, constants=constants, config=settings)


@pytest.mark.parametrize("isolate", [False, True])
def test_a_bound_input_picks_the_branch(settings: dict[str, object], isolate: bool) -> None:
    for rate, width in RATES.items():
        for value in (rate, np.array(rate)):
            executable = compiled({**settings, "isolate": isolate}, {"sr": value}, width)
            assert [port.name for port in executable.inputs] == ["x"]
            x = X[:, :width].copy()
            np.testing.assert_allclose(executable(x), x.sum(1, keepdims=True))


def test_values_are_part_of_the_key(settings: dict[str, object]) -> None:
    """Both branches fit: what is compiled differs by the value alone."""
    nodes = [helper.make_node("Mul", ["x", "k"], ["y"])]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xk"]
    graph = helper.make_graph(nodes, "g", values, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    for factor in (2.0, 3, float("inf")):
        executable = xyntra.compile(model, constants={"k": factor}, config=settings)
        np.testing.assert_array_equal(executable(np.ones(1, np.float32)), [factor])


@pytest.mark.parametrize("dims", [[], [1], ["one"], [1, 1]])
def test_one_number_fits_every_shape_of_one_element(
    settings: dict[str, object], dims: list[int | str]
) -> None:
    given = {"inputs": {"x": (2, 6)}, "constants": {"sr": 16000}}
    executable = xyntra.compile(rates_model(dims), **given, config=settings)
    np.testing.assert_allclose(executable(X), X.sum(1, keepdims=True))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "bool", "uint8", "float64"])
def test_arrays_of_all_dtypes(settings: dict[str, object], dtype: str) -> None:
    array = np.array([0, 1, 1], ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    values = [helper.make_tensor_value_info(n, kind, [3]) for n in "xk"]
    node = helper.make_node("Where", ["c", "x", "k"], ["y"])
    graph = helper.make_graph(
        [node], "g", values, [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.array([True, False, False]), "c")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    executable = xyntra.compile(model, constants={"k": array}, config=settings)
    found = executable(np.zeros_like(array))
    np.testing.assert_array_equal(found, np.array([0, 1, 1], array.dtype))


@pytest.mark.parametrize(
    ("constants", "code", "text"),
    [
        ({"rate": 1}, "unknown-input", "'rate'"),
        ({"sr": 1.5}, "constant-dtype", "bound to 1.5"),
        ({"sr": True}, "constant-dtype", "int64"),
        ({"sr": np.array(16000, np.int32)}, "constant-dtype", "an array of int32"),
        ({"sr": 2**70}, "constant-dtype", "int64"),
        ({"sr": [1, 2]}, "shape-mismatch", "(2,)"),
        ({"sr": [[1], [1, 2]]}, "constant-type", "expected numbers"),
        ({"sr": "fast"}, "constant-type", "expected numbers"),
        ({1: 2}, "constant-type", "no name"),
        (["sr"], "constant-type", "constants="),
        ({"x": np.zeros(MAX_BYTES)}, "constant-too-large", "too large"),
    ],
)
def test_values_that_do_not_fit(
    settings: dict[str, object], constants: Any, code: str, text: str
) -> None:
    with pytest.raises(InputError) as caught:
        compiled(settings, constants, 6)
    assert caught.value.code == code
    assert text in str(caught.value)


def test_integers_out_of_range(settings: dict[str, object]) -> None:
    model = rates_model(kind=TensorProto.INT32)
    with pytest.raises(InputError, match="out of the range of int32"):
        xyntra.compile(
            model, inputs={"x": (2, 6)}, constants={"sr": 2**40}, config=settings
        )  # fmt: skip


def test_a_branch_that_does_not_fit_names_the_input_to_bind(settings: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        compiled(settings, None, RATES[16000])(X, 8000)
    assert "--constant sr=VALUE, " in (caught.value.hint or "")
    assert "16000" in (caught.value.hint or "")
    with pytest.raises(InputError) as caught:
        compiled(settings, None, RATES[8000])(X[:, :3].copy(), 16000)
    assert "then/sum" in (caught.value.cause or "")
    assert "--constant sr=16000, or constants={'sr': 16000}" in (caught.value.hint or "")


def test_a_shape_from_an_input_names_the_input_to_bind(settings: dict[str, object]) -> None:
    nodes = [
        helper.make_node("Add", ["n", "n"], ["twice"]),
        helper.make_node("Expand", ["x", "twice"], ["y"]),
    ]
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]),
        helper.make_tensor_value_info("n", TensorProto.INT64, [1]),
    ]
    graph = helper.make_graph(nodes, "g", values, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    with pytest.raises(UnsupportedError, match="must be a constant") as caught:
        xyntra.compile(model, config=settings)
    assert caught.value.hint == "--constant n=VALUE, or constants={'n': VALUE}"
    executable = xyntra.compile(model, constants={"n": [2]}, config=settings)
    np.testing.assert_array_equal(executable(np.ones(1, np.float32)), np.ones(4))


@pytest.mark.usefixtures("in_process")
def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rates.onnx"
    path.write_bytes(rates_model())
    given = [str(path), "--shape", "x=2x6", "--constant", "sr=16000"]
    assert cli.run(["run", *given, "--random", "0", "--check", "onnxruntime"]) == 0
    assert "y: float32 (2, 1)" in capsys.readouterr().out
    assert cli.run(["explain", *given]) == 0
    assert cli.run(["compile", *given, "--emit", "linalg"]) == 0
    assert 'xyntra.input = "sr"' not in capsys.readouterr().out
    assert cli.run(["run", str(path), "--shape", "x=2x6", "--random", "0"]) != 0
    assert "sr does not equal 16000" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.run(["run", str(path), "--constant", "sr=fast"])
