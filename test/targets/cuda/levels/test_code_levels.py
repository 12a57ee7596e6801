# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models are printed at every level below kernel functions, and compiled on from the text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from onnx import TensorProto
from onnx_models import make_model
from rate_models import SAMPLES, voice_model

import xyntra
from verify.random_models.command import KINDS, draw
from verify.random_models.compile import to_onnx
from xyntra.compiler.driver import emit_level
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.config import load_config
from xyntra.errors import CompileError, InputError, ModelError, UnsupportedError, XyntraError
from xyntra.executable import Executable
from xyntra.plan.artifact import Artifact
from xyntra.targets.table import TARGETS

TARGET = "cuda:sm_90a"
CODE_LEVELS = TARGETS["cuda"].levels


def weights() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(5)
    return {
        name: (generator.standard_normal(shape) / 8).astype(np.float16)
        for name, shape in {"a": (72, 64), "b": (64,), "c": (64, 40)}.items()
    }


def network() -> onnx.ModelProto:
    """Two layers, of f16: softmax(relu(x a + b) c)."""
    nodes = [
        ("MatMul", ["x", "a"], ["p"]),
        ("Add", ["p", "b"], ["q"]),
        ("Relu", ["q"], ["r"]),
        ("MatMul", ["r", "c"], ["s"]),
        ("Softmax", ["s"], ["y"]),
    ]
    return make_model(nodes, {"x": [70, 72]}, ["y"], weights(), dtype=TensorProto.FLOAT16)


def reference(x: np.ndarray) -> np.ndarray:
    a, b, c = (each.astype(np.float64) for each in weights().values())
    s = np.maximum(x.astype(np.float64) @ a + b, 0) @ c
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.onnx"
    onnx.save(network(), file)
    return file


def emitted(model: object, level: str, kernel: str = "", *, target: str = TARGET) -> str:
    source = replace(open_source(model), trusted=True)
    config = load_config(target=target)
    return emit_level(source, Sizes(), config, level, kernel).decode()


def trusted(text: str, folder: Path) -> Executable:
    """Compile text that takes weights from a folder."""
    return xyntra.compile(text, trust_code=True, config={"parameters_root": folder})


def assert_same(found: Artifact, wanted: Artifact) -> None:
    """Check that two compiled models are one, but for where their weights are."""
    assert found.objects == wanted.objects
    assert replace(found.plan, parameter_file="") == wanted.plan
    assert found.calls == wanted.calls
    assert found.target == wanted.target


@pytest.mark.parametrize("level", CODE_LEVELS)
def test_text_of_a_model_is_compiled_to_the_same_code(level: str, path: Path) -> None:
    text = emitted(path, level)
    assert f'xyntra.level = "{level}"' in text
    found, wanted = trusted(text, path.parent), xyntra.compile(path, target=TARGET)
    assert_same(found.artifact, wanted.artifact)
    assert found.weights.keys() == wanted.weights.keys()
    for lower in CODE_LEVELS[CODE_LEVELS.index(level) :]:
        assert emitted(text, lower) == emitted(path, lower)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [3, 4])
def test_random_models_go_through_every_level(kind: str, seed: int, tmp_path: Path) -> None:
    case, file = draw(kind, seed), tmp_path / "model.onnx"
    onnx.save(to_onnx(case), file)
    config = load_config(target=TARGET, precision=case.precision)
    wanted = xyntra.compile(file, config=config).artifact
    source = open_source(file)
    for level in CODE_LEVELS:
        text = emit_level(source, Sizes(), config, level).decode()
        assert_same(trusted(text, tmp_path).artifact, wanted)
        source = replace(open_source(text), trusted=True)


def test_what_calls_require_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "voice.onnx"
    onnx.save(voice_model(), file)
    wanted = xyntra.compile(file, target=TARGET, inputs={"x": (2, SAMPLES[16000]), "sr": ()})
    source = open_source(file)
    sizes = Sizes({"x": (2, SAMPLES[16000])})
    text = emit_level(source, sizes, load_config(target=TARGET), "gpu").decode()
    assert trusted(text, tmp_path).plan.requirements == wanted.plan.requirements != ()


def test_an_edited_schedule_gives_right_numbers(path: Path) -> None:
    text = emitted(path, "stages")
    tile = 'emitter = "mma", stages = 3 : i64, tile = [16, 32], warps = [1, 2]'
    assert text.count(tile) == 1
    exe = trusted(
        text.replace(tile, 'emitter = "mma", tile = [64, 32], warps = [4, 1]'), path.parent
    )
    told = [schedule for kernel in exe.kernels for schedule in kernel.schedules]
    assert told[0] == "mma tile [64, 32] warps [4, 1] early_weights"
    x = np.random.default_rng().standard_normal((70, 72)).astype(np.float16)
    (y,) = run_artifact(exe.artifact, [x], exe.weights)
    np.testing.assert_allclose(y, reference(x), atol=2e-3)


