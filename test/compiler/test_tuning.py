# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tuning finds faster schedules, names candidates that fail, and keeps what it has found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import xyntra
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.tuning import session
from xyntra.compiler.tuning.session import Tuning, TuningResult, tune_model
from xyntra.config import load_config
from xyntra.dialects.attributes.schedule import Schedule
from xyntra.errors import InputError, MissingExtraError, UnsupportedError, WorkerError
from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.kernel import CompiledKernel
from xyntra.tools.cli import run
from xyntra.tune import search
from xyntra.tune.budget import budget_seconds
from xyntra.tune.database import Database
from xyntra.tune.measuring import process
from xyntra.tune.records import Places, read_schedules, write_schedules
from xyntra.tune.sampler import Sampler
from xyntra.tune.space import KernelSpace
from xyntra.tune.tuned import Tuned

MODEL = """
func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x128xf32>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x128xf32>) -> tensor<64x128xf32>
  %r = linalg.matmul ins(%x, %w : tensor<64x256xf32>, tensor<256x128xf32>)
      outs(%f : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}"""
HANG = """
define void @{name}(ptr %a) {{
  br label %again
again:
  store volatile i64 0, ptr %a
  br label %again
}}"""
CRASH = """
define void @{name}(ptr %a) {{
  store volatile i64 0, ptr null
  ret void
}}"""
NOTHING = """
define void @{name}(ptr %a) {{
  ret void
}}"""
Outcomes = Sequence[search.Outcome]


class Listed:
    """Proposes what is listed; what is told is of no use to it."""

    def __init__(self, space: KernelSpace, seed: int, first: Sequence[Places] = ()) -> None:
        legal = [each.legal or (None,) for each in space.places]
        self._left = [each for each in product(*legal) if each != space.default]
        self._left = [*first, *self._left[::5]]
        self.told: list[float | None] = []

    def propose(self) -> Places | None:
        return self._left.pop(0) if self._left else None

    def tell(self, places: Places, ratio: float | None) -> None:
        self.told.append(ratio)


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tuned.sqlite3"
    monkeypatch.setenv("XYNTRA_TUNING_DATABASE", str(path))
    return path


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search without optuna."""
    monkeypatch.setattr(session, "Sampler", Listed)
    monkeypatch.setattr(session, "load_optuna", lambda: None)
    monkeypatch.setattr(search, "_DULL_BATCHES", 99)  # all that is listed is tried
    monkeypatch.setattr(search, "_SIZES", (2, 5))


@pytest.fixture
def slow_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let plain loops be what is chosen without tuning, so that there is something to gain."""
    made = session._Session._subject

    def subject(self: session._Session, space: KernelSpace) -> object:
        found = made(self, space)
        places = [None if e.chosen is None else Schedule("scalar-loops") for e in space.places]
        text = write_schedules(places)
        (slow,) = self._compile(space, [text])
        assert isinstance(slow, CompiledKernel)
        found.objects[space.name] = slow.code
        (kernel,) = found.plan.kernels.values()
        object.__setattr__(kernel, "prepared", slow.prepared_bytes)
        object.__setattr__(kernel, "scratch", slow.scratch_bytes)
        object.__setattr__(kernel, "private", slow.private_bytes)
        return found

    monkeypatch.setattr(session._Session, "_subject", subject)


def tuned(trials: int | None = 10, budget: float = 60.0, **settings: object) -> TuningResult:
    config = load_config(settings, threads=1)
    return tune_model(open_source(MODEL), Sizes(), config, Tuning(budget, trials))


def changing(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[KernelSpace, Outcomes], Outcomes]
) -> None:
    """Give the search other outcomes than those that the compiler has."""
    compiled = session._Session._compile

    def compile_candidates(
        self: session._Session, space: KernelSpace, texts: Sequence[str]
    ) -> Outcomes:
        return change(space, compiled(self, space, texts))

    monkeypatch.setattr(session._Session, "_compile", compile_candidates)


