# SPDX-License-Identifier: MIT OR Apache-2.0
"""Segmenters of transformers."""

from __future__ import annotations

from functools import partial

from verify.architectures.catalogue.vision.transformers_vision import SWIN, VIT, add_vision, picture
from verify.architectures.images import images
from verify.architectures.registry import Model, architecture

_SEGMENT = "segmentation"
add_vision(
    "segformer",
    _SEGMENT,
    "SegformerForSemanticSegmentation",
    {
        "hidden_sizes": [16, 32, 48, 64],
        "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 3, 4],
        "decoder_hidden_size": 32,
        "num_labels": 12,
    },
)
add_vision(
    "upernet",
    _SEGMENT,
    "UperNetForSemanticSegmentation",
    {
        "backbone_config": {
            "class": "ConvNextConfig",
            "hidden_sizes": [16, 32, 48, 64],
            "depths": [1, 1, 1, 1],
            "out_features": ["stage1", "stage2", "stage3", "stage4"],
        },
        "hidden_size": 32,
        "auxiliary_in_channels": 48,
        "auxiliary_channels": 16,
        "num_labels": 12,
    },
)
add_vision(
    "beit-segmentation",
    _SEGMENT,
    "BeitForSemanticSegmentation",
    VIT
    | {
        "num_hidden_layers": 4,
        "out_indices": [1, 2, 3, 4],
        "num_labels": 12,
        "use_relative_position_bias": True,
    },
)
add_vision(
    "maskformer",
    _SEGMENT,
    "MaskFormerForInstanceSegmentation",
    {
        "backbone_config": SWIN,
        "decoder_config": {
            "class": "DetrConfig",
            "d_model": 32,
            "decoder_layers": 2,
            "decoder_attention_heads": 4,
            "encoder_attention_heads": 4,
            "decoder_ffn_dim": 64,
            "num_queries": 8,
        },
        "fpn_feature_size": 32,
        "mask_feature_size": 32,
        "num_labels": 12,
    },
)
add_vision(
    "mask2former",
    _SEGMENT,
    "Mask2FormerForUniversalSegmentation",
    {
        "backbone_config": SWIN,
        "hidden_dim": 32,
        "feature_size": 32,
        "mask_feature_size": 32,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "num_attention_heads": 4,
        "dim_feedforward": 64,
        "encoder_feedforward_dim": 64,
        "num_queries": 8,
        "num_labels": 12,
    },
)
add_vision("clipseg", _SEGMENT, "CLIPSegVisionModel", VIT)
add_vision(
    "mobilevit-deeplab",
    _SEGMENT,
    "MobileViTForSemanticSegmentation",
    {
        "image_size": 64,
        "hidden_sizes": [32, 48, 64],
        "neck_hidden_sizes": [8, 16, 24, 32, 40, 48, 64],
        "num_labels": 12,
    },
)
add_vision(
    "mobilenet-v2-deeplab",
    _SEGMENT,
    "MobileNetV2ForSemanticSegmentation",
    {"depth_multiplier": 0.35, "num_labels": 12},
)
add_vision(
    "eomt",
    _SEGMENT,
    "EomtForUniversalSegmentation",
    VIT
    | {
        "num_hidden_layers": 4,
        "num_blocks": 2,
        "num_queries": 8,
        "num_labels": 12,
        "num_upscale_blocks": 1,
    },
)
add_vision(
    "vitmatte",
    _SEGMENT,
    "VitMatteForImageMatting",
    {
        "backbone_config": {
            "class": "VitDetConfig",
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 64,
            "pretrain_image_size": 64,
            "num_channels": 4,
            "out_features": ["stage2"],
            "window_block_indices": [0],
            "window_size": 2,
            "use_relative_position_embeddings": True,
            "residual_block_indices": [1],
        },
        "hidden_size": 64,
        "fusion_hidden_sizes": [32, 16, 8, 4],
        "convstream_hidden_sizes": [8, 16, 24],
    },
    inputs=partial(picture, 64, 4),
)


@architecture("sam-decoder", _SEGMENT, "transformers")
def _sam_decoder() -> Model:
    import torch
    import transformers

    config = transformers.SamConfig(
        vision_config={
            "hidden_size": 32,
            "output_channels": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 8,
            "window_size": 4,
            "num_pos_feats": 16,
            "global_attn_indexes": [0],
        },
        prompt_encoder_config={
            "hidden_size": 32,
            "image_size": 64,
            "patch_size": 8,
            "mask_input_channels": 4,
        },
        mask_decoder_config={
            "hidden_size": 32,
            "mlp_dim": 64,
            "num_attention_heads": 4,
            "iou_head_hidden_dim": 32,
            "num_hidden_layers": 2,
        },
    )
    inputs = {
        "pixel_values": images(1, 3, 64, 64),
        "input_points": torch.rand(1, 1, 2, 2) * 63,
    }
    return Model(transformers.SamModel(config), inputs)


@architecture("sam2-encoder", _SEGMENT, "transformers")
def _sam2_encoder() -> Model:
    import transformers

    backbone = transformers.Sam2HieraDetConfig(
        hidden_size=32,
        num_attention_heads=1,
        image_size=[128, 128],
        blocks_per_stage=[1, 2, 2, 1],
        embed_dim_per_stage=[32, 64, 128, 256],
        num_attention_heads_per_stage=[1, 2, 4, 8],
        window_size_per_stage=[4, 2, 4, 2],
        global_attention_blocks=[4],
        window_positional_embedding_background_size=[4, 4],
    )
    config = transformers.Sam2VisionConfig(
        backbone_config=backbone,
        backbone_channel_list=[256, 128, 64, 32],
        fpn_hidden_size=32,
        backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
    )
    return Model(transformers.Sam2VisionModel(config), {"pixel_values": images(1, 3, 128, 128)})