EDITS = {
    "tile": ("tile = [16, 32]", "tile = [96, 64]", "illegal-schedule", "tile [96, 64]"),
    "emitter": ('emitter = "mma"', 'emitter = "mmma"', "bad-schedule", "no emitter 'mmma'"),
    "field": ("tile =", "tyle =", "bad-schedule", "did you mean 'tile'"),
    "type": ("tile = [16, 32]", "tile = 16 : i64", "bad-schedule", "a list of integers"),
    "stages": ("stages = 3", "stages = 99", "illegal-schedule", "2 to "),
    "no schedule": (
        r'\{schedule = #xyntra.schedule<\{[^>]*emitter = "mma", stages[^>]*>\}', "",
        "no-schedule", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_illegal_schedule_is_refused_with_what_is_allowed(edit: str, path: Path) -> None:
    old, new, code, part = EDITS[edit]
    text = emitted(path, "stages")
    pattern = old if old.startswith("\\") else re.escape(old)
    edited = re.sub(pattern, new, text, count=1)
    assert edited != text
    with pytest.raises(CompileError) as info:
        trusted(edited, path.parent)
    error = info.value
    line = next(n for n, each in enumerate(edited.splitlines(), 1) if '"xyntra.stage"' in each)
    assert error.code == code
    assert "kernel 'contraction_" in str(error.place)
    assert f"the stage in line {line}" in str(error.place)
    assert part in f"{error.message} {error.cause}"
    assert error.hint or edit in ("field", "type")


@pytest.mark.parametrize("level", CODE_LEVELS)
def test_code_is_refused_unless_it_is_trusted(level: str, path: Path) -> None:
    text = emitted(path, level)
    trusted(text, path.parent)  # and keeps it in the cache
    with pytest.raises(ModelError, match="machine-level code") as info:
        xyntra.compile(text)
    assert info.value.code == "untrusted-code"
    assert "trust_code=True" in str(info.value.hint)
    for wanted in ("kernels", *CODE_LEVELS):
        with pytest.raises(ModelError, match="machine-level code"):
            emit_level(open_source(text), Sizes(), load_config(), wanted)


def test_without_its_level_code_is_no_model(path: Path) -> None:
    text = emitted(path, "stages").replace("xyntra.level", "xyntra.else")
    with pytest.raises(UnsupportedError):
        trusted(text, path.parent)


BROKEN = {
    "level": ("stages", '"stages"', '"stage"', "there is no level"),
    "target": ("stages", "cuda:sm_90a", "cuda:sm_80x", ""),
    "no code": ("gpu", r"module @contraction_\w+\.code", "module @other.code", "is declared"),
    "no kernel": ("gpu", r"xyntra.kernel = #xyntra.kernel<[^>]*>", "xyntra.k", "is declared"),
    "other memory": ("gpu", r"(%arg0: memref<)70x", r"\g<1>7x", ""),
    "no scratch": ("gpu", r"xyntra.scratch = array<[^>]*>", "xyntra.s = 1", ""),
    "no PTX": ("ptx", r"\n// ptx (?s:.*)", "", "no entry point"),
    "another entry": ("ptx", r"\.entry contraction", ".entry else", "no entry point"),
    "another call": ("nvvm", r"call @contraction_\w+", "call @main", ""),
    "no signature": ("nvvm", r"nvvm\.kernel", "nvvm.kernal", ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_text_is_an_error(name: str, path: Path) -> None:
    level, old, new, part = BROKEN[name]
    text = emitted(path, level)
    edited = re.sub(old, new, text, count=1)
    assert edited != text
    with pytest.raises(XyntraError) as info:
        trusted(edited, path.parent)
    assert part in info.value.message


def test_a_target_that_is_not_the_text_s_is_refused(path: Path) -> None:
    with pytest.raises(ModelError, match="code for 'cuda:sm_90a'") as info:
        xyntra.compile(emitted(path, "ptx"), target="cuda:sm_80", trust_code=True)
    assert info.value.code == "code-target"


def test_there_is_no_way_up(path: Path) -> None:
    text = emitted(path, "gpu")
    for level in ("linalg", "kernels", "stages"):
        with pytest.raises(InputError, match="no way"):
            emitted(text, level, target="auto")


def test_the_cpu_has_stages_alone(path: Path) -> None:
    assert 'xyntra.target = "cpu"' in emitted(path, "stages", target="cpu")
    for level in CODE_LEVELS[1:]:
        with pytest.raises(UnsupportedError) as info:
            emitted(path, level, target="cpu")
        assert info.value.code == "level-target"


@pytest.mark.parametrize("level", CODE_LEVELS)
def test_one_kernel_has_text_of_its_own(level: str, path: Path) -> None:
    exe = xyntra.compile(path, target=TARGET)
    name = exe.kernels[1].name
    text = emitted(path, level, name)
    assert name in text
    assert exe.kernels[0].name not in text
    assert "@main" not in text
    with pytest.raises(InputError, match="no kernel 'else'"):
        emitted(path, level, "else")


@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize("level", ["nvvm", "ptx"])
def test_code_that_llvm_dies_of_does_not_end_its_caller(
    level: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = emitted(path, "nvvm")
    call = 'llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()'
    deadly = re.sub(r"\n( *)llvm\.return", rf"\n\1{call}\n\1llvm.return", text, count=1)
    assert deadly != text
    monkeypatch.setenv("XYNTRA_ISOLATE", "true")

    def continued() -> object:
        return trusted(deadly, path.parent) if level == "nvvm" else emitted(deadly, level)

    with pytest.raises(CompileError) as info:
        continued()
    assert info.value.code in ("kernel-crash", "worker-crashed")
