# SPDX-License-Identifier: MIT OR Apache-2.0
"""Encoders of images from transformers."""

from __future__ import annotations

from typing import Any

from verify.architectures.catalogue.vision.transformers_vision import VIT, add_vision, picture
from verify.architectures.images import images

_ENCODE = "image encoder"
add_vision("vit", _ENCODE, "ViTForImageClassification", VIT)
add_vision(
    "vit-mae",
    _ENCODE,
    "ViTMAEModel",
    VIT | {"mask_ratio": 0.5, "decoder_hidden_size": 32, "decoder_num_attention_heads": 4},
    inputs=lambda: picture() | {"noise": images(2, 1, 4, 4).reshape(2, 16)},
)
add_vision("dinov2", _ENCODE, "Dinov2ForImageClassification", VIT | {"use_swiglu_ffn": True})
add_vision(
    "dinov3-convnext",
    _ENCODE,
    "DINOv3ConvNextModel",
    {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]},
)
add_vision("ijepa", _ENCODE, "IJepaModel", VIT)
add_vision(
    "hf-beit", _ENCODE, "BeitForImageClassification", VIT | {"use_relative_position_bias": True}
)
add_vision("siglip-vision", _ENCODE, "SiglipVisionModel", VIT)
add_vision("clip-vision", _ENCODE, "CLIPVisionModel", VIT)
add_vision(
    "cvt",
    _ENCODE,
    "CvtForImageClassification",
    {"embed_dim": [16, 32, 48], "num_heads": [1, 2, 3], "depth": [1, 2, 3]},
)
add_vision(
    "hf-pvt",
    _ENCODE,
    "PvtForImageClassification",
    {
        "image_size": 64,
        "hidden_sizes": [16, 32, 48, 64],
        "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 3, 4],
    },
)
add_vision(
    "bit",
    _ENCODE,
    "BitForImageClassification",
    {
        "embedding_size": 16,
        "hidden_sizes": [32, 32, 64, 64],
        "depths": [1, 1, 1, 1],
        "num_groups": 8,
        "width_factor": 1,
    },
)
add_vision(
    "imagegpt",
    _ENCODE,
    "ImageGPTModel",
    {
        "vocab_size": 65,
        "n_positions": 64,
        "n_embd": 64,
        "n_layer": 2,
        "n_head": 4,
        "use_cache": False,
    },
    inputs=lambda: {"input_ids": _pixels()},
)
add_vision(
    "textnet",
    _ENCODE,
    "TextNetForImageClassification",
    {"stem_num_channels": 3, "stem_out_channels": 16, "hidden_sizes": [16, 16, 32, 32, 64]},
)


def _pixels() -> Any:
    import torch

    return torch.randint(0, 64, (2, 32))
