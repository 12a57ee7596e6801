# SPDX-License-Identifier: MIT OR Apache-2.0
"""`--reproduce`: the smallest part of a model that fails as the whole does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import make_model

import xyntra
from xyntra.compiler.inputs.sizes import sizes_of
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.reproduce import reproduce
from xyntra.config import load_config
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.partition.fuse_operations import FuseOperations
from xyntra.tools.cli import run

SETTINGS: dict[str, object] = {"isolate": False, "jobs": 1}


def network() -> onnx.ModelProto:
    """Ten operations in a row with a branch, one of them Erf; `w` is kept outside of the model."""
    weights = {
        "w": np.random.default_rng(0).standard_normal((40, 40), dtype=np.float32),
        "b": np.ones(40, np.float32),
    }
    nodes = [
        ("MatMul", ["x", "w"], ["p"]),
        ("Add", ["p", "b"], ["q"]),
        ("Relu", ["q"], ["r"]),
        helper.make_node("Softmax", ["r"], ["s"], axis=-1),
        helper.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 1]),
        ("Erf", ["t"], ["e"]),
        ("MatMul", ["e", "r"], ["m"]),
        ("Tanh", ["m"], ["u"]),
        ("Exp", ["u"], ["v"]),
        ("Mul", ["v", "w"], ["y"]),
    ]
    return make_model(nodes, {"x": ["batch", 40, 40]}, ["y", "s"], weights)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let fusion fail on modules that hold all of some words."""
    usual = FuseOperations.run

    def fail_on(*words: str) -> None:
        def run(self: FuseOperations, module: ir.Operation) -> None:
            if all(word in str(module) for word in words):
                raise KeyError("a case that nobody foresaw")
            usual(self, module)

        monkeypatch.setattr(FuseOperations, "run", run)

    return fail_on


@pytest.mark.parametrize(
    ("words", "operators"),
    [(["math.erf"], ["Erf"]), (["math.erf", "math.tanh"], ["Erf", "MatMul", "Tanh"])],
)
def test_what_does_not_matter_is_left_out(
    words: list[str], operators: list[str], failing: Callable[..., None], tmp_path: Path
) -> None:
    failing(*words)
    source, sizes = open_source(network()), sizes_of(None, {"batch": 2})
    found = reproduce(source, sizes, load_config(SETTINGS), tmp_path / "new" / "folder")
    assert found is not None
    model = onnx.load(found.model)
    onnx.checker.check_model(model)
    assert set(operators) >= {node.op_type for node in model.graph.node}
    assert found.nodes == len(model.graph.node) <= len(operators)
    with pytest.raises(xyntra.XyntraError, match="a case that nobody foresaw"):
        xyntra.compile(found.model, config={**SETTINGS, "strict": True})
    report = (found.model.parent / "report.txt").read_text()
    assert "a case that nobody foresaw" in report
    assert "torch-mlir" in report


def test_a_bound_input_is_an_initializer_of_what_is_written(
    failing: Callable[..., None], tmp_path: Path
) -> None:
    """The shape that it holds has to be known for the model to compile at all."""
    failing("math.erf")
    nodes = [("Erf", ["x"], ["e"]), ("Expand", ["e", "sizes"], ["y"])]
    model = make_model(nodes, {"x": [1]}, ["y"])
    sizes = helper.make_tensor_value_info("sizes", onnx.TensorProto.INT64, ["rank"])
    model.graph.input.append(sizes)
    given = sizes_of(None, None, {"sizes": [2, 3]})
    found = reproduce(open_source(model), given, load_config(SETTINGS), tmp_path)
    assert found is not None
    assert [node.op_type for node in onnx.load(found.model).graph.node] == ["Erf"]


def test_weights_become_random_numbers(failing: Callable[..., None], tmp_path: Path) -> None:
    failing("arith.mulf", "linalg.generic")
    source = open_source(network())
    found = reproduce(source, sizes_of(None, {"batch": 1}), load_config(SETTINGS), tmp_path)
    assert found is not None
    stored = {each.name: onnx.numpy_helper.to_array(each) for each in
              onnx.load(found.model).graph.initializer}  # fmt: skip
    weights = {each.name: onnx.numpy_helper.to_array(each) for each in network().graph.initializer}
    assert all(array.shape == weights[name].shape for name, array in stored.items())
    assert "w" not in stored or not np.array_equal(stored["w"], weights["w"])


def test_a_model_that_compiles_is_not_written(tmp_path: Path) -> None:
    source = open_source(network())
    sizes = sizes_of(None, {"batch": 1})
    assert reproduce(source, sizes, load_config(SETTINGS), tmp_path / "none") is None
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("in_process")
def test_the_command_writes_text_as_it_is(
    failing: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    (tmp_path / "in.mlir").write_text(text)
    command = ["compile", str(tmp_path / "in.mlir"), "--reproduce", str(tmp_path / "out")]
    assert run(command) == 0
    assert "nothing to reproduce" in capsys.readouterr().out
    failing("math.exp")
    assert run(command) == 0
    assert "a case that nobody foresaw" in capsys.readouterr().out
    assert (tmp_path / "out" / "model.mlir").read_text() == text
