# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra occupancy` tells what launches occupy of a GPU that need not be there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from xyntra.observe.gpu.occupancy import occupancy_rows
from xyntra.passes.lower.gpu.device import device_of
from xyntra.plan.kernel import Kernel
from xyntra.targets.cuda.code.cubins import assembler
from xyntra.targets.cuda.code.kernel_image import ImageLaunch
from xyntra.targets.cuda.code.resources import EntryUsage, entry_usages, resources_of
from xyntra.tools.cli import run

MODEL = """
func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %e = tensor.empty() : tensor<512x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = linalg.matmul ins(%x, %w : tensor<512x512xf32>, tensor<512x512xf32>)
                     outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %p : tensor<512x512xf32>
}
"""
LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first_0' for 'sm_90a'
ptxas info    : Function properties for first_0
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 25 registers, used 0 barriers
ptxas info    : Compiling entry function 'first_1' for 'sm_90a'
ptxas info    : Function properties for first_1
    48 bytes stack frame, 44 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 48 bytes cumulative stack size, 2048 bytes smem
"""
H100 = device_of("sm_90a")


def test_what_ptxas_says_is_read() -> None:
    assert entry_usages(LOG) == {
        "first_0": EntryUsage(25, 0, 0),
        "first_1": EntryUsage(168, 2048, 48),
    }
    assert entry_usages("") == {}


def test_the_scarcest_resource_is_named() -> None:
    usage = EntryUsage(registers=128, shared=1024, stack=0)
    found = resources_of(3, ImageLaunch("a", grid=528, block=256, shared=4096), usage, H100)
    assert (found.kernel, found.resident, found.limit) == (3, 2, "registers")
    assert found.occupancy == 0.25
    assert found.waves == 2.0
    wide = ImageLaunch("a", grid=1000, block=256, shared=100 << 10)
    assert resources_of(0, wide, usage, H100).limit == "registers and shared memory"
    small = ImageLaunch("a", grid=100, block=64)
    assert resources_of(0, small, usage, H100).limit == "grid, registers"


def test_equal_launches_stand_together() -> None:
    kernel = Kernel("k", "row", ("n",), 1000, 2000, (), once=False, text="")
    usage = EntryUsage(32, 0, 0)
    launches = [
        resources_of(number, ImageLaunch(entry, 1, 32), usage, H100)
        for number, entry in enumerate(("a", "b", "a"))
    ]
    head, first, second = occupancy_rows(launches, [kernel] * 3, [10, 100, 30])
    assert head[-4:] == ["time", "GB/s", "TFLOP/s", "code"]
    assert first[-4:] == ["100 ns", "10", "0.02", "b"]
    assert (second[0], second[-4]) == ("2", "20 ns")
    assert occupancy_rows(launches, [kernel] * 3)[0][-2:] == ["limit", "code"]


@pytest.mark.skipif(assembler() is None, reason="there is no ptxas")
def test_a_model_is_explained_without_a_gpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, figures = tmp_path / "m.mlir", tmp_path / "o.json"
    model.write_text(MODEL)
    command = ["occupancy", str(model), "--target", "cuda:sm_80", "--json", str(figures)]
    assert run(command) == 0
    assert "blocks/SM" in capsys.readouterr().out
    found = json.loads(figures.read_text())
    assert found["target"] == "cuda (sm_80)"
    for launch in found["launches"]:
        again = device_of("sm_80").resident(launch["block"], launch["shared"], launch["registers"])
        assert launch["resident"] == again > 0
        assert 16 <= launch["registers"] <= 255
        assert np.isclose(launch["waves"], launch["grid"] / (again * 108))


def test_processors_have_no_occupancy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "m.mlir"
    model.write_text(MODEL)
    assert run(["occupancy", str(model), "--target", "cpu"]) == 1
    assert "no-occupancy" in capsys.readouterr().err
