# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of pictures and sounds from transformers and timm."""

from __future__ import annotations

from typing import Any

from verify.architectures.catalogue.timm.timm_models import add as add_timm
from verify.architectures.catalogue.transformers_models import VOCABULARY, add, text
from verify.architectures.catalogue.vision.transformers_vision import VIT, add_vision
from verify.architectures.images import sounds

_STAGES = {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 2, 1]}
_WINDOWS = {
    "image_size": 64,
    "embed_dim": 24,
    "depths": [2, 2],
    "num_heads": [2, 4],
    "window_size": 4,
}
_TEXT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 96,
}
_VISION: dict[str, tuple[str, dict[str, Any]]] = {
    "hf-deit": ("DeiTForImageClassification", VIT),
    "vit-msn": ("ViTMSNForImageClassification", VIT),
    "dinov2-with-registers": ("Dinov2WithRegistersModel", VIT | {"num_register_tokens": 2}),
    "hf-dinov3-vit": ("DINOv3ViTModel", VIT | {"num_register_tokens": 2}),
    "hf-aimv2": ("Aimv2VisionModel", VIT),
    "mlcd": ("MLCDVisionModel", VIT),
    "hf-convnext": ("ConvNextForImageClassification", _STAGES),
    "hf-convnextv2": ("ConvNextV2ForImageClassification", _STAGES),
    "hf-swin": ("SwinForImageClassification", _WINDOWS),
    "hf-swinv2": ("Swinv2ForImageClassification", _WINDOWS),
    "hf-focalnet": ("FocalNetForImageClassification", {"image_size": 64, "embed_dim": 24}),
    "hf-regnet": (
        "RegNetForImageClassification",
        _STAGES | {"embedding_size": 16, "groups_width": 16},
    ),
    "hf-resnet": ("ResNetForImageClassification", _STAGES | {"embedding_size": 16}),
    "hf-poolformer": ("PoolFormerForImageClassification", _STAGES),
    "hf-mobilenet-v1": ("MobileNetV1ForImageClassification", {"depth_multiplier": 0.25}),
    "hf-mobilevitv2": ("MobileViTV2ForImageClassification", {"width_multiplier": 0.25}),
    "hf-swiftformer": (
        "SwiftFormerForImageClassification",
        {"embed_dims": [16, 32, 48, 64], "depths": [1, 1, 2, 1]},
    ),
    "hf-hiera": (
        "HieraModel",
        {"image_size": [64, 64], "embed_dim": 24, "depths": [1, 1], "num_heads": [1, 2]}
        | {"query_stride": [2, 2], "num_query_pool": 1, "masked_unit_size": [4, 4]},
    ),
}
_SOUND = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "conv_dim": (32, 32, 32),
    "conv_stride": (5, 2, 2),
    "conv_kernel": (10, 3, 3),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "vocab_size": 32,
}

for _name, (_model, _settings) in _VISION.items():
    add_vision(_name, "image encoder", _model, _settings)
add(
    "unispeech",
    "speech",
    "UniSpeechForCTC",
    lambda: {"input_values": sounds(2, 1600)},
    _SOUND,
)
add(
    "flava-text",
    "pictures and text",
    "FlavaTextModel",
    text,
    _TEXT,
)
add(
    "siglip2-vision",
    "image encoder",
    "Siglip2VisionModel",
    lambda: _patches(),
    {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "num_patches": 16,
        "patch_size": 8,
    },
)
add_timm(
    "convolutions of timm",
    {
        "convnext_zepto_rms": {},
        "eca_resnet33ts": {},
        "resnext26ts": {},
        "gernet_s": {},
        "hardcorenas_a": {},
        "spnasnet_100": {},
        "fbnetc_100": {},
        "nf_resnet26": {},
        "resnet14t": {},
        "rexnetr_100": {},
        "ghostnetv3_100": {},
        "efficientnet_es": {},
        "mobilenetv3_rw": {},
        "hgnet_tiny": {},
        "cspresnext50": {"size": 96},
        "resnetv2_50d_gn": {},
        "tf_efficientnet_lite0": {},
        "dm_nfnet_f0": {},
        "vovnet39a": {},
        "inception_next_tiny": {"depths": (1, 1, 2, 1)},
    },
)
add_timm(
    "transformers of timm",
    {
        "vit_xsmall_patch16_clip_224": {"img_size": 64, "depth": 2},
        "vit_wee_patch16_reg1_gap_256": {"img_size": 64, "depth": 2},
        "vit_dlittle_patch16_reg1_gap_256": {"img_size": 64, "depth": 2},
        "flexivit_small": {"img_size": 64, "depth": 2, "size": 64},
        "swin_s3_tiny_224": {"size": 224, "depths": (1, 1, 1, 1)},
        "maxxvit_rmlp_nano_rw_256": {"img_size": 256, "size": 256, "depths": (1, 1, 1, 1)},
        "coatnext_nano_rw_224": {"img_size": 224, "size": 224, "depths": (1, 1, 1, 1)},
        "hieradet_small": {},
        "pvt_v2_b1": {},
        "efficientvit_b1": {},
    },
)


def _patches() -> dict[str, Any]:
    import torch

    return {
        "pixel_values": torch.randn(2, 16, 3 * 8 * 8),
        "pixel_attention_mask": torch.ones(2, 16, dtype=torch.int32),
        "spatial_shapes": torch.tensor([[4, 4], [4, 4]]),
    }
