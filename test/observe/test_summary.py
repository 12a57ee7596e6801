# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `repr` of an executable says what it is, on few lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx_models import make_model, mlp

import xyntra

Settings = dict[str, object]


def test_a_repr_says_what_is_called_and_what_runs(settings: Settings, tmp_path: Path) -> None:
    exe = xyntra.compile(mlp(), config=settings)
    lines = repr(exe).splitlines()
    assert lines[:4] == [
        "<xyntra.Executable",
        "  inputs   x: float32 (4, 32)",
        "  outputs  y: float32 (4, 16)",
        f"  kernels  {len(exe.kernels)} a call: 1 contraction",
    ]
    assert lines[4] == "  weights  1, 2.0 KiB"
    assert lines[5] == f"  target   cpu ({xyntra.devices()[0].name})>"
    exe.save(tmp_path / "m.xyn")
    assert repr(xyntra.load(tmp_path / "m.xyn")) == repr(exe)


def test_kernels_of_the_load_are_counted_apart(settings: Settings) -> None:
    weight = np.arange(600, dtype=np.float32).reshape(20, 30)
    nodes = [("Transpose", ["w"], ["t"]), ("Exp", ["t"], ["e"]), ("Sub", ["x", "e"], ["y"])]
    model = make_model(nodes, {"x": [30, 20]}, ["y"], {"w": weight})
    exe = xyntra.compile(model, config={**settings, "fuse": False})
    assert "kernels  1 a call: 1 elementwise; " in repr(exe)
    assert f"; {len(exe.kernels_at_load)} at load" in repr(exe)


def test_code_for_a_gpu_names_its_architecture(settings: Settings) -> None:
    exe = xyntra.compile(mlp(), target="cuda:sm_90a", config=settings)
    assert repr(exe).endswith("  target   cuda (sm_90a)>")


def test_many_inputs_and_hostile_names_stay_on_one_screen(settings: Settings) -> None:
    names = [f"x{number}" for number in range(40)]
    names[0], names[1] = "a\x1b[31mb", "long" * 1000
    nodes = [("Sum", names, ["y"])]
    exe = xyntra.compile(make_model(nodes, {name: [2] for name in names}, ["y"]), config=settings)
    text = repr(exe)
    assert "\x1b" not in text
    assert "and 32 more" in text
    assert len(text.splitlines()) < 20
    assert max(map(len, text.splitlines())) < 200
