# SPDX-License-Identifier: MIT OR Apache-2.0
"""Detectors of transformers."""

from __future__ import annotations

from verify.architectures.catalogue.vision.transformers_vision import LAST, RESNET, VIT, add_vision

_DETECT = "detection"
_DETR = {
    "d_model": 64,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "num_queries": 10,
    "num_labels": 12,
}
add_vision(
    "yolos",
    _DETECT,
    "YolosForObjectDetection",
    VIT | {"image_size": [64, 64], "num_detection_tokens": 10, "num_labels": 12},
)
add_vision("detr", _DETECT, "DetrForObjectDetection", _DETR | {"backbone_config": LAST})
add_vision(
    "conditional-detr",
    _DETECT,
    "ConditionalDetrForObjectDetection",
    _DETR | {"backbone_config": LAST},
)
add_vision(
    "deformable-detr",
    _DETECT,
    "DeformableDetrForObjectDetection",
    _DETR
    | {
        "backbone_config": RESNET | {"out_features": ["stage2", "stage3", "stage4"]},
        "num_feature_levels": 3,
    },
)
add_vision(
    "dab-detr",
    _DETECT,
    "DabDetrForObjectDetection",
    {
        "hidden_size": 64,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 128,
        "decoder_ffn_dim": 128,
        "num_queries": 10,
        "backbone_config": LAST,
    },
)
_RT = {
    "class": "RTDetrResNetConfig",
    "embedding_size": 16,
    "hidden_sizes": [16, 32, 48, 64],
    "depths": [1, 1, 1, 1],
    "layer_type": "basic",
    "out_features": ["stage2", "stage3", "stage4"],
}
_RT_DETR = {
    "backbone_config": _RT,
    "encoder_hidden_dim": 32,
    "encoder_in_channels": [32, 48, 64],
    "encoder_ffn_dim": 64,
    "decoder_in_channels": [32, 32, 32],
    "d_model": 32,
    "decoder_ffn_dim": 64,
    "decoder_layers": 2,
    "num_queries": 10,
    "num_labels": 12,
    "decoder_attention_heads": 4,
    "encoder_attention_heads": 4,
}
add_vision("rt-detr", _DETECT, "RTDetrForObjectDetection", _RT_DETR)
add_vision("rt-detr-v2", _DETECT, "RTDetrV2ForObjectDetection", _RT_DETR)
add_vision(
    "table-transformer",
    _DETECT,
    "TableTransformerForObjectDetection",
    _DETR | {"backbone_config": LAST},
)
