# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads ONNX's node tests as its own test runner makes them, and runs one on a backend."""

from __future__ import annotations

import sys
import traceback
import unittest
import warnings
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.backend.test import BackendTest
from onnx.backend.test.loader import load_model_tests

from xyntra.errors import CompileError, InputError, ModelError, UnsupportedError, XyntraError

__all__ = ["DISPUTED", "OUTCOMES", "Outcome", "judged", "operators", "run_test", "tests"]

OUTCOMES = ("right", "refused", "disputed", "wrong", "failed", "crashed")
"""Refused is what a typed error says about the model; failed is any other error."""
_TRAINING = "ai.onnx.preview.training"
TOLERANCES = {
    # The inverse transform's zeros are noise of float32 in what the test expects, up to 2e-7.
    "test_dft_inverse": {"atol": 1e-6},
    "test_dft_inverse_opset19": {"atol": 1e-6},
    # The expanded form rounds to float16 after every step; we are one step of it away.
    "test_attention_4d_causal_fp16_expanded": {"rtol": 2e-3},
}
"""Wider tolerances than a test's own, by test, with the reason: ONNX's runner takes them."""
_ALIGNED = (
    "the operator's text divides by the length of the resized tensor less one; the test expects "
    "what comes of the length before it is rounded down. onnxruntime follows the text, too."
)


@dataclass(frozen=True)
class Disputed:
    """A test that we hold to be wrong.

    Attributes:
        what: the outcome that is excused; any other one counts as it is.
        sign: a part of its message, the value that we hold to be right, say.
        reason: why, as a sentence for the documents.
    """

    what: str
    sign: str
    reason: str


DISPUTED = {
    "test_resize_downsample_scales_cubic_align_corners": Disputed(
        "wrong", "[0, 0, 0, 1]: 2.5 (ACTUAL)", _ALIGNED
    ),
    "test_resize_downsample_scales_linear_align_corners": Disputed(
        "wrong", "[0, 0, 0, 1]: 4.0 (ACTUAL)", _ALIGNED
    ),
    "test_loop16_seq_none": Disputed(
        "failed",
        "Unable to compare expected type <class 'numpy.ndarray'>",
        "the runner compares the elements of the sequence by `len()`, which fails for tensors of "
        "rank 0, whatever they hold. It fails for onnxruntime, too.",
    ),
}
"""Tests whose expectation or runner is at fault, by name. They are run, and counted apart."""
_REFUSALS = (InputError, ModelError, UnsupportedError)


@dataclass(frozen=True)
class Outcome:
    """What became of a test.

    Attributes:
        what: one of `OUTCOMES`.
        code: of the error, if any.
        why: its message, or what differs.
    """

    what: str
    code: str = ""
    why: str = ""


@cache
def operators() -> dict[str, tuple[str, ...]]:
    """The operators that each test outside of the training domain has, by the test's name."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    found = {}
    for case in cases:
        nodes = case.model.graph.node
        if all(node.domain != _TRAINING for node in nodes):
            found[case.name] = tuple(dict.fromkeys(map(_operator, nodes)))
    return found


def _operator(node: onnx.NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else str(node.op_type)


def tests(backend: Any) -> dict[str, unittest.TestCase]:
    """The node tests of ONNX's runner for the CPU, by name, each ready to be run on `backend`."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = BackendTest(backend, __name__, TOLERANCES).test_cases["OnnxBackendNodeModelTest"]
    return {name: made(f"{name}_cpu") for name in operators()}


def run_test(test: unittest.TestCase) -> Outcome:
    """Run one test, and say what became of it."""
    method = getattr(test, test._testMethodName)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            method()
    except unittest.SkipTest as skip:
        return Outcome("refused", "skipped", str(skip))
    except XyntraError as error:
        return _of_ours(error)
    except AssertionError as error:
        return Outcome("wrong", "", " ".join(str(error).split())[:300])
    except Exception as error:
        return Outcome("failed", type(error).__name__, _last_line(error))
    return Outcome("right")


def judged(name: str, outcome: Outcome) -> Outcome:
    """The outcome of a test, "disputed" where it is the one that is excused for this test."""
    case = DISPUTED.get(name)
    if case is None or outcome.what != case.what or case.sign not in outcome.why:
        return outcome
    return replace(outcome, what="disputed")


def _of_ours(error: XyntraError) -> Outcome:
    refused = isinstance(error, _REFUSALS) and not isinstance(error, CompileError)
    place = f"{error.place}: " if error.place else ""
    return Outcome("refused" if refused else "failed", error.code, f"{place}{error.message}"[:300])


def _last_line(error: Exception) -> str:
    frames = traceback.extract_tb(sys.exc_info()[2])
    where = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return " ".join(str(error).split())[:300] + where
