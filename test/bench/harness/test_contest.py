# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs take turns in processes of their own; one that fails does not stop the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from bench.cpu.operations import Graph
from bench.harness.contest import Entrant, Outcome, Pace, contest

PACE = Pace(seconds=0.0, rounds=3, turn=0.0, timeout=120.0)
SHAPE = (4, 6)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model that doubles its input."""
    graph = Graph({"x": SHAPE})
    onnx.save(graph.model(graph.node("Mul", "x", graph.constant(2.0)), SHAPE), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def entrant(name: str, runner: str, path: Path, tmp_path: Path, **job: object) -> Entrant:
    config = {"cache_dir": str(tmp_path / "cache"), "target": "cpu"}
    common = {"threads": 1, "preallocated": True, "shapes": {}, "config": config}
    return Entrant(name, {**common, "runner": runner, "path": str(path), **job})


def inputs(count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [{"x": rng.standard_normal(SHAPE, np.float32)} for _ in range(count)]


def test_all_compute_and_are_timed(path: Path, tmp_path: Path) -> None:
    given = inputs(2)
    entrants = [
        entrant("a", "xyntra", path, tmp_path),
        entrant("b", "onnxruntime", path, tmp_path),
        entrant("c", "onnxruntime", path, tmp_path, preallocated=False),
    ]
    outcome = contest(entrants, given, PACE)
    assert outcome.errors == {}
    assert outcome.rounds == 3
    for name in "abc":
        assert len(outcome.seconds[name]) == 2 * 3
        assert 0 < outcome.median(name) < 60
        assert outcome.difference(name, "b").absolute == 0
        for arrays, found in zip(given, outcome.outputs[name], strict=True):
            np.testing.assert_array_equal(found[0], arrays["x"] * 2)


def test_who_fails_is_named_and_the_others_go_on(path: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    entrants = [
        entrant("bad", "xyntra", tmp_path / "bad.onnx", tmp_path),
        entrant("good", "onnxruntime", path, tmp_path),
        entrant("unknown", "no-such-runner", path, tmp_path),
    ]
    outcome = contest(entrants, inputs(1), PACE)
    assert outcome.errors["bad"].startswith("error[")
    assert outcome.errors["unknown"] == "KeyError: 'no-such-runner'"
    assert list(outcome.seconds) == ["good"]
    assert len(outcome.seconds["good"]) == 6


def test_another_result_is_a_difference() -> None:
    values = np.ones(3, np.float32)
    outcome = Outcome(outputs={"a": [[values]], "b": [[values + 1]], "c": [[values], [values]]})
    assert outcome.difference("a", "b").absolute == 1
    assert not outcome.difference("a", "b").close
    with pytest.raises(ValueError, match="argument"):
        outcome.difference("a", "c")
