# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables and charts of the documents are what the recorded results render to."""

from __future__ import annotations

import json

import pytest

from bench import all as everything
from bench.documents.kernel_times import shares
from bench.documents.recorded import PARTS, RESULTS, stale
from bench.trace_overhead import added_instructions, added_nanoseconds


def test_the_documents_are_what_was_recorded() -> None:
    assert stale() == [], "python -m bench.all --documents"


def test_every_part_names_a_result_that_is_there() -> None:
    for part in PARTS:
        machine = json.loads((RESULTS / f"{part.recorded}.json").read_text("utf-8"))["machine"]
        assert machine["date"]


def test_what_cannot_run_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = (
        everything.Measurement("bench.one", ("no_such_library",)),
        everything.Measurement("bench.two"),
    )
    monkeypatch.setattr(everything, "MEASUREMENTS", mine)
    assert everything.main(["--list"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["left out: python -m bench.one (no no_such_library)", "python -m bench.two"]


def test_one_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = (everything.Measurement("bench.no_such_module"),)
    monkeypatch.setattr(everything, "MEASUREMENTS", mine)
    monkeypatch.setattr("bench.documents.recorded.write_all", lambda: None)
    assert everything.main([]) == 1
    assert "failed: python -m bench.no_such_module" in capsys.readouterr().out


def test_shares_count_launches_of_about_the_expected_time() -> None:
    row = {"kernel": "k", "kind": "row", "bytes": 1000, "flops": 1, "schedules": []}
    times = ((100.0, 100.0), (100.0, 300.0))
    rows = [row | {"predicted": guess, "least": taken} for guess, taken in times]
    ((name, count, (predicted, *_)), total) = shares({"m.onnx": rows})
    assert (name, count, predicted) == ("m", 2, 0.5)
    assert total[:2] == ("all", 2)


def test_traces_that_nobody_records_cost_next_to_nothing() -> None:
    assert 0 < added_instructions() < 20
    assert added_nanoseconds(5) < 1000, "1 % of a call of 100 us"
