# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiling takes schedules from the tuning database, says so, and does without those that fail."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import xyntra
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.tuned_schedules import TuningWarning, tuned_schedules
from xyntra.compiler.tuning.session import model_spaces
from xyntra.config import load_config
from xyntra.dialects.attributes.schedule import Schedule
from xyntra.errors import UnsupportedError
from xyntra.observe.details import explain_kernel
from xyntra.targets.table import backend_for
from xyntra.tools.cli import run
from xyntra.tune.database import Database
from xyntra.tune.packaged.reader import PackagedFile, PackagedKernel, packaged_schedules
from xyntra.tune.records import Trial, write_schedules
from xyntra.tune.space import KernelSpace
from xyntra.tune.tuned import versions

MODEL = """
func.func @main(%x: tensor<40x96xf32>, %w: tensor<96x64xf32>) -> tensor<40x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<40x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<40x64xf32>) -> tensor<40x64xf32>
  %r = linalg.matmul ins(%x, %w : tensor<40x96xf32>, tensor<96x64xf32>)
      outs(%f : tensor<40x64xf32>) -> tensor<40x64xf32>
  return %r : tensor<40x64xf32>
}"""
RNG = np.random.default_rng(71)
X = RNG.standard_normal((40, 96)).astype(np.float32)
W = RNG.standard_normal((96, 64)).astype(np.float32)


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tuned.sqlite3"
    monkeypatch.setenv("XYNTRA_TUNING_DATABASE", str(path))
    return path


@pytest.fixture
def space() -> KernelSpace:
    (found,) = model_spaces(open_source(MODEL), Sizes(), load_config())
    return found


def keep(database: Path, space: KernelSpace, schedules: str) -> None:
    device = backend_for("").tuning_key(0, None)
    trial = Trial(space.key, device, versions(), schedules, "timed", 1500.0, 2000.0, made=1.0)
    with Database(database) as opened:
        opened.set_best([trial])


def other(space: KernelSpace) -> str:
    """Legal schedules that are not those chosen."""
    place = space.free[0]
    tiles = [e for e in space.places[place].legal if e.emitter == "register-tiles"]
    schedules = list(space.default)
    schedules[place] = next(each for each in tiles if each != space.default[place])
    return write_schedules(schedules)


def told(executable: xyntra.Executable) -> tuple[str, ...]:
    (kernel,) = executable.plan.kernels.values()
    return kernel.schedules


def test_the_space_has_what_is_chosen(space: KernelSpace) -> None:
    (place,) = (space.places[number] for number in space.free)
    assert place.chosen in place.legal
    assert space.count == len(place.legal) > 50
    assert space.calls == 1


def test_threads_are_part_of_the_space_where_there_are_several() -> None:
    alone, together = (
        model_spaces(open_source(MODEL), Sizes(), load_config(threads=threads))[0]
        for threads in (1, 2)
    )
    legal = [set(map(repr, each.places[each.free[0]].legal)) for each in (alone, together)]
    assert legal[0] < legal[1]
    assert all("shared" in each for each in legal[1] - legal[0])
    assert alone.default == together.default


def test_what_threads_share_makes_no_difference(database: Path, space: KernelSpace) -> None:
    usual = xyntra.compile(MODEL)(X, W)
    (number,) = space.free
    legal = space.places[number].legal
    for each in [each for each in legal if "shared" in each.choices][::4]:
        keep(database, space, write_schedules([*space.default[:number], each]))
        found = xyntra.compile(MODEL)
        assert not found.plan.fallbacks
        np.testing.assert_allclose(found(X, W), usual, rtol=1e-5, atol=1e-5)


def test_schedules_are_taken_from_the_database(database: Path, space: KernelSpace) -> None:
    usual = xyntra.compile(MODEL)
    keep(database, space, other(space))
    tuned = xyntra.compile(MODEL)
    assert told(tuned)[0] != told(usual)[0]
    np.testing.assert_allclose(tuned(X, W), X.astype(np.float64) @ W, rtol=1e-4, atol=1e-4)
    assert ", tuned" in tuned.explain()
    assert "1.5 us when its schedules were measured" in explain_kernel(tuned.plan, "0")
    assert told(xyntra.compile(MODEL, config={"tuned": False})) == told(usual)
    # What comes from the cache is the same, and so is what another process would compile.
    assert told(xyntra.compile(MODEL)) == told(tuned)
    assert told(xyntra.compile(MODEL, config={"cache": False})) == told(tuned)
    tuned.save(database.parent / "model.xyn")
    assert told(xyntra.load(database.parent / "model.xyn")) == told(tuned)


def test_kernels_of_another_number_of_threads_are_left_alone(
    database: Path, space: KernelSpace
) -> None:
    usual = xyntra.compile(MODEL, threads=7)
    keep(database, space, other(space))
    assert told(xyntra.compile(MODEL, threads=7)) == told(usual)


