# SPDX-License-Identifier: MIT OR Apache-2.0
"""Depth estimators and restorers of transformers."""

from __future__ import annotations

from verify.architectures.catalogue.vision.transformers_vision import VIT, add_vision
from verify.architectures.images import images

_DEPTH = "depth and restoration"
_DPT_NECK = {
    "neck_hidden_sizes": [16, 24, 32, 48],
    "fusion_hidden_size": 32,
    "reassemble_factors": [4, 2, 1, 0.5],
}
add_vision(
    "dpt",
    _DEPTH,
    "DPTForDepthEstimation",
    VIT
    | _DPT_NECK
    | {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "is_hybrid": False},
)
add_vision(
    "depth-anything",
    _DEPTH,
    "DepthAnythingForDepthEstimation",
    {
        "backbone_config": {
            "class": "Dinov2Config",
            **{k: v for k, v in VIT.items() if k != "patch_size"},
            "patch_size": 14,
            "image_size": 70,
            "num_hidden_layers": 4,
            "out_features": ["stage1", "stage2", "stage3", "stage4"],
            "reshape_hidden_states": False,
            "apply_layernorm": True,
        },
        "patch_size": 14,
        "reassemble_hidden_size": 64,
        "neck_hidden_sizes": [16, 24, 32, 48],
        "fusion_hidden_size": 32,
        "head_hidden_size": 16,
    },
    70,
)
add_vision(
    "glpn",
    _DEPTH,
    "GLPNForDepthEstimation",
    {
        "hidden_sizes": [16, 32, 48, 64],
        "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 3, 4],
        "decoder_hidden_size": 32,
    },
)
add_vision(
    "zoedepth",
    _DEPTH,
    "ZoeDepthForDepthEstimation",
    {
        "backbone_config": {
            "class": "BeitConfig",
            **VIT,
            "num_hidden_layers": 4,
            "out_features": ["stage1", "stage2", "stage3", "stage4"],
            "reshape_hidden_states": False,
            "use_relative_position_bias": True,
        },
        "neck_hidden_sizes": [16, 24, 32, 48],
        "fusion_hidden_size": 32,
        "bottleneck_features": 32,
        "num_relative_features": 16,
        "bin_embedding_dim": 32,
        "num_attractors": [4, 4, 2, 1],
        "backbone_hidden_size": 64,
    },
)
add_vision(
    "swin2sr",
    _DEPTH,
    "Swin2SRForImageSuperResolution",
    {
        "image_size": 32,
        "embed_dim": 24,
        "depths": [2, 2],
        "num_heads": [2, 2],
        "window_size": 4,
        "upscale": 2,
    },
    32,
)
add_vision(
    "vitpose",
    _DEPTH,
    "VitPoseForPoseEstimation",
    {
        "backbone_config": {
            "class": "VitPoseBackboneConfig",
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": [64, 48],
            "patch_size": [16, 16],
            "out_features": ["stage2"],
        },
        "num_labels": 17,
        "use_simple_decoder": False,
    },
    inputs=lambda: {"pixel_values": images(2, 3, 64, 48)},
)
add_vision(
    "superpoint-encoder",
    _DEPTH,
    "SegformerModel",
    {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 3, 4]},
)
