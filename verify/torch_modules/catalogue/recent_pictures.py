# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recent networks of pictures, films and sounds from transformers."""

from __future__ import annotations

from typing import Any

from verify.architectures.catalogue.transformers_models import add
from verify.architectures.catalogue.vision.transformers_vision import VIT, add_vision
from verify.architectures.images import images

_SOUND = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "num_mel_bins": 16,
    "max_source_positions": 40,
}
_VISION: dict[str, tuple[str, dict[str, Any]]] = {
    "pixio": ("PixioModel", VIT),
    "sapiens2": ("Sapiens2Model", VIT),
    "tipsv2-vision": ("Tipsv2VisionModel", VIT),
    "pixtral-vision": ("PixtralVisionModel", VIT),
    "pp-lcnet": ("PPLCNetForImageClassification", {"scale": 0.25, "class_expand": 64}),
}


def _mel() -> dict[str, Any]:
    return {"input_features": images(1, 1, 16, 80)[:, 0]}


def _film() -> dict[str, Any]:
    return {"pixel_values_videos": images(4, 3, 32, 32)[None]}


for _name, (_model, _settings) in _VISION.items():
    add_vision(_name, "image encoder", _model, _settings)
add("voxtral-encoder", "speech", "VoxtralEncoder", _mel, _SOUND)
add(
    "qwen2-audio-encoder",
    "speech",
    "Qwen2AudioEncoder",
    _mel,
    {"num_mel_bins": 16, "encoder_layers": 2, "encoder_attention_heads": 4}
    | {"encoder_ffn_dim": 128, "d_model": 64, "max_source_positions": 40},
)
add(
    "clap-audio",
    "speech",
    "ClapAudioModel",
    lambda: {"input_features": images(1, 1, 256, 16)},
    {"spec_size": 64, "num_mel_bins": 16, "depths": [1, 2], "num_attention_heads": [2, 4]}
    | {"patch_embeds_hidden_size": 24, "hidden_size": 48, "window_size": 4},
)
add(
    "videoprism-vision",
    "films",
    "VideoPrismVisionModel",
    _film,
    {"image_size": 32, "num_frames": 4, "tubelet_size": [1, 8, 8], "hidden_size": 64}
    | {"num_attention_heads": 4, "intermediate_size": 128}
    | {"num_spatial_layers": 2, "num_temporal_layers": 1, "num_auxiliary_layers": 1},
)
