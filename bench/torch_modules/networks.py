# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds networks of timm and transformers in their usual sizes, batch 1, with drawn weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from verify.architectures.images import images, tokens
from verify.architectures.registry import Architecture, Model

__all__ = ["NETWORKS", "network"]

_LENGTH = 128
_VOCABULARY = 30000


def network(name: str) -> Architecture:
    """Return a network as what `verify.architectures.building.build` takes."""
    library = "timm" if name in _TIMM else "transformers"
    return Architecture(name, "", library, NETWORKS[name], name)


def _timm(name: str) -> Model:
    import timm

    return Model(timm.create_model(name, pretrained=False), {"x": images(1, 3, 224, 224)})


def _transformers(
    name: str, settings: dict[str, Any], inputs: dict[str, Any], output: str
) -> Model:
    import transformers

    kind = getattr(transformers, name)
    module = kind(kind.config_class(**settings))
    given = {key: make() for key, make in inputs.items()}
    options = {} if output == "last_hidden_state" else {"use_cache": False}
    return Model(module, given, options, lambda result: [result[output]])


def _ids(length: int = _LENGTH) -> Callable[[], Any]:
    return partial(tokens, 1, length, _VOCABULARY)


def _sound() -> Any:
    import torch

    return torch.randn(1, 80, 3000)


_TIMM = (
    "resnet50",
    "vit_base_patch16_224",
    "convnext_tiny",
    "efficientnet_b0",
    "mobilenetv3_large_100",
    "swin_tiny_patch4_window7_224",
)
_LLAMA = {
    "vocab_size": 32000,
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 4,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
}
_BOTH = {"input_ids": _ids(), "decoder_input_ids": _ids(16)}
_TRANSFORMERS: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "bert-base": ("BertModel", {}, {"input_ids": _ids()}, "last_hidden_state"),
    "gpt2": ("GPT2LMHeadModel", {}, {"input_ids": _ids()}, "logits"),
    "llama-4-layers": ("LlamaForCausalLM", _LLAMA, {"input_ids": _ids()}, "logits"),
    "distilbert": ("DistilBertModel", {}, {"input_ids": _ids()}, "last_hidden_state"),
    "t5-small": ("T5ForConditionalGeneration", {}, _BOTH, "logits"),
    "whisper-tiny": (
        "WhisperForConditionalGeneration",
        {"d_model": 384, "encoder_layers": 4, "decoder_layers": 4}
        | {"encoder_attention_heads": 6, "decoder_attention_heads": 6}
        | {"encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536},
        {"input_features": _sound, "decoder_input_ids": _ids(16)},
        "logits",
    ),
}
NETWORKS: dict[str, Callable[[], Model]] = {
    "bert-base": partial(_transformers, *_TRANSFORMERS["bert-base"]),
    "resnet50": partial(_timm, "resnet50"),
    **{name: partial(_transformers, *each) for name, each in _TRANSFORMERS.items()},
    **{name: partial(_timm, name) for name in _TIMM},
}
"""What builds each, those that say most first."""
