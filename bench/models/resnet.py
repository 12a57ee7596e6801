# SPDX-License-Identifier: MIT OR Apache-2.0
"""ResNet-50, 224 x 224, random weights."""

from __future__ import annotations

from pathlib import Path

from bench.models.export import export, randomize, require_torch
from bench.models.pictures import picture
from bench.models.spec import InputSpec, ModelSpec

__all__ = ["SPECS"]

# About the range that mean and standard deviation of ImageNet give.
INPUTS = (InputSpec("pixel_values", "float32", (1, 3, 224, 224), picture(-2.0, 2.0)),)


def build(path: Path) -> None:
    """Export to `path`; output `logits` (1, 1000)."""
    require_torch()
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    torch.manual_seed(0)
    config = ResNetConfig(
        embedding_size=64,
        hidden_sizes=[256, 512, 1024, 2048],
        depths=[3, 4, 6, 3],
        layer_type="bottleneck",
    )
    config.num_labels = 1000
    model = ResNetForImageClassification(config)
    randomize(model, seed=0)
    export(model, INPUTS, ("logits",), lambda out: out.logits, path)


SPECS = (
    ModelSpec(
        name="resnet50",
        title="ResNet-50, 224",
        source="transformers, random weights",
        licence="none needed (random weights)",
        inputs=INPUTS,
        build=build,
        from_wheel=False,
    ),
)
