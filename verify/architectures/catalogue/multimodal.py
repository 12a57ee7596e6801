# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of images and text, and of documents, from transformers."""

from __future__ import annotations

from functools import partial
from typing import Any

from verify.architectures.catalogue.transformers_models import VOCABULARY, add, text
from verify.architectures.images import images
from verify.architectures.registry import Model, architecture

_FAMILY = "multimodal"
_TEXT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 32,
}
_VISION = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 64,
    "patch_size": 16,
}


def _both(length: int = 16) -> dict[str, Any]:
    return text(length) | {"pixel_values": images(2, 3, 64, 64)}


def _document(length: int = 16) -> dict[str, Any]:
    import torch

    corners = torch.randint(0, 40, (2, length, 2))
    boxes = torch.cat([corners, corners + torch.randint(1, 20, (2, length, 2))], -1)
    return text(length) | {"bbox": boxes}


_PAIR = {"text_config": _TEXT | {"eos_token_id": 2}, "vision_config": _VISION, "projection_dim": 32}
add("clip", _FAMILY, "CLIPModel", _both, _PAIR)
add(
    "siglip",
    _FAMILY,
    "SiglipModel",
    partial(_both, 32),
    {"text_config": _TEXT | {"max_position_embeddings": 32}, "vision_config": _VISION},
)
add(
    "altclip-text",
    _FAMILY,
    "AltCLIPTextModel",
    text,
    _TEXT | {"project_dim": 32, "max_position_embeddings": 96},
)
add("chinese-clip", _FAMILY, "ChineseCLIPModel", _both, _PAIR)
add("owlvit", _FAMILY, "OwlViTForObjectDetection", _both, _PAIR | {"projection_dim": 64})
add("clipseg-text", _FAMILY, "CLIPSegModel", _both, _PAIR)
add(
    "blip",
    _FAMILY,
    "BlipForImageTextRetrieval",
    _both,
    {
        "text_config": _TEXT | {"encoder_hidden_size": 64, "bos_token_id": 1},
        "vision_config": _VISION,
        "projection_dim": 32,
        "image_text_hidden_size": 32,
    },
)
add(
    "git",
    _FAMILY,
    "GitForCausalLM",
    _both,
    _TEXT | {"vision_config": _VISION, "max_position_embeddings": 64, "use_cache": False},
)
add(
    "layoutlm",
    _FAMILY,
    "LayoutLMForTokenClassification",
    _document,
    _TEXT | {"max_2d_position_embeddings": 64},
)
add(
    "lilt",
    _FAMILY,
    "LiltModel",
    _document,
    _TEXT | {"hidden_size": 96, "max_2d_position_embeddings": 64, "channel_shrink_ratio": 4},
)
add(
    "layoutlmv3",
    _FAMILY,
    "LayoutLMv3ForTokenClassification",
    lambda: _document() | {"pixel_values": images(2, 3, 64, 64)},
    _TEXT
    | {
        "max_2d_position_embeddings": 64,
        "input_size": 64,
        "patch_size": 16,
        "coordinate_size": 10,
        "shape_size": 12,
        "max_position_embeddings": 64,
    },
)
add(
    "bros",
    _FAMILY,
    "BrosModel",
    lambda: _document() | {"bbox": _document()["bbox"].float() / 64},
    _TEXT | {"dim_bbox": 8, "dim_bbox_sinusoid_emb_2d": 16, "dim_bbox_projection": 16},
)
add(
    "trocr-decoder",
    _FAMILY,
    "TrOCRForCausalLM",
    partial(text, 12),
    {
        "vocab_size": VOCABULARY,
        "d_model": 64,
        "decoder_layers": 2,
        "decoder_attention_heads": 4,
        "decoder_ffn_dim": 128,
        "max_position_embeddings": 32,
        "use_cache": False,
    },
)
add(
    "visual-bert",
    _FAMILY,
    "VisualBertModel",
    lambda: text(12) | {"visual_embeds": images(2, 1, 6, 32)[:, 0]},
    _TEXT | {"visual_embedding_dim": 32},
)
add(
    "lxmert",
    _FAMILY,
    "LxmertModel",
    lambda: text(12) | _regions(),
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "l_layers": 1,
        "x_layers": 1,
        "r_layers": 1,
        "visual_feat_dim": 32,
        "max_position_embeddings": 32,
    },
)


def _regions() -> dict[str, Any]:
    import torch

    return {"visual_feats": torch.randn(2, 5, 32), "visual_pos": torch.rand(2, 5, 4)}


@architecture("llava", _FAMILY, "transformers")
def _llava() -> Model:
    import torch
    import transformers

    words = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=128,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    sight = transformers.CLIPVisionConfig(**_VISION)
    config = transformers.LlavaConfig(
        vision_config=sight, text_config=words, image_token_id=VOCABULARY - 1
    )
    inputs = _both(24)
    ids = torch.where(inputs["input_ids"] == VOCABULARY - 1, 5, inputs["input_ids"])
    ids[:, 2:18] = VOCABULARY - 1
    module = transformers.LlavaForConditionalGeneration(config)
    return Model(module, inputs | {"input_ids": ids}, {"use_cache": False})


@architecture("blip-2-qformer", _FAMILY, "transformers")
def _qformer() -> Model:
    import torch
    import transformers

    config = transformers.Blip2QFormerConfig(**_TEXT, encoder_hidden_size=48)
    inputs = {
        "query_embeds": torch.randn(2, 8, 64),
        "encoder_hidden_states": torch.randn(2, 17, 48),
    }
    return Model(transformers.Blip2QFormerModel(config), inputs)


@architecture("perceiver", _FAMILY, "transformers")
def _perceiver() -> Model:
    import torch
    import transformers

    config = transformers.PerceiverConfig(
        num_latents=16,
        d_latents=64,
        d_model=48,
        num_blocks=1,
        num_self_attends_per_block=2,
        num_self_attention_heads=4,
        num_cross_attention_heads=4,
    )
    return Model(transformers.PerceiverModel(config), {"inputs": torch.randn(2, 40, 48)})


@architecture("florence2-vision", _FAMILY, "transformers")
def _florence() -> Model:
    import transformers

    config = transformers.Florence2VisionConfig(
        embed_dim=[16, 32, 48, 64],
        num_heads=[1, 2, 4, 4],
        num_groups=[1, 2, 4, 4],
        depths=[1, 1, 1, 1],
        window_size=4,
        projection_dim=64,
    )
    return Model(
        transformers.Florence2VisionBackbone(config), {"hidden_states": images(1, 3, 64, 64)}
    )
