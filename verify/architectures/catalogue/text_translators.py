# SPDX-License-Identifier: MIT OR Apache-2.0
"""Encoders with decoders, and recurrent and state space models, from transformers."""

from __future__ import annotations

from functools import partial

from verify.architectures.catalogue.transformers_models import VOCABULARY, add, text, text_pair

_BOTH = "encoder and decoder"
_STATE = "state space or linear attention"
_OPTIONS = {"use_cache": False}
_T5 = {
    "vocab_size": VOCABULARY,
    "d_model": 64,
    "d_kv": 16,
    "d_ff": 128,
    "num_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}
_BART = {
    "vocab_size": VOCABULARY,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "max_position_embeddings": 96,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}

add("t5", _BOTH, "T5ForConditionalGeneration", text_pair, _T5, options=_OPTIONS)
add(
    "t5-gated",
    _BOTH,
    "T5ForConditionalGeneration",
    text_pair,
    _T5 | {"feed_forward_proj": "gated-gelu"},
    options=_OPTIONS,
)
add("t5-encoder", "text encoder", "T5EncoderModel", text, _T5)
add("umt5", _BOTH, "UMT5ForConditionalGeneration", text_pair, _T5, options=_OPTIONS)
add(
    "longt5",
    _BOTH,
    "LongT5ForConditionalGeneration",
    partial(text_pair, 32),
    _T5 | {"encoder_attention_type": "transient-global", "local_radius": 7, "global_block_size": 8},
    options=_OPTIONS,
)
add(
    "switch-transformers",
    _BOTH,
    "SwitchTransformersForConditionalGeneration",
    text_pair,
    _T5 | {"num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    options=_OPTIONS,
)
add("bart", _BOTH, "BartForConditionalGeneration", text_pair, _BART, options=_OPTIONS)
add("mbart", _BOTH, "MBartForConditionalGeneration", text_pair, _BART, options=_OPTIONS)
add("pegasus", _BOTH, "PegasusForConditionalGeneration", text_pair, _BART, options=_OPTIONS)
add(
    "marian",
    _BOTH,
    "MarianMTModel",
    text_pair,
    _BART | {"decoder_vocab_size": VOCABULARY},
    options=_OPTIONS,
)
add("m2m-100", _BOTH, "M2M100ForConditionalGeneration", text_pair, _BART, options=_OPTIONS)
add("blenderbot", _BOTH, "BlenderbotForConditionalGeneration", text_pair, _BART, options=_OPTIONS)
add(
    "led",
    _BOTH,
    "LEDForConditionalGeneration",
    partial(text_pair, 32),
    _BART
    | {
        "attention_window": [8, 8],
        "max_encoder_position_embeddings": 96,
        "max_decoder_position_embeddings": 96,
    },
    options=_OPTIONS,
)
add(
    "prophetnet",
    _BOTH,
    "ProphetNetForConditionalGeneration",
    text_pair,
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "num_encoder_attention_heads": 4,
        "num_decoder_attention_heads": 4,
        "encoder_ffn_dim": 128,
        "decoder_ffn_dim": 128,
        "max_position_embeddings": 96,
    },
    options=_OPTIONS,
)
add(
    "fsmt",
    _BOTH,
    "FSMTForConditionalGeneration",
    text_pair,
    _BART | {"langs": ["en", "de"], "src_vocab_size": VOCABULARY, "tgt_vocab_size": VOCABULARY},
    options=_OPTIONS,
)

_UNMASKED = partial(text, 16, mask=False)
_MAMBA = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "state_size": 8,
    "time_step_rank": 8,
}
add("mamba", _STATE, "MambaForCausalLM", _UNMASKED, _MAMBA, options=_OPTIONS)
add(
    "mamba2",
    _STATE,
    "Mamba2ForCausalLM",
    _UNMASKED,
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "state_size": 16,
        "num_heads": 8,
        "head_dim": 16,
        "n_groups": 2,
        "chunk_size": 8,
    },
    options=_OPTIONS,
)
add("falcon-mamba", _STATE, "FalconMambaForCausalLM", _UNMASKED, _MAMBA, options=_OPTIONS)
add(
    "rwkv",
    _STATE,
    "RwkvForCausalLM",
    _UNMASKED,
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "attention_hidden_size": 64,
        "intermediate_size": 128,
        "context_length": 32,
    },
    options=_OPTIONS,
)
add(
    "recurrent-gemma",
    _STATE,
    "RecurrentGemmaForCausalLM",
    partial(text, 16),
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "intermediate_size": 128,
        "lru_width": 64,
        "attention_window_size": 16,
    },
    options=_OPTIONS,
)
_HYBRID = {
    # The default is an operator that neither exporter knows.
    "experts_implementation": "batched_mm",
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "max_position_embeddings": 96,
    "pad_token_id": 0,
}
add(
    "jamba",
    _STATE,
    "JambaForCausalLM",
    partial(text, 12),
    _HYBRID
    | {
        "num_hidden_layers": 4,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "mamba_d_state": 8,
        "mamba_dt_rank": 8,
        "use_mamba_kernels": False,
    },
    options=_OPTIONS,
)
add(
    "bamba",
    _STATE,
    "BambaForCausalLM",
    partial(text, 12),
    _HYBRID
    | {
        "num_hidden_layers": 2,
        "attn_layer_indices": [1],
        "mamba_n_heads": 8,
        "mamba_d_head": 16,
        "mamba_n_groups": 1,
        "mamba_d_state": 16,
        "mamba_chunk_size": 8,
    },
    options=_OPTIONS,
)
add(
    "qwen3-next",
    _STATE,
    "Qwen3NextForCausalLM",
    partial(text, 12),
    _HYBRID
    | {
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"],
        "head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32,
    },
    options=_OPTIONS,
)
add(
    "lfm2",
    _STATE,
    "Lfm2ForCausalLM",
    partial(text, 12),
    _HYBRID | {"num_hidden_layers": 2, "layer_types": ["conv", "full_attention"]},
    options=_OPTIONS,
)
add(
    "xlstm",
    _STATE,
    "xLSTMForCausalLM",
    partial(text, 16, mask=False),
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_blocks": 2,
        "num_hidden_layers": 2,
        "num_heads": 4,
        "chunk_size": 8,
    },
    options=_OPTIONS,
)
