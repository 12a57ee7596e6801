# SPDX-License-Identifier: MIT OR Apache-2.0
"""A part of ONNX's node tests, by ONNX's own runner; `python -m verify.onnx_backend` has all."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np
import onnx
from onnx.backend.test import BackendTest

from xyntra.integrations.onnx_backend import XyntraBackend

CASES = """
add_bcast attention_4d batchnorm_example cumsum_2d_axis_0 gemm_all_attributes if loop11
onehot_with_axis range_float_type_positive_delta reshape_negative_dim slice_neg softmax_axis_1
tile top_k
""".split()


class InProcess(XyntraBackend):
    """Compiles in this process, which is faster for one test."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Any:
        config = {"isolate": False, "jobs": 1, "cache": False}
        return super().prepare(model, device, config=config, **kwargs)


def test_the_runner_finds_nothing_wrong() -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = BackendTest(InProcess, __name__).test_cases["OnnxBackendNodeModelTest"]
    suite = unittest.TestSuite(made(f"test_{case}_cpu") for case in CASES)
    result = suite.run(unittest.TestResult())
    assert result.testsRun == len(CASES)
    assert [*result.failures, *result.errors, *result.skipped] == []
