# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models in ONNX's text, compiled for GPUs and run in the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from emulator import run_artifact
from onnx.reference import ReferenceEvaluator

import xyntra
from xyntra.targets.cuda.code.kernel_image import KernelImage

Array = np.ndarray[Any, Any]
KINDS = {"float16": np.float16, "float": np.float32}


def run(
    text: str, kind: str, shift: float = 0.0
) -> tuple[list[Array], list[Array], list[KernelImage]]:
    """Return what the emulator computes, what ONNX's reference does in float64, and the code.

    Args:
        text: of a model, with `{T}` for the type of its numbers.
        kind: that type, one of `KINDS`.
        shift: what is added to normal numbers, to make inputs.
    """
    model = onnx.parser.parse_model(text.format(T=kind))
    rng = np.random.default_rng(11)
    shapes = [[d.dim_value for d in each.type.tensor_type.shape.dim] for each in model.graph.input]
    inputs = [(rng.standard_normal(shape) + shift).astype(KINDS[kind]) for shape in shapes]
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    names = [each.name for each in model.graph.input]
    wide = onnx.parser.parse_model(text.format(T="double"))
    given = dict(zip(names, (each.astype(np.float64) for each in inputs), strict=True))
    right = ReferenceEvaluator(wide).run(None, given)
    images = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    return run_artifact(artifact, inputs, {}), right, images
