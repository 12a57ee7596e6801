# SPDX-License-Identifier: MIT OR Apache-2.0
"""Video models of transformers."""

from __future__ import annotations

from functools import partial
from typing import Any

from verify.architectures.catalogue.transformers_models import add
from verify.architectures.images import images

_FAMILY = "video"
_VIT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 32,
    "num_frames": 4,
}


def _frames(frames: int = 4, size: int = 32, name: str = "pixel_values") -> dict[str, Any]:
    return {name: images(1, frames, 3, size, size)}


add("videomae", _FAMILY, "VideoMAEForVideoClassification", _frames, _VIT | {"patch_size": 8})
add("timesformer", _FAMILY, "TimesformerForVideoClassification", _frames, _VIT | {"patch_size": 8})
add("vivit", _FAMILY, "VivitForVideoClassification", _frames, _VIT | {"tubelet_size": [2, 8, 8]})
add(
    "vjepa2",
    _FAMILY,
    "VJEPA2Model",
    partial(_frames, 4, 32, "pixel_values_videos"),
    {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "crop_size": 32,
        "patch_size": 8,
        "frames_per_clip": 4,
        "tubelet_size": 2,
        "pred_hidden_size": 32,
        "pred_num_attention_heads": 4,
        "pred_num_hidden_layers": 1,
        "pred_num_mask_tokens": 2,
        "mlp_ratio": 2,
    },
    options={"skip_predictor": True},
)
