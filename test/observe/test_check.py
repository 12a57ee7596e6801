# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison with onnxruntime tells agreement from difference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_models import make_model

from xyntra.errors import ModelError, UnsupportedError
from xyntra.observe.check import compare, compare_arrays

ONE = np.array([1.0, np.inf, -np.inf, np.nan], np.float32)

PAIRS = {
    "equal": (ONE, ONE.copy(), True),
    "within the tolerance": (ONE, ONE + np.float32(5e-4), True),
    "beyond the tolerance": (ONE, ONE * np.float32(1.002), False),
    "another sign of infinity": (ONE, -ONE, False),
    "a number for infinity": (np.float32([1e38]), np.float32([np.inf]), False),
    "infinity for a number": (np.float32([np.inf]), np.float32([1e38]), False),
    "no number for a number": (np.float32([np.nan]), np.float32([1]), False),
    "a number for no number": (np.float32([1]), np.float32([np.nan]), False),
    "another shape": (ONE, ONE[None], False),
    "another dtype": (ONE, ONE.astype(np.float64), False),
    "integers": (np.arange(3), np.arange(3), True),
    "other integers": (np.arange(3), np.arange(3) + 1, False),
    "truths": (np.array([True, False]), np.array([True, False]), True),
    "other truths": (np.array([True, False]), np.array([True, True]), False),
    "nothing": (ONE[:0], ONE[:0], True),
}


@pytest.mark.parametrize(("ours", "reference", "agree"), PAIRS.values(), ids=PAIRS)
def test_arrays_are_compared(ours: np.ndarray, reference: np.ndarray, agree: bool) -> None:
    found, text = compare_arrays("y", ours, reference)
    assert found is agree
    assert text.startswith("y: ")
    assert ("agrees with" in text) is agree


def test_a_wrong_result_is_found(tmp_path: Path) -> None:
    model = make_model([("Neg", ["x"], ["a"]), ("Abs", ["x"], ["b"])], {"x": [2]}, ["a", "b"])
    path = str(tmp_path / "m.onnx")
    onnx.save(model, path)
    x = np.float32([1, -2])
    assert compare(path, {"x": x}, {"a": -x, "b": abs(x)}).agrees
    report = compare(path, {"x": x}, {"b": x, "a": -x})
    assert not report.agrees
    assert report.text.splitlines()[0].startswith("b: DIFFERS from onnxruntime, max |difference| 4")
    assert report.text.splitlines()[1].startswith("a: agrees")


def test_other_files_are_not_compared(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError) as unsupported:
        compare("m.mlir", {}, {})
    assert unsupported.value.code == "check-unsupported"
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(ModelError) as failed:
        compare(str(tmp_path / "m.onnx"), {}, {})
    assert failed.value.code == "check-failed"
