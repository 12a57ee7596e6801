# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles one random model, runs it twice, and says what became of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import xyntra
from verify.random_graphs.dtypes import is_float, unit, wide
from verify.random_graphs.models.finish import Case
from verify.random_graphs.reference import foreign
from verify.random_graphs.reference.compare import Expectation, difference
from verify.random_graphs.reference.judge import Judge
from xyntra.errors import ModelError, UnsupportedError, XyntraError

__all__ = ["GOOD", "REFUSED", "Outcome", "check", "compiled"]

REFUSED = ("gpu-function", "operator-unsupported")
"""Codes of what the documentation says is refused."""
GOOD = ("agrees", "refused", "invalid")
_SETTINGS: dict[str, object] = {
    "cache": False,
    "isolate": False,
    "strict": True,
    "jobs": 1,
    "progress": False,
}


@dataclass(frozen=True)
class Outcome:
    """What became of one model.

    Attributes:
        kind: "agrees", "refused" (a documented limit), "invalid" (onnx or onnxruntime does not
            accept the model either), or a problem.
        detail: the words for people.
        group: what failures of one cause share.
    """

    kind: str
    detail: str = ""
    group: str = ""


def compiled(case: Case, target: str) -> Any:
    """The executable of a case."""
    shapes = dict(case.inputs)
    return xyntra.compile(
        case.model, target=target, inputs=shapes, config=_SETTINGS | dict(case.settings)
    )


def check(case: Case, target: str = "cpu") -> Outcome:
    """Compile, run and compare."""
    try:
        executable = compiled(case, target)
    except UnsupportedError as error:
        return Outcome("refused", str(error), _group(error))
    except ModelError as error:
        words = foreign.accepted(case.model)
        if words:
            return Outcome("invalid", f"{error}\n{words}", _group(error))
        return Outcome("valid-refused", str(error), _group(error))
    except XyntraError as error:
        if error.code in REFUSED:
            return Outcome("refused", str(error), _group(error))
        return Outcome("compiler", str(error), _group(error))
    except Exception as error:
        return Outcome("untyped", f"{type(error).__name__}: {error}", type(error).__name__)
    try:
        first = run(executable, case.inputs)
        second = run(executable, case.inputs)
    except XyntraError as error:
        return Outcome("runtime", str(error), _group(error))
    for name, array in first.items():
        if array.tobytes() != second[name].tobytes():
            return Outcome("unrepeatable", name, "unrepeatable")
    return judged(case, first)


def run(executable: Any, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs, as arrays of their own."""
    return {name: np.array(array) for name, array in executable.run(dict(inputs)).items()}


def judged(case: Case, results: Mapping[str, np.ndarray]) -> Outcome:
    """Compare results with the reference; onnxruntime has a say about who is wrong."""
    judge = Judge(case.model, case.inputs)
    text = judge.complaint(results)
    if not text:
        return Outcome("agrees")
    try:
        third = foreign.onnxruntime_model(case.model, case.inputs)
    except Exception as error:
        vote = f"no vote: {type(error).__name__}: {str(error)[:200]}"
    else:
        theirs = judge.complaint(third)
        ours = judge.complaint(results)
        same = _alike(results, third, judge)
        vote = (
            "onnxruntime agrees with the reference"
            if not theirs
            else (
                "onnxruntime agrees with us" if same else f"onnxruntime differs from both: {theirs}"
            )
        )
        text = ours or text
    operators = sorted(
        {node.op_type for node in case.model.graph.node if node.op_type != "Constant"}
    )
    word = re.sub(r"[-+\d.e()]+", "#", text.split(": ", 1)[-1])[:40]
    kind = "disputed" if vote == "onnxruntime agrees with us" else "mismatch"
    return Outcome(kind, f"{text}; {vote}", f"{' '.join(operators)[:80]} {word}")


def _alike(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray], judge: Judge) -> bool:

    for name, each in judge.expectations().items():
        if b[name].shape != a[name].shape or b[name].dtype != a[name].dtype:
            return False
        value = wide(b[name])
        tolerance = each.tolerance
        if is_float(each.elem):
            with np.errstate(all="ignore"):
                tolerance = tolerance + 8 * unit(each.elem) * np.abs(
                    np.where(np.isfinite(value), value, 0)
                )
        if difference(a[name], Expectation(value, tolerance, each.elem)):
            return False
    return True


def _group(error: XyntraError) -> str:
    text = re.sub(r"'[^']*'|\"[^\"]*\"|[\d]+", "#", f"{error.message} {error.cause or ''}")
    return f"[{error.code}] {text[:150]}"