@pytest.mark.parametrize(
    "schedules",
    [
        write_schedules((Schedule("register-tiles", {"tile": (4, 16)}),)),  # for other nests
        write_schedules((None, Schedule("register-tiles", {"tile": (999, 16)}))),
        write_schedules((None, Schedule("no-such-emitter"))),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_schedules_that_are_stale_are_not_used(
    database: Path, space: KernelSpace, schedules: str, *, strict: bool
) -> None:
    usual = xyntra.compile(MODEL)
    keep(database, space, schedules)
    found = xyntra.compile(MODEL, config={"strict": strict})
    assert told(found) == told(usual)
    assert "tuned schedules of kernel" in found.plan.fallbacks[0]
    np.testing.assert_allclose(found(X, W), X @ W, rtol=1e-4, atol=1e-4)


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: KernelSpace) -> PackagedFile:
    """Let a file with one kernel come with the package, for processors of the class of this one."""
    kernel = PackagedKernel(space.key, space.text, other(space), "[]", 1500.0, 2000.0)
    name = backend_for("").tuning_class("", None)
    file = PackagedFile(name, "cpu another", versions(), 2, "", 1, (kernel,))
    (tmp_path / f"{name}.jsonl").write_bytes(file.to_bytes())
    at = partial(packaged_schedules.__wrapped__, folder=tmp_path)
    monkeypatch.setattr("xyntra.compiler.tuned_schedules.packaged_schedules", at)
    return file


def rewrite(folder: Path, file: PackagedFile, schedules: str) -> None:
    (kernel,) = file.kernels
    changed = replace(file, kernels=(replace(kernel, schedules=schedules),))
    (folder / f"{file.device_class}.jsonl").write_bytes(changed.to_bytes())


@pytest.mark.usefixtures("packaged")
def test_schedules_come_with_the_package(database: Path, space: KernelSpace) -> None:
    found = xyntra.compile(MODEL)
    usual = xyntra.compile(MODEL, config={"tuned": False})
    assert told(found)[0] != told(usual)[0]
    np.testing.assert_allclose(found(X, W), X.astype(np.float64) @ W, rtol=1e-4, atol=1e-4)
    assert ", tuned, as it comes with Xyntra" in found.explain()
    assert "1.5 us when its schedules were measured, on another" in explain_kernel(found.plan, "0")
    found.save(database.parent / "model.xyn")
    assert xyntra.load(database.parent / "model.xyn").kernels[0].packaged
    # What was found here counts more, and so does that the usual ones are better here.
    keep(database, space, write_schedules(space.default))
    here = xyntra.compile(MODEL)
    assert told(here) == told(usual)
    assert ", tuned\n" in here.explain()


def test_packaged_schedules_that_are_not_legal_are_refused(
    packaged: PackagedFile, tmp_path: Path
) -> None:
    usual = xyntra.compile(MODEL, config={"tuned": False})
    rewrite(tmp_path, packaged, '[null,{"emitter":"register-tiles","tile":[999,16]}]')
    found = xyntra.compile(MODEL)
    assert told(found) == told(usual)
    assert "tuned schedules of kernel" in found.plan.fallbacks[0]
    (tmp_path / f"{packaged.device_class}.jsonl").write_text("damaged")
    with pytest.warns(TuningWarning, match="kernels are not tuned"):
        assert told(xyntra.compile(MODEL)) == told(usual)


def test_files_for_gpus_need_no_gpu() -> None:
    target = CodeTarget("sm_90a", 63)
    assert target.backend.tuning_class(target.architecture, None) == "cuda-sm_90a"


@pytest.mark.parametrize("architecture", ["sm_90a", "webgpu"])
def test_a_device_that_is_not_here_has_no_schedules(
    database: Path, space: KernelSpace, architecture: str
) -> None:
    keep(database, space, other(space))
    target = CodeTarget(architecture, 63)
    assert tuned_schedules(load_config(), target) == {}
    device = f"{target.backend.name} some device"
    with Database(database) as opened:
        opened.set_best([replace(each, device=device) for each in opened.best()])
    assert tuned_schedules(load_config(), target) == {}


def test_a_damaged_database_is_said_and_left_alone(database: Path) -> None:
    database.write_bytes(b"this is no database" * 100)
    with pytest.warns(TuningWarning, match="kernels are not tuned"):
        executable = xyntra.compile(MODEL)
    np.testing.assert_allclose(executable(X, W), X @ W, rtol=1e-4, atol=1e-4)
    assert database.read_bytes() == b"this is no database" * 100


def test_free_dimensions_are_not_tuned() -> None:
    sizes = Sizes(ranges={"batch": (1, 8, 1)})
    with pytest.raises(UnsupportedError, match="'batch' is free"):
        model_spaces(open_source(MODEL), sizes, load_config())


def test_the_command_lists_legal_schedules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    assert run(["tune", str(model), "--list"]) == 0
    assert "register-tiles" in capsys.readouterr().out
    assert run(["tune", str(model), "--list", "--kernels", "conv*"]) == 0
    assert capsys.readouterr().out.startswith("0 kernels, 0 combinations")


def test_the_command_exports_and_merges(
    database: Path, space: KernelSpace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "all.json")
    assert run(["tuned"]) == 0
    assert "there is none yet" in capsys.readouterr().out
    assert not database.exists()
    keep(database, space, other(space))
    assert run(["tuned", "--export", file]) == 0
    assert "1 of tuned kernels" in capsys.readouterr().out
    _, line = Path(file).read_text().splitlines()
    assert json.loads(line)["best"]["kernel"] == space.key
    database.unlink()
    assert run(["tuned", "--merge", file]) == 0
    assert run(["tuned"]) == 0
    assert "1 kernel for cpu" in capsys.readouterr().out
    Path(file).write_text("nothing")
    assert run(["tuned", "--merge", file]) == 1
    assert "no tuning records" in capsys.readouterr().err
