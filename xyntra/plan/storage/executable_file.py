# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a compiled model, with or without its weights, as the parts of one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from xyntra.plan.artifact import Artifact
from xyntra.plan.plan import Plan
from xyntra.plan.storage.container import write_container

__all__ = ["WEIGHT", "file_parts", "kinds_of"]

Array = np.ndarray[Any, np.dtype[Any]]
WEIGHT = "weight/"
"""What the names of weights begin with, among the blobs of the file."""


def kinds_of(weights: Mapping[str, Array], plan: Plan) -> dict[str, Any]:
    """Return dtype and shape of what `plan` takes of `weights`, by name."""
    held = {name: weights[name] for name in plan.parameters if name in weights}
    return {name: [array.dtype.name, list(array.shape)] for name, array in held.items()}


def file_parts(
    artifact: Artifact, kinds: Mapping[str, Any], held: Mapping[str, Array] | None = None
) -> Iterable[bytes | memoryview]:
    """Return the file, in parts; without weights unless they are given.

    Args:
        artifact: the compiled model.
        kinds: what `kinds_of` says of its weights.
        held: the weights by name.
    """
    blobs = {WEIGHT + name: _bytes(array) for name, array in (held or {}).items()}
    described = {**artifact.meta(), "weights": dict(kinds), "weights_apart": held is None}
    return write_container(described, {**artifact.blobs(), **blobs})


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
