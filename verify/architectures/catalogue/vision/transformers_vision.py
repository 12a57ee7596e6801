# SPDX-License-Identifier: MIT OR Apache-2.0
"""Settings that image models of transformers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from verify.architectures.catalogue.transformers_models import add
from verify.architectures.images import images

__all__ = ["LAST", "RESNET", "SWIN", "VIT", "add_vision", "picture"]

VIT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 64,
    "patch_size": 16,
}
RESNET = {
    "class": "ResNetConfig",
    "embedding_size": 16,
    "hidden_sizes": [16, 32, 48, 64],
    "depths": [1, 1, 1, 1],
    "layer_type": "basic",
    "out_features": ["stage1", "stage2", "stage3", "stage4"],
}
LAST = RESNET | {"out_features": ["stage4"]}
SWIN = {
    "class": "SwinConfig",
    "embed_dim": 16,
    "depths": [1, 1, 1, 1],
    "num_heads": [1, 2, 4, 4],
    "window_size": 4,
    "image_size": 64,
    "out_features": ["stage1", "stage2", "stage3", "stage4"],
}


def picture(size: int = 64, channels: int = 3) -> dict[str, Any]:
    """Two pictures."""
    return {"pixel_values": images(2, channels, size, size)}


def add_vision(
    name: str,
    family: str,
    model: str,
    settings: Mapping[str, Any],
    size: int = 64,
    inputs: Callable[[], dict[str, Any]] | None = None,
) -> None:
    """Register an image model; see `add`."""
    add(name, family, model, inputs or partial(picture, size), settings)
