# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares outputs with those of onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from xyntra.errors import MissingExtraError, ModelError, UnsupportedError

Array = np.ndarray[Any, Any]
ABSOLUTE, RELATIVE = 1e-4, 1e-3


@dataclass(frozen=True)
class Report:
    """The outcome of a comparison, and a line of text for each output."""

    agrees: bool
    text: str


def compare(model: str | bytes, feeds: Mapping[str, Array], outputs: Mapping[str, Array]) -> Report:
    """Run the ONNX file `model`, or one of these contents, with onnxruntime and compare.

    An output agrees where |difference| <= 1e-4 + 1e-3 |reference| for every element.

    Raises:
        MissingExtraError: onnxruntime is not installed.
        UnsupportedError: `model` is no ONNX file.
        ModelError: onnxruntime refuses it.
    """
    if isinstance(model, str) and model.endswith((".mlir", ".mlirbc", ".linalg", ".xyn")):
        raise UnsupportedError("check-unsupported", "only ONNX files can be checked", place=model)
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError(
            "missing-onnxruntime", "onnxruntime is not installed", hint="pip install 'xyntra[demo]'"
        ) from None
    names = list(outputs)
    try:
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        expected = session.run(names, dict(feeds))
    except Exception as error:
        raise ModelError(
            "check-failed", "onnxruntime refuses the model", cause=str(error)
        ) from None
    rows = [
        compare_arrays(name, outputs[name], reference)
        for name, reference in zip(names, expected, strict=True)
    ]
    return Report(all(agrees for agrees, _ in rows), "\n".join(text for _, text in rows))


def compare_arrays(name: str, ours: Array, reference: Array) -> tuple[bool, str]:
    """Tell whether two arrays agree, and a line that says how closely."""
    if ours.shape != reference.shape or ours.dtype != reference.dtype:
        return (
            False,
            f"{name}: {ours.dtype} {ours.shape}, expected {reference.dtype} {reference.shape}",
        )
    with np.errstate(invalid="ignore"):
        difference = np.abs(ours.astype("float64") - reference.astype("float64"))
        same = (ours == reference) | ((ours != ours) & (reference != reference))
        difference = np.where(same, 0.0, difference)
        limit = ABSOLUTE + RELATIVE * np.abs(reference.astype("float64"))
        near = np.isfinite(limit) & (difference <= limit)
        agrees = bool(np.all(same | near))
    largest = float(difference.max()) if difference.size else 0.0
    verdict = "agrees with" if agrees else "DIFFERS from"
    return agrees, f"{name}: {verdict} onnxruntime, max |difference| {largest:.3g}"
