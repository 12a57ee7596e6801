# SPDX-License-Identifier: MIT OR Apache-2.0
"""A model with loops that threads share."""

from __future__ import annotations

import numpy as np
import onnx
from onnx_models import make_model

SIZE = 192


def shared_model() -> onnx.ModelProto:
    """Products, a chain and reductions over SIZE x SIZE, with enough work for several threads."""
    nodes = [
        ("MatMul", ["x", "w"], ["product"]),
        ("Erf", ["product"], ["bent"]),
        ("MatMul", ["bent", "x"], ["other"]),
        ("Softmax", ["other"], ["y"]),
        ("Transpose", ["bent"], ["turned"]),
        ("Add", ["turned", "other"], ["z"]),
    ]
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((SIZE, SIZE), np.float32) / np.float32(SIZE**0.5)
    return make_model(nodes, {"x": [SIZE, SIZE]}, ["y", "z"], {"w": weight})


def shared_input(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((SIZE, SIZE), np.float32)
