# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of text from transformers: decoders, encoders, and pairs of them."""

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
    "intermediate_size": 128,
    "max_position_embeddings": 96,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_GROUPED = _SIZES | {"num_key_value_heads": 2}
_HEADS = _GROUPED | {"head_dim": 16}
_WINDOW = _HEADS | {"sliding_window": 8}
_PAIR = {
    "vocab_size": VOCABULARY,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "max_position_embeddings": 96,
}
_T5 = {
    "vocab_size": VOCABULARY,
    "d_model": 64,
    "d_kv": 16,
    "d_ff": 128,
    "num_layers": 2,
    "num_heads": 4,
}
_DECODERS = {
    "arcee": ("ArceeForCausalLM", _GROUPED),
    "apertus": ("ApertusForCausalLM", _GROUPED),
    "bitnet": ("BitNetForCausalLM", _GROUPED),
    "cohere2": ("Cohere2ForCausalLM", _WINDOW),
    "cwm": ("CwmForCausalLM", _WINDOW),
    "doge": ("DogeForCausalLM", _GROUPED),
    "ernie4-5": ("Ernie4_5ForCausalLM", _HEADS),
    "exaone4": ("Exaone4ForCausalLM", _WINDOW),
    "glm": ("GlmForCausalLM", _HEADS),
    "helium": ("HeliumForCausalLM", _HEADS),
    "hunyuan-v1-dense": ("HunYuanDenseV1ForCausalLM", _HEADS),
    "ministral": ("MinistralForCausalLM", _WINDOW),
    "nanochat": ("NanoChatForCausalLM", _GROUPED),
    "olmo": ("OlmoForCausalLM", _GROUPED),
    "olmo3": ("Olmo3ForCausalLM", _GROUPED | {"sliding_window": 8}),
    "seed-oss": ("SeedOssForCausalLM", _HEADS),
    "vaultgemma": ("VaultGemmaForCausalLM", _WINDOW | {"query_pre_attn_scalar": 16}),
    "modernbert-decoder": (
        "ModernBertDecoderForCausalLM",
        _SIZES | {"local_attention": 8, "global_attn_every_n_layers": 2},
    ),
    "gpt-neox-japanese": ("GPTNeoXJapaneseForCausalLM", _SIZES | {"intermediate_multiple_size": 2}),
}
_ENCODERS = {
    "bert-generation": ("BertGenerationEncoder", _SIZES),
    "camembert": ("CamembertForMaskedLM", _SIZES),
    "data2vec-text": ("Data2VecTextModel", _SIZES),
    "ernie": ("ErnieForSequenceClassification", _SIZES),
    "flaubert": (
        "FlaubertModel",
        {"vocab_size": VOCABULARY, "emb_dim": 64, "n_layers": 2, "n_heads": 4},
    ),
    "markuplm": ("MarkupLMModel", _SIZES),
    "rembert": ("RemBertModel", _SIZES | {"input_embedding_size": 32}),
    "roberta-prelayernorm": ("RobertaPreLayerNormModel", _SIZES),
    "roc-bert": ("RoCBertModel", _SIZES | {"enable_shape": False, "enable_pronunciation": False}),
    "splinter": ("SplinterModel", _SIZES),
    "xlm-roberta": ("XLMRobertaForTokenClassification", _SIZES),
    "tapas": ("TapasModel", _SIZES | {"type_vocab_sizes": [3, 9, 9, 2, 9, 9, 10]}),
    "xmod": ("XmodModel", _SIZES | {"languages": ("en_XX",), "default_language": "en_XX"}),
}
_PAIRS = {
    "mt5": ("MT5ForConditionalGeneration", _T5),
    "mvp": ("MvpForConditionalGeneration", _PAIR),
    "plbart": ("PLBartForConditionalGeneration", _PAIR),
    "blenderbot-small": ("BlenderbotSmallForConditionalGeneration", _PAIR),
    "pegasus-x": ("PegasusXForConditionalGeneration", _PAIR | {"block_size": 8}),
    "bigbird-pegasus": (
        "BigBirdPegasusForConditionalGeneration",
        _PAIR | {"attention_type": "original_full"},
    ),
}
_MIXED: dict[str, tuple[str, dict[str, Any]]] = {
    "dots1": (
        "Dots1ForCausalLM",
        _HEADS
        | {
            "moe_intermediate_size": 32,
            "n_routed_experts": 4,
            "n_shared_experts": 1,
            "num_experts_per_tok": 2,
            "n_group": 1,
            "topk_group": 1,
            "first_k_dense_replace": 1,
        },
    ),
    "flex-olmo": ("FlexOlmoForCausalLM", _GROUPED | {"num_experts": 4, "num_experts_per_tok": 2}),
    "ernie4-5-moe": (
        "Ernie4_5_MoeForCausalLM",
        _HEADS | {"moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 32},
    ),
    "minimax": (
        "MiniMaxForCausalLM",
        _HEADS | {"num_local_experts": 4, "num_experts_per_tok": 2, "block_size": 8},
    ),
}
_SORTED: dict[str, tuple[str, dict[str, Any]]] = {
    "dots1-sorted": _MIXED["dots1"],
    "mixtral-sorted": ("MixtralForCausalLM", _HEADS | {"num_local_experts": 4}),
    "qwen3-moe-sorted": (
        "Qwen3MoeForCausalLM",
        _HEADS | {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
    ),
    "granitemoe-shared": (
        "GraniteMoeSharedForCausalLM",
        _GROUPED | {"num_local_experts": 4, "shared_intermediate_size": 64},
    ),
    "glm4-moe": (
        "Glm4MoeForCausalLM",
        _HEADS | {"moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts_per_tok": 2},
    ),
}
"""Rows are sorted by expert, and multiplied by the matrix of each: what transformers does."""
_STATES: dict[str, tuple[str, dict[str, Any]]] = {
    "falcon-h1": (
        "FalconH1ForCausalLM",
        _HEADS
        | {
            "mamba_d_ssm": 64,
            "mamba_n_heads": 4,
            "mamba_d_head": 16,
            "mamba_d_state": 16,
            "mamba_chunk_size": 8,
        },
    ),
    "zamba2": (
        "Zamba2ForCausalLM",
        _GROUPED
        | {
            "num_hidden_layers": 3,
            "layers_block_type": ["mamba", "hybrid", "mamba"],
            "mamba_ngroups": 1,
            "n_mamba_heads": 8,
            "mamba_d_state": 16,
            "chunk_size": 8,
            "num_mem_blocks": 1,
            "attention_head_dim": 32,
        },
    ),
}

_OPTIONS = {"use_cache": False}
for _name, (_model, _settings) in _DECODERS.items():
    add(_name, "text decoder", _model, text, _settings, options=_OPTIONS)
for _name, (_model, _settings) in _MIXED.items():
    _chosen = _settings | {"experts_implementation": "batched_mm"}
    add(_name, "decoder with experts", _model, partial(text, 12), _chosen, options=_OPTIONS)
for _name, (_model, _settings) in (_SORTED | _STATES).items():
    add(_name, "text decoder", _model, partial(text, 12), _settings, options=_OPTIONS)
for _name, (_model, _settings) in _ENCODERS.items():
    add(_name, "text encoder", _model, text, _settings)
for _name, (_model, _settings) in _PAIRS.items():
    add(_name, "text translator", _model, text_pair, _settings, options=_OPTIONS)
