# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the node tests for each backend that they are run on."""

from __future__ import annotations

from typing import Any

import onnx

from verify.onnx_backend.cases import tests

__all__ = ["BACKENDS"]

_CONFIG = {"isolate": False, "jobs": 1, "cache": False}
"""The processes here may crash: no more of them are needed for a test."""


def xyntra_tests() -> dict[str, Any]:
    """The tests on Xyntra, compiled in the process that runs them."""
    from xyntra.integrations.onnx_backend import XyntraBackend

    class InProcess(XyntraBackend):
        @classmethod
        def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Any:
            return super().prepare(model, device, config=_CONFIG, **kwargs)

    return tests(InProcess)


def onnxruntime_tests() -> dict[str, Any]:
    """The tests on onnxruntime's own backend, unreleased operator sets admitted."""
    import os

    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
    import onnxruntime.backend.backend as theirs

    return tests(theirs.OnnxRuntimeBackend)


BACKENDS = {"xyntra": xyntra_tests, "onnxruntime": onnxruntime_tests}
"""Functions that make the tests, by the name of the backend."""
