# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws one random model from a number."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto

from verify.random_graphs.models import (  # noqa: F401  (they register their makers)
    control,
    indices,
    layers,
    microsoft,
    motifs,
    moves,
    pointwise,
    quantized,
)
from verify.random_graphs.models.builder import Builder, Style
from verify.random_graphs.models.finish import Case, finish, scope_for
from verify.random_graphs.models.registry import MAKERS

__all__ = ["generate"]

_NEWEST = onnx.defs.onnx_opset_version()
_TYPES = (
    *[TensorProto.FLOAT] * 6,
    *[TensorProto.FLOAT16] * 2,
    TensorProto.BFLOAT16,
    TensorProto.DOUBLE,
)


def generate(seed: int, number: int) -> Case:
    """The model of a number: the same for the same two numbers."""
    rng = np.random.default_rng([seed, number])
    opset = int(rng.choice([rng.integers(7, _NEWEST + 1), rng.integers(13, _NEWEST + 1), 24]))
    kind = int(rng.choice(_TYPES))
    if kind == TensorProto.BFLOAT16:
        opset = max(opset, 13)
    style = Style(
        opset=opset,
        float_type=kind,
        special=bool(rng.random() < 0.15),
        zeros=bool(rng.random() < 0.1),
        large=int(rng.choice([64, 500, 500, 4096])),
        odd_names=bool(rng.random() < 0.05),
    )
    g = Builder(rng, style, scope_for(opset))
    size = int(
        rng.choice([1, 2, 3, 5, 8, 12, 20, 40], p=[0.1, 0.1, 0.15, 0.2, 0.2, 0.1, 0.1, 0.05])
    )
    names = list(MAKERS)
    weights = np.array([MAKERS[name][1] for name in names])
    focus = rng.choice(len(names), 8)
    if rng.random() < 0.4:
        weights[focus] *= 8
    weights /= weights.sum()
    for _ in range(300):
        if len(g.nodes) >= size:
            break
        g.attempt(MAKERS[names[int(rng.choice(len(names), p=weights))]][0])
    return finish(g, _settings(rng))


def _settings(rng: np.random.Generator) -> dict[str, object]:
    return {
        "opt_level": int(rng.choice([0, 0, 0, 0, 2])),
        "egraph": bool(rng.random() < 0.1),
        "fuse": bool(rng.random() < 0.92),
        "threads": int(rng.choice([1, 2])),
    }
