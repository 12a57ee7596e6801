# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs node tests that are named on the command line by ONNX's own runner, as a program.

The onnx package makes its cases once a process, and other tests take them module by module.
"""

from __future__ import annotations

import sys
import unittest
import warnings
from typing import Any

import numpy as np
import onnx
from onnx.backend.test import BackendTest

from xyntra.integrations.onnx_backend import XyntraBackend


class InProcess(XyntraBackend):
    """Compiles in this process, which is faster for one test."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Any:
        config = {"isolate": False, "jobs": 1, "cache": False}
        return super().prepare(model, device, config=config, **kwargs)


def main(names: list[str]) -> int:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = BackendTest(InProcess, __name__).test_cases["OnnxBackendNodeModelTest"]
    suite = unittest.TestSuite(made(f"test_{name}_cpu") for name in names)
    result = unittest.TextTestRunner().run(suite)
    return 0 if result.wasSuccessful() and not result.skipped else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
