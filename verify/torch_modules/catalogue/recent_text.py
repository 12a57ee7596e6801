# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recent networks of text from transformers: experts, latent attention, states, complex numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

from verify.architectures.catalogue.transformers_models import (
    VOCABULARY,
    add,
    text,
    text_pair,
)

_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "max_position_embeddings": 96,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_HEADS = _SIZES | {"head_dim": 16}
_LATENT = _SIZES | {
    "num_key_value_heads": 4,
    "kv_lora_rank": 16,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "qk_nope_head_dim": 8,
}
_EXPERTS = {
    "moe_intermediate_size": 32,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
}
_NUMBERED = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama4": (
        "Llama4ForCausalLM",
        _HEADS
        | {"intermediate_size_mlp": 128, "num_local_experts": 4, "attention_chunk_size": 8}
        | {"no_rope_layers": [1, 0]},
    ),
    "deepseek-v32": (
        "DeepseekV32ForCausalLM",
        _LATENT
        | _EXPERTS
        | {"index_topk": 8, "index_head_dim": 16, "index_n_heads": 2, "first_k_dense_replace": 1},
    ),
    "kimi-linear": (
        "KimiLinearForCausalLM",
        _LATENT
        | {"moe_intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 2}
        | {"linear_head_dim": 16, "linear_num_heads": 4, "q_lora_rank": None}
        | {"layer_types": ["linear_attention", "full_attention"]},
    ),
    "mimo-v2-flash": (
        "MiMoV2FlashForCausalLM",
        _HEADS | _EXPERTS | {"v_head_dim": 8, "sliding_window": 9},
    ),
    "glm4-moe-lite": ("Glm4MoeLiteForCausalLM", _LATENT | _EXPERTS),
    "longcat-flash": (
        "LongcatFlashForCausalLM",
        _LATENT
        | {"num_layers": 1, "ffn_hidden_size": 128, "head_dim": 8, "moe_topk": 2}
        | {"n_routed_experts": 4, "zero_expert_num": 2, "expert_ffn_hidden_size": 32},
    ),
    "olmo-hybrid": (
        "OlmoHybridForCausalLM",
        _SIZES
        | {"linear_num_key_heads": 4, "linear_num_value_heads": 4, "linear_key_head_dim": 16}
        | {"linear_value_head_dim": 16, "layer_types": ["linear_attention", "full_attention"]},
    ),
    "lfm2-moe": (
        "Lfm2MoeForCausalLM",
        _SIZES | _NUMBERED | {"num_dense_layers": 1, "layer_types": ["conv", "full_attention"]},
    ),
    "laguna": (
        "LagunaForCausalLM",
        _HEADS | _NUMBERED | {"shared_expert_intermediate_size": 32, "sliding_window": 8},
    ),
    "solar-open": ("SolarOpenForCausalLM", _HEADS | _EXPERTS),
    "afmoe": ("AfmoeForCausalLM", _HEADS | _NUMBERED | {"sliding_window": 8}),
    "hunyuan-v1-moe": ("HunYuanMoEV1ForCausalLM", _HEADS | {"num_experts": 4, "moe_topk": 2}),
    "minicpm3": ("MiniCPM3ForCausalLM", _LATENT | {"dim_model_base": 16}),
    "zaya": (
        "ZayaForCausalLM",
        _HEADS | _NUMBERED | {"router_hidden_size": 16, "num_experts_per_tok": 1},
    ),
    "jais2": ("Jais2ForCausalLM", _HEADS),
    "bailing-hybrid": ("BailingHybridForCausalLM", _HEADS | _NUMBERED),
    "granite-swa": ("GraniteSWAForCausalLM", _SIZES | {"sliding_window": 8}),
}
_ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "jina-embeddings-v3": ("JinaEmbeddingsV3Model", _SIZES),
    "gte": ("GteModel", _SIZES),
}
_NLLB_MOE = {
    "vocab_size": VOCABULARY,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "max_position_embeddings": 96,
    "num_experts": 4,
    "encoder_sparse_step": 2,
    "decoder_sparse_step": 2,
}

_OPTIONS = {"use_cache": False}
for _name, (_model, _settings) in _MODELS.items():
    add(_name, "text decoder", _model, partial(text, 12), _settings, options=_OPTIONS)
for _name, (_model, _settings) in _ENCODERS.items():
    add(_name, "text encoder", _model, text, _settings)
add(
    "nllb-moe",
    "text translator",
    "NllbMoeForConditionalGeneration",
    text_pair,
    _NLLB_MOE,
    options=_OPTIONS,
)
