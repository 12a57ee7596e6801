# SPDX-License-Identifier: MIT OR Apache-2.0
"""Costs that are fitted to measured launches say what such launches take."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from xyntra.errors import ArchiveError
from xyntra.observe.timing.cost_file import add_samples, costs_beside, read_costs
from xyntra.observe.timing.fitted_costs import Sample, fit_costs, sample_of, share_near
from xyntra.plan.kernel import Kernel
from xyntra.tools.cli import run

MODEL = """
func.func @main(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %y = math.exp %x : tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}
"""


def _samples(count: int = 200, seed: int = 1) -> list[Sample]:
    """Return launches of two groups that take what a sum of terms says, but for noise."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        group, rate = (("conv tiles", 100.0), ("row plain", 5.0))[number % 2]
        size, flops = int(10 ** rng.uniform(3, 8)), int(10 ** rng.uniform(4, 9))
        exact = 300.0 + 200.0 + size / 12.0 + flops / rate
        taken = exact * rng.uniform(0.95, 1.05) * (10.0 if number % 20 == 0 else 1.0)
        found.append(Sample(group, 1, size, flops, taken))
    return found


def test_a_sum_of_terms_is_found_in_spite_of_bad_measurements() -> None:
    costs = fit_costs(_samples())
    sound = [each for number, each in enumerate(_samples(100, 2)) if number % 20]
    assert share_near(costs, sound) == 1.0
    assert costs.groups["conv tiles"][-1] == pytest.approx(1 / 100, rel=0.1)
    assert costs.groups["row plain"][-1] == pytest.approx(1 / 5, rel=0.1)


def test_another_group_has_the_costs_of_all() -> None:
    costs = fit_costs(_samples())
    assert costs.of(Sample("new", 1, 10**6, 0)) == pytest.approx(500 + 1e6 / 12, rel=0.3)
    with pytest.raises(ValueError, match="no launch"):
        fit_costs([Sample("a", 1, 1, 1)])


def test_the_group_is_that_of_the_emitter_that_made_most() -> None:
    schedules = ("vector-rows vector 16", "register-tiles tile [6, 16]", "parallel-loops loops 1")
    kernel = Kernel("k", "conv", (), 10, 20, schedules, once=False, text="")
    assert sample_of(kernel, 5.0) == Sample("conv register-tiles", 2, 10, 20, 5.0)
    plain = Kernel("k", "data", (), 10, 0, (), once=False, text="")
    assert sample_of(plain).group == "data"


def test_a_file_keeps_devices_apart(tmp_path: Path) -> None:
    path = costs_beside(tmp_path / "new" / "tuned.sqlite3")
    assert read_costs(path, "one") is None
    first = add_samples(path, "one", "m", _samples())
    add_samples(path, "two", "m", [Sample("a", 1, 1000, 0, 50.0)])
    assert read_costs(path, "one") == first
    assert read_costs(path, "two") != first
    again = add_samples(path, "one", "m", _samples())
    assert again == first, "times of a model take the place of earlier ones"


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"version": 2, "devices": {}}', '{"version": 1, "devices": {"one": 3}}',
        '{"version": 1, "devices": {"one": {"models": {}}}}',
        '{"version": 1, "devices": {"one": {"models": {}, "costs": {"groups": {}, "all": [1]}}}}',
        '{"version": 1, "devices": {"one": {"models": {}, "costs": {"groups": {}, "all":'
        " [1, 1, 1, 1, 1, -1]}}}}",
    ],
)  # fmt: skip
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "costs.json"
    path.write_text(text)
    with pytest.raises(ArchiveError, match=r"costs\.json"):
        read_costs(path, "one")


def test_explain_shows_what_was_fitted_beside_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XYNTRA_TUNING_DATABASE", str(tmp_path / "tuned.sqlite3"))
    model = tmp_path / "m.mlir"
    model.write_text(MODEL)
    assert run(["explain", str(model), "--target", "cpu"]) == 0
    assert "fitted" not in capsys.readouterr().out
    assert run(["bench", str(model), "--target", "cpu", "--seconds", "0.05", "--fit"]) == 0
    assert "fitted costs of cpu" in capsys.readouterr().out
    assert json.loads((tmp_path / "costs.json").read_text())["version"] == 1
    assert run(["explain", str(model), "--target", "cpu", "--time"]) == 0
    head = next(line for line in capsys.readouterr().out.splitlines() if "predicted  bound" in line)
    assert head.split().index("fitted") < head.split().index("measured")
