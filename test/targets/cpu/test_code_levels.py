# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models are printed as scheduled nests, and compiled on from the text, edited or not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_models import mlp, mlp_reference

import xyntra
from verify.random_models.command import KINDS, draw
from verify.random_models.compile import to_onnx
from xyntra.compiler.driver import emit_level
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.config import load_config
from xyntra.errors import CompileError, ModelError
from xyntra.executable import Executable


@pytest.fixture(autouse=True)
def _quick(in_process: None) -> None:
    """Compile in this process."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.onnx"
    onnx.save(mlp(), file)
    return file


def emitted(model: object) -> str:
    source = replace(open_source(model), trusted=True)
    return emit_level(source, Sizes(), load_config(), "stages").decode()


def trusted(text: str, folder: Path) -> Executable:
    """Compile text that takes weights from a folder."""
    return xyntra.compile(text, trust_code=True, config={"parameters_root": folder})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [5, 6])
def test_text_of_a_model_is_compiled_to_the_same_code(kind: str, seed: int, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    onnx.save(to_onnx(draw(kind, seed)), file)
    text, wanted = emitted(file), xyntra.compile(file).artifact
    assert 'xyntra.target = "cpu"' in text
    found = trusted(text, tmp_path).artifact
    assert found.objects == wanted.objects
    assert replace(found.plan, parameter_file="") == wanted.plan
    assert emitted(text) == text


def test_an_edited_schedule_gives_right_numbers(path: Path) -> None:
    text = emitted(path)
    edited, count = re.subn(r"(tile = )\[\d+, (\d+)\]", r"\1[2, \2]", text)
    assert count
    assert edited != text
    exe = trusted(edited, path.parent)
    assert "tile [2, " in " ".join(exe.kernels[0].schedules)
    x = np.random.default_rng().standard_normal(exe.inputs[0].shape).astype(np.float32)
    (y,) = exe.run({exe.inputs[0].name: x}).values()
    np.testing.assert_allclose(y, mlp_reference(mlp(), x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (r"tile = \[\d+, \d+\]", "tile = [999, 3]", ""),
        (r'emitter = "register-tiles"', 'emitter = "register-tyles"', "register-tyles"),
        ("tile = ", "tyle = ", "did you mean 'tile'"),
    ],
)
def test_an_illegal_schedule_is_refused(old: str, new: str, part: str, path: Path) -> None:
    text = emitted(path)
    edited, count = re.subn(old, new, text, count=1)
    assert count
    line = next(n for n, each in enumerate(edited.splitlines(), 1) if new in each)
    with pytest.raises(CompileError) as info:
        trusted(edited, path.parent)
    assert info.value.code == "bad-schedule"
    assert "kernel '" in str(info.value.place)
    assert f":{line}:" in str(info.value.place)
    assert part in info.value.message


def test_code_is_refused_unless_it_is_trusted(path: Path) -> None:
    text = emitted(path)
    trusted(text, path.parent)
    with pytest.raises(ModelError, match="machine-level code") as info:
        xyntra.compile(text, config={"parameters_root": path.parent})
    assert info.value.code == "untrusted-code"
