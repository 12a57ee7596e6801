# SPDX-License-Identifier: MIT OR Apache-2.0
"""Schedules that come with the package are legal, and what they were measured against is usual."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench import packaged
from bench.kernel_modules import as_module
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.tuning.session import model_spaces
from xyntra.config import load_config
from xyntra.targets.table import backend_for
from xyntra.tune.database import Database
from xyntra.tune.packaged.reader import FOLDER, read_file
from xyntra.tune.records import Trial, write_schedules
from xyntra.tune.tuned import versions

KERNEL = """func.func private @contraction_k(
    %arg0: tensor<40x96xf32>, %arg1: tensor<96x64xf32> {xyntra.constant})
    -> tensor<40x64xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<40x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<40x64xf32>) -> tensor<40x64xf32>
  %r = linalg.matmul ins(%arg0, %arg1 : tensor<40x96xf32>, tensor<96x64xf32>)
      outs(%f : tensor<40x64xf32>) -> tensor<40x64xf32>
  return %r : tensor<40x64xf32>
}"""


def test_a_file_is_made_of_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "FOLDER", tmp_path)
    (space,) = model_spaces(open_source(as_module([KERNEL])), Sizes(), load_config())
    place = max(space.free, key=lambda number: len(space.places[number].legal))
    places = list(space.default)
    tiles = [each for each in space.places[place].legal if "tile" in each.choices]
    places[place] = next(each for each in tiles if each != places[place])
    device = backend_for("").tuning_key(0, 1)
    best = Trial(space.key, device, versions(), write_schedules(places), "timed", 80.0, 100.0)
    little = replace(best, kernel="other", nanoseconds=97.0)
    with Database(tmp_path / "tuned.sqlite3") as database:
        database.add_kernels([(space.key, space.text), ("other", space.text)])
        database.set_best([best, little])
    assert packaged.main(["write", str(tmp_path / "tuned.sqlite3")]) == 0
    (path,) = tmp_path.glob("*.jsonl")
    file = read_file(path)
    (kernel,) = file.kernels
    assert (kernel.schedules, kernel.usual) == (best.schedules, write_schedules(space.default))
    assert packaged.main(["check"]) == 0
    wrong = {
        "has another key": {"text": kernel.text.replace("40", "41")},
        "what is usual is": {"usual": best.schedules},
        "is not legal": {"schedules": best.schedules.replace('tile":[', 'tile":[99,')},
    }
    for sentence, change in wrong.items():
        changed = replace(file, kernels=(replace(kernel, **change),))
        assert [sentence in each for each in packaged.stale(changed)] == [True]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.jsonl")), ids=lambda each: each.stem)
def test_what_comes_with_the_package_is_not_stale(path: Path) -> None:
    file = read_file(path)
    if backend_for(file.architecture).tuning_class(file.architecture, file.threads) != path.stem:
        pytest.skip("schedules of another class of processors are legal there only")
    assert list(packaged.stale(file)) == []
