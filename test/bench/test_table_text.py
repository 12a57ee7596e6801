# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of models in a document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.documents.model_table import HEADER, REGION, render

BEGIN, END = REGION.begin, REGION.end

GOOD: dict[str, Any] = {
    "model": "a",
    "title": "Model A",
    "file_bytes": 4_000_000,
    "cold_seconds": 1.25,
    "cached_seconds": 0.0625,
    "memory": {"peak_bytes": 80_000_000, "peak_process": "worker"},
    "peak_per_file_byte": 20.0,
    "operations": 817,
    "kernels": 100,
    "max_absolute_error": 4e-6,
    "max_scaled_error": -1e-7,
    "close": True,
    "run_seconds": 0.0105,
    "onnxruntime_seconds": 0.021,
    "ratio": 0.5,
}
BAD = {"model": "b", "title": "Model B", "file_bytes": 1e6, "error": "error[x]: no `op`\n  at: |"}
MACHINE = {
    "cpu": "CPU",
    "cores_allowed": 2,
    "memory_bytes": 2**34,
    "os": "Linux",
    "python": "CPython 3.11",
    "versions": {"numpy": "2.4", "torch": None},
    "load_average": 0.5,
    "date": "2026-01-02T03:04:05+00:00",
}


def result(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"machine": MACHINE, "settings": {"threads": 1, "seeds": 5}, "rows": list(rows)}


def table(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines]


def test_every_number_is_in_its_column() -> None:
    _, _, cells = table(render(result(GOOD)))
    assert dict(zip(HEADER, cells, strict=True)) == {
        "model": "Model A",
        "file, MB": "4.0",
        "cold, s": "1.25",
        "cached, s": "0.062",
        "peak memory, MB": "80 (worker)",
        "of file": "20.00",
        "operations": "817",
        "kernels": "100",
        "max error": "4.0e-06",
        "close": "yes",
        "run, ms": "10.50",
        "onnxruntime, ms": "21.00",
        "ratio": "0.50",
    }


def test_the_machine_and_the_date_are_named() -> None:
    first = render(result(GOOD)).splitlines()[0]
    assert first.startswith("Measured 2026-01-02 on CPU, 2 cores, 16 GiB, Linux, CPython 3.11;")
    assert "numpy 2.4. Load average before: 0.5. 1 thread" in first


def test_a_failed_model_is_a_row_and_its_error_is_shown() -> None:
    text = render(result(BAD, GOOD))
    assert "| Model B | 1.0 |" in text
    assert "| failed |" in text
    assert "* b: `error[x]: no 'op' / at: |`" in text


def test_a_model_that_is_not_close_stands_out() -> None:
    assert "| **no** |" in render(result(GOOD | {"close": False}))
    assert "| not finite |" in render(result(GOOD | {"max_absolute_error": float("inf")}))


def test_only_what_is_between_the_markers_changes(tmp_path: Path) -> None:
    path = tmp_path / "models.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    REGION.update(path, render(result(GOOD)))
    text = path.read_text()
    assert text == f"before\n{BEGIN}\n{render(result(GOOD))}{END}\nafter\n"
    assert REGION.replace(text, render(result(GOOD))) == text


@pytest.mark.parametrize(
    "text",
    ["", BEGIN, END, f"{END}{BEGIN}", f"{BEGIN}{BEGIN}{END}", f"{BEGIN}{END}{END}"],
)
def test_a_document_without_its_markers_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "models.md"
    path.write_text(text)
    with pytest.raises(ValueError, match="once each"):
        REGION.update(path, render(result(GOOD)))
    assert path.read_text() == text
