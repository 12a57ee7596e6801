# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of the benchmark of the CUDA target."""

from __future__ import annotations

import pytest

from bench.documents.cuda import DETAILS, SUMMARY, render_details, render_summary, update_documents
from bench.harness.machine import describe

PRODUCT = {
    "name": "matmul 4x4x4 f32",
    "group": "contractions",
    "errors": {"torch.compile": "RuntimeError: no\ncompiler"},
    "wrong": 0,
    "microseconds": {"xyntra": 30.0, "torch": 20.0},
    "share_of_copy": 0.5,
    "flops_per_second": 4e12,
}
MODEL = {
    "name": "BERT-base b1 f16",
    "group": "models",
    "errors": {},
    "wrong": 0,
    "error": {"xyntra": [1e-3, 2e-3], "torch": [3e-3]},
    "microseconds": {
        "xyntra": 300.0,
        "torch": 900.0,
        "torch.compile": 800.0,
        "reduce-overhead": 6e2,
    },
    "seconds_to_first_result": [1.25, 0.25],
    "seconds_to_compile": 1.94,
    "compile_seconds": {"torch.compile": 7.5},
}
RESULT = {
    "machine": {**describe(), "gpu": "NVIDIA H100"},
    "copy_bytes_per_second": 3e12,
    "host": {"us of one launch": 2.5},
    "rows": [PRODUCT, MODEL, {"name": "lost", "group": "rows", "failure": "out of memory"}],
}


def test_times_ratios_rates_and_what_failed_are_shown():
    text = render_details(RESULT)
    assert "| matmul 4x4x4 f32 | 30.0 | 20.0 | **1.50** | 4 |" in text
    assert "| geometric mean |  |  | 1.50 |  |" in text
    assert "| us of one launch | 2.5 |" in text
    assert "A copy moves 3000 GB/s" in text
    assert "* matmul 4x4x4 f32, torch.compile: `RuntimeError: no / compiler`" in text
    assert "* lost: `out of memory`" in text


def test_rows_are_compared_with_a_copy_of_their_size():
    softmax = {
        **PRODUCT,
        "name": "softmax 4x4 f32",
        "group": "rows",
        "flops_per_second": 0.0,
        "microseconds_of_copying_the_input": 27.0,
    }
    norm = {key: value for key, value in softmax.items() if "copying" not in key}
    text = render_details({**RESULT, "rows": [softmax, {**norm, "name": "norm 4x4 f32"}]})
    assert "| of a copy | of a copy of that size |" in text
    assert "| softmax 4x4 f32 | 30.0 | 20.0 | **1.50** | 0.50 | 0.90 |" in text
    assert "| norm 4x4 f32 | 30.0 | 20.0 | **1.50** | 0.50 |  |" in text


def test_models_are_compared_with_their_fastest_peer():
    text = render_details(RESULT)
    row = next(line for line in text.splitlines() if "BERT" in line)
    assert "| 300 | 900 | 800 | 600 | 0.50 | 2.0e-03 | 3.0e-03 | 1.25 | 0.25 | 1.9 | 7.5 |" in row


def test_the_summary_is_the_mean_over_the_models_of_a_type():
    slow = {
        **MODEL,
        "name": "BERT-base b1 f32",
        "microseconds": {"xyntra": 4.0, "torch.compile": 2},
    }
    text = render_summary({**RESULT, "rows": [MODEL, slow]})
    assert text.endswith("NVIDIA H100: geometric mean 0.50 in f16, 2.00 in f32.\n")


def test_every_document_gets_the_table_that_it_has_markers_for(tmp_path):
    details, summary, neither = (tmp_path / f"{name}.md" for name in ("a", "b", "c"))
    details.write_text(f"# A\n{DETAILS.begin}\n{DETAILS.end}\n")
    summary.write_text(f"# B\n{SUMMARY.begin}\nold\n{SUMMARY.end}\n")
    update_documents([details, summary], RESULT)
    assert render_details(RESULT) in details.read_text()
    assert render_summary(RESULT) in summary.read_text()
    assert "old" not in summary.read_text()
    neither.write_text("# C\n")
    with pytest.raises(ValueError, match="needs"):
        update_documents([neither], RESULT)
