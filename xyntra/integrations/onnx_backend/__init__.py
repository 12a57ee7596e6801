# SPDX-License-Identifier: MIT OR Apache-2.0
"""ONNX's own interface to backends: `prepare(model).run(inputs)`.

`backend` has what `onnx.backend.base` asks for, so that ONNX's test runner, and programs that are
written for any backend, can be pointed at this module. `prepared` is a model that is compiled when
its inputs are there, once for each set of shapes.
"""

from xyntra.integrations.onnx_backend.backend import (
    XyntraBackend,
    is_compatible,
    prepare,
    run_model,
    run_node,
    supports_device,
)
from xyntra.integrations.onnx_backend.prepared import XyntraBackendRep

__all__ = [
    "XyntraBackend",
    "XyntraBackendRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]
