# SPDX-License-Identifier: MIT OR Apache-2.0
"""MLIR models take their weights from their own folder, and from one that the user names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import xyntra
from xyntra.errors import ModelError

Settings = dict[str, object]
WEIGHTS = np.arange(400, dtype=np.float32)
TEXT = """module attributes {{xyntra.parameters = "{0}"}} {{
func.func @main(%w: tensor<400xf32> {{xyntra.parameter = "w"}}) -> tensor<400xf32> {{
  %e = tensor.empty() : tensor<400xf32>
  %y = linalg.negf ins(%w : tensor<400xf32>) outs(%e : tensor<400xf32>) -> tensor<400xf32>
  return %y : tensor<400xf32>
}}
}}
"""


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return a folder for models, and another one, each with the same weights."""
    graph = helper.make_graph(
        [helper.make_node("Neg", ["w"], ["y"])],
        "g",
        [],
        [helper.make_tensor_value_info("y", 1, [400])],
        [numpy_helper.from_array(WEIGHTS, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    for name in ("own", "private"):
        (tmp_path / name).mkdir()
        onnx.save(model, tmp_path / name / "w.onnx")
    return tmp_path / "own", tmp_path / "private"


def run(folder: Path, name: str, settings: Settings, **more: Any) -> None:
    (folder / "m.mlir").write_text(TEXT.format(name))
    exe = xyntra.compile(folder / "m.mlir", config={**settings, **more})
    np.testing.assert_array_equal(exe(), -WEIGHTS)


def refuse(model: Any, settings: Settings, **more: Any) -> None:
    with pytest.raises(ModelError) as caught:
        xyntra.compile(model, config={**settings, **more})
    assert caught.value.code == "parameters-outside"
    assert "--parameters-root" in str(caught.value)


def test_its_own_folder_is_read(folders: tuple[Path, Path], settings: Settings) -> None:
    own, _ = folders
    run(own, "w.onnx", settings)
    run(own, str(own / "w.onnx"), settings)
    run(own, "../own/w.onnx", settings)


@pytest.mark.parametrize("absolute", [True, False])
def test_another_folder_is_not(
    folders: tuple[Path, Path], settings: Settings, absolute: bool
) -> None:
    own, private = folders
    name = str(private / "w.onnx") if absolute else "../private/w.onnx"
    (own / "m.mlir").write_text(TEXT.format(name))
    refuse(own / "m.mlir", settings)
    refuse(own / "m.mlir", settings, parameters_root=str(own))
    run(own, name, settings, parameters_root=str(private))


def test_a_link_to_elsewhere_is_not(folders: tuple[Path, Path], settings: Settings) -> None:
    own, private = folders
    (own / "link.onnx").symlink_to(private / "w.onnx")
    (own / "m.mlir").write_text(TEXT.format("link.onnx"))
    refuse(own / "m.mlir", settings)
    run(own, "link.onnx", settings, parameters_root=str(private))


def test_a_name_is_looked_up_in_the_named_folder(
    folders: tuple[Path, Path], settings: Settings
) -> None:
    own, private = folders
    (own / "w.onnx").unlink()
    run(own, "w.onnx", settings, parameters_root=str(private))


def test_text_has_no_folder(
    folders: tuple[Path, Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, _ = folders
    monkeypatch.chdir(own)
    refuse(TEXT.format("w.onnx"), settings)
    refuse(TEXT.format(own / "w.onnx"), settings)
    exe = xyntra.compile(TEXT.format("w.onnx"), config={**settings, "parameters_root": "."})
    np.testing.assert_array_equal(exe(), -WEIGHTS)