@pytest.mark.usefixtures("listed", "slow_usual")
def test_what_is_faster_is_found_and_kept(database: Path) -> None:
    result = tuned(9)
    (report,) = result.reports
    assert report.trials == 9
    assert report.best is not None
    assert report.ratio < 0.9
    with Database(database) as opened:
        assert len(opened.trials()) == 9
        (best,) = opened.best()
    assert best.schedules == report.best.schedules
    executable = xyntra.compile(MODEL, threads=1)
    (kernel,) = executable.plan.kernels.values()
    assert kernel.tuned == best.nanoseconds
    told = {each.partition(" ")[0] for each in kernel.schedules}
    assert told >= {each.emitter for each in read_schedules(best.schedules) if each is not None}
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(each).astype(np.float32) for each in ((64, 256), (256, 128)))
    np.testing.assert_allclose(executable(x, w), x.astype(np.float64) @ w, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("listed", "slow_usual")
def test_candidates_that_fail_are_named_and_excluded(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_PATIENCE", 1.0)
    codes = {1: HANG, 3: CRASH, 5: NOTHING}
    seen = 0

    def change(space: KernelSpace, outcomes: Outcomes) -> Outcomes:
        nonlocal seen
        changed = list(outcomes)
        for number in range(len(outcomes)):
            seen += 1
            if seen in codes:
                ir = codes[seen].format(name=space.name)
                changed[number] = CompiledKernel(compile_object(ir, vectorize=False), 0)
            if seen == 7:
                changed[number] = WorkerError("kernel-crash", "the compiler died of SIGSEGV")
            if seen == 8:
                changed[number] = WorkerError("kernel-timeout", "it took too long")
        return changed

    changing(monkeypatch, change)
    seen = -1  # the plain loops of `slow_usual`
    result = tuned(10)
    (report,) = result.reports
    assert report.failures == {"hung": 2, "crashed": 2, "wrong": 1}
    assert report.best is not None  # of those that did not fail
    with Database(database) as opened:
        failed = {each.schedules: each for each in opened.trials() if each.status != "timed"}
    assert len(failed) == 5
    assert report.best.schedules not in failed
    said = " ".join(each.detail for each in failed.values())
    assert "SIGSEGV" in said
    assert "it ran for more than" in said
    assert "largest error" in said


@pytest.mark.usefixtures("listed")
def test_a_device_that_disappears_is_no_fault_of_a_candidate(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, left = process.Measurer._ask, 20

    def ask(self: process.Measurer, timeout: float, *question: object) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            self.close()
            raise process.Failed("crashed", "no CUDA-capable device is detected")
        return asked(self, timeout, *question)

    monkeypatch.setattr(process.Measurer, "_ask", ask)
    result = tuned(None)
    assert any("cannot be run any more: no CUDA-capable" in each for each in result.notes)
    assert "no CUDA-capable" in result.reports[0].note
    with Database(database) as opened:
        assert {each.status for each in opened.trials()} <= {"timed"}


@pytest.mark.usefixtures("listed")
def test_what_is_usual_is_never_replaced_by_what_is_slower(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([100.0 + n % 7 for n in range(100_000)])
    monkeypatch.setattr(process.Measurer, "time", lambda self, name: next(times))
    result = tuned(6)
    assert [each.best for each in result.reports] == [None]
    with Database(database) as opened:
        assert opened.best() == []
        assert len(opened.trials()) == 6


@pytest.mark.usefixtures("listed")
def test_packaged_schedules_are_tried_first_and_forgotten_where_they_gain_nothing(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (space,) = session.model_spaces(open_source(MODEL), Sizes(), load_config())
    places = list(space.default)
    places[space.free[0]] = space.places[space.free[0]].legal[-1]
    packaged = {space.key: Tuned(write_schedules(places), 80.0, packaged=True)}
    monkeypatch.setattr(session, "packaged_for", lambda *_: packaged)
    times = iter([100.0 + n % 7 for n in range(100_000)])
    monkeypatch.setattr(process.Measurer, "time", lambda self, name: next(times))
    tuned(1)
    with Database(database) as opened:
        assert [each.schedules for each in opened.trials()] == [packaged[space.key].schedules]
        (best,) = opened.best()
    assert best.schedules == write_schedules(space.default)


@pytest.mark.usefixtures("listed", "slow_usual")
def test_an_interrupt_keeps_what_was_found(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = search.KernelSearch._try

    def interrupted(self: search.KernelSearch, proposed: Sequence[Places]) -> None:
        if self.trials:
            raise KeyboardInterrupt
        tried(self, proposed)

    monkeypatch.setattr(search.KernelSearch, "_try", interrupted)
    result = tuned(None)
    assert result.interrupted
    with Database(database) as opened:
        assert [each.schedules for each in opened.best()] == [result.reports[0].best.schedules]


@pytest.mark.usefixtures("listed")
def test_no_time_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    assert run(["tune", str(model), "--budget", "0"]) == 0
    assert "0 trials" in capsys.readouterr().out


@pytest.mark.usefixtures("listed", "slow_usual")
def test_without_a_database_what_was_found_is_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "file").write_text("")
    result = tuned(8, tuning_database=tmp_path / "file" / "tuned.sqlite3")
    (key,) = result.best
    (note,) = [each for each in result.notes if "--merge" in each]
    assert run(["tuned", "--merge", note.split()[-1]]) == 0
    with Database(load_config().tuning_database) as opened:
        assert [each.kernel for each in opened.best()] == [key]


def test_the_sampler_proposes_each_legal_combination_once() -> None:
    pytest.importorskip("optuna")
    (space,) = session.model_spaces(open_source(MODEL), Sizes(), load_config(threads=1))
    sampler = Sampler(space, 1)
    legal = space.places[space.free[0]].legal
    best = next(each for each in legal[::-1] if each.emitter == "register-tiles")
    found = []
    while len(found) < 30 and (places := sampler.propose()) is not None:
        found.append(places)
        chosen = places[space.free[0]]
        assert chosen in legal
        alike = sum(chosen.choices.get(name) == each for name, each in best.choices.items())
        is_failure = chosen.emitter == "scalar-loops"
        sampler.tell(places, None if is_failure else 2.0 - 0.1 * alike)
    texts = {write_schedules(each) for each in found}
    assert len(texts) == len(found) == 30
    # It learns: what is best of all is among fewer than half of them.
    assert space.count > 2 * len(found)
    assert best in [each[space.free[0]] for each in found]


def test_tuning_from_python(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    monkeypatch.setattr(search, "_DULL_BATCHES", 1)  # it ends long before the time is over
    monkeypatch.setattr(search, "_SIZES", (2, 2))
    executable = xyntra.compile(MODEL, threads=1, tune="60s")
    assert executable.plan.kernels
    with Database(database) as opened:
        assert opened.trials()


@pytest.mark.parametrize("budget", ["soon", "-1s", -1, float("nan"), True, "5 parsecs"])
def test_other_budgets_are_refused(budget: object) -> None:
    with pytest.raises(InputError, match="is no time for tuning"):
        budget_seconds(budget)  # type: ignore[arg-type]


def test_budgets() -> None:
    found = [budget_seconds(each) for each in (0, 1.5, "2", "60s", "5 min", "1h", "0.5m")]
    assert found == [0, 1.5, 2, 60, 300, 3600, 30]


def test_what_cannot_be_tuned_is_refused() -> None:
    pytest.importorskip("optuna")
    with pytest.raises(UnsupportedError, match="'batch' is free"):
        xyntra.compile(MODEL, dims={"batch": range(1, 9)}, tune=1)


def test_a_missing_library_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(MissingExtraError, match="optuna"):
        xyntra.compile(MODEL, tune="1s")
