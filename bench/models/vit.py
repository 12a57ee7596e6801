# SPDX-License-Identifier: MIT OR Apache-2.0
"""ViT-Tiny, patch 16, 224 x 224, random weights."""

from __future__ import annotations

from pathlib import Path

from bench.models.export import export, randomize, require_torch
from bench.models.pictures import picture
from bench.models.spec import InputSpec, ModelSpec

__all__ = ["SPECS"]

# Pixels normalised with mean 0.5 and standard deviation 0.5.
INPUTS = (InputSpec("pixel_values", "float32", (1, 3, 224, 224), picture(-1.0, 1.0)),)


def build(path: Path) -> None:
    """Export to `path`; output `logits` (1, 1000)."""
    require_torch()
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=192,
        num_hidden_layers=12,
        num_attention_heads=3,
        intermediate_size=768,
        image_size=224,
        patch_size=16,
    )
    config.num_labels = 1000
    model = ViTForImageClassification(config)
    randomize(model, seed=0)
    export(model, INPUTS, ("logits",), lambda out: out.logits, path)


SPECS = (
    ModelSpec(
        name="vit-tiny",
        title="ViT-Tiny, 224",
        source="transformers, random weights",
        licence="none needed (random weights)",
        inputs=INPUTS,
        build=build,
        from_wheel=False,
    ),
)
