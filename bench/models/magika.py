# SPDX-License-Identifier: MIT OR Apache-2.0
"""Magika: what kind of file is this? One-dimensional convolution over bytes."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.models.spec import InputSpec, ModelSpec
from bench.models.wheels import WheelFile, fetch

__all__ = ["CONFIG", "CONTENT_TYPES", "SPECS"]

STANDARD = WheelFile(
    requirement="magika==1.0.3",
    member="magika/models/standard_v3_3/model.onnx",
    sha256="fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
)
CONFIG = WheelFile(
    requirement="magika==1.0.3",
    member="magika/models/standard_v3_3/config.min.json",
    sha256="ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db",
)
CONTENT_TYPES = WheelFile(
    requirement="magika==1.0.3",
    member="magika/config/content_types_kb.min.json",
    sha256="75208adba69bc0556403b62b32ef3ccf8b5ce494411780845852e52e6583a10d",
)
# The model reads the first and the last 1024 bytes of a file; 256 stands for "past the end".
WINDOW = 1024
PADDING = 256


def draw_file(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return what Magika reads of random files: (batch, 2048) integers in [0, 256].

    A file's length and the byte values it uses are random too: uniform bytes would all be
    answered alike.
    """
    return np.stack([_features(_content(rng)) for _ in range(shape[0])])


def _content(rng: np.random.Generator) -> np.ndarray:
    alphabet = rng.permutation(256)[: rng.integers(4, 257)]
    return rng.choice(alphabet, size=rng.integers(16, 4 * WINDOW))


def _features(content: np.ndarray) -> np.ndarray:
    features = np.full(2 * WINDOW, PADDING)
    head, tail = content[:WINDOW], content[-WINDOW:]
    features[: len(head)] = head
    features[2 * WINDOW - len(tail) :] = tail
    return features


SPECS = (
    ModelSpec(
        name="magika",
        title="Magika standard v3.3",
        source="wheel magika 1.0.3",
        licence="Apache-2.0",
        inputs=(InputSpec("bytes", "int32", (1, 2 * WINDOW), draw_file),),
        build=partial(fetch, STANDARD),
        from_wheel=True,
        free_dimensions=("bytes",),
    ),
)
