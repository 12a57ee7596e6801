# SPDX-License-Identifier: MIT OR Apache-2.0
"""Magika: what kind of file is this? One-dimensional convolution over bytes."""

from __future__ import annotations

from functools import partial

from bench.models.spec import InputSpec, ModelSpec, integers
from bench.models.wheels import WheelFile, fetch

__all__ = ["SPECS"]

STANDARD = WheelFile(
    requirement="magika==1.0.3",
    member="magika/models/standard_v3_3/model.onnx",
    sha256="fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
)
# The first and the last 1024 bytes of a file; 256 stands for "past the end".
FEATURES = 2048
PADDING = 256

SPECS = (
    ModelSpec(
        name="magika",
        title="Magika standard v3.3",
        source="wheel magika 1.0.3",
        licence="Apache-2.0",
        inputs=(InputSpec("bytes", "int32", (1, FEATURES), integers(PADDING + 1)),),
        build=partial(fetch, STANDARD),
        from_wheel=True,
        free_dimensions=("bytes",),
    ),
)
