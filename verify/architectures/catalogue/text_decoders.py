# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decoders of text from transformers, dense and with experts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from verify.architectures.catalogue.transformers_models import VOCABULARY, add, text
from verify.architectures.registry import Model, architecture

_DENSE = "text decoder"
_EXPERTS = "decoder with experts"
_TINY = {
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
_HEADS = {"head_dim": 16}
_GPT = {
    "vocab_size": VOCABULARY,
    "n_embd": 64,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 96,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_OPTIONS = {"use_cache": False}


def _dense(name: str, model: str, settings: Mapping[str, Any]) -> None:
    add(name, _DENSE, model, text, settings, options=_OPTIONS)


def _experts(name: str, model: str, settings: Mapping[str, Any]) -> None:
    # The default is an operator that neither exporter knows.
    chosen = {**settings, "experts_implementation": "batched_mm"}
    add(name, _EXPERTS, model, partial(text, 12), chosen, options=_OPTIONS)


_dense("gpt2", "GPT2LMHeadModel", _GPT)
_dense("openai-gpt", "OpenAIGPTLMHeadModel", _GPT)
_dense(
    "gpt-neo",
    "GPTNeoForCausalLM",
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_layers": 2,
        "num_heads": 4,
        "attention_types": [[["global", "local"], 1]],
        "window_size": 8,
        "max_position_embeddings": 96,
    },
)
_dense("gptj", "GPTJForCausalLM", _GPT | {"rotary_dim": 8})
_dense("gpt-neox", "GPTNeoXForCausalLM", _TINY)
_dense("gpt-bigcode", "GPTBigCodeForCausalLM", _GPT | {"multi_query": True})
_dense(
    "opt",
    "OPTForCausalLM",
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "ffn_dim": 128,
        "max_position_embeddings": 96,
        "word_embed_proj_dim": 32,
        "pad_token_id": 1,
    },
)
_dense(
    "bloom",
    "BloomForCausalLM",
    {"vocab_size": VOCABULARY, "hidden_size": 64, "n_layer": 2, "n_head": 4},
)
_dense(
    "falcon",
    "FalconForCausalLM",
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "new_decoder_architecture": True,
        "num_kv_heads": 2,
    },
)
_dense(
    "mpt",
    "MptForCausalLM",
    {"vocab_size": VOCABULARY, "d_model": 64, "n_layers": 2, "n_heads": 4, "max_seq_len": 96},
)
_dense("llama", "LlamaForCausalLM", _TINY)
_dense("mistral", "MistralForCausalLM", _TINY | _HEADS | {"sliding_window": 8})
_dense("qwen2", "Qwen2ForCausalLM", _TINY)
_dense("qwen3", "Qwen3ForCausalLM", _TINY | _HEADS)
_dense("gemma", "GemmaForCausalLM", _TINY | _HEADS)
_dense(
    "gemma2",
    "Gemma2ForCausalLM",
    _TINY | _HEADS | {"sliding_window": 8, "query_pre_attn_scalar": 16},
)
_dense(
    "gemma3",
    "Gemma3ForCausalLM",
    _TINY
    | _HEADS
    | {
        "sliding_window": 8,
        "query_pre_attn_scalar": 16,
        "layer_types": ["sliding_attention", "full_attention"],
    },
)
_dense("phi", "PhiForCausalLM", _TINY | {"partial_rotary_factor": 0.5})
_dense("phi3", "Phi3ForCausalLM", _TINY)
_dense("stablelm", "StableLmForCausalLM", _TINY | {"partial_rotary_factor": 0.25})
_dense("cohere", "CohereForCausalLM", _TINY)
_dense("olmo2", "Olmo2ForCausalLM", _TINY)
_dense("glm4", "Glm4ForCausalLM", _TINY | _HEADS)
_dense("persimmon", "PersimmonForCausalLM", _TINY)
_dense("starcoder2", "Starcoder2ForCausalLM", _TINY)
_dense("granite", "GraniteForCausalLM", _TINY)
_dense("nemotron", "NemotronForCausalLM", _TINY)
_dense("codegen", "CodeGenForCausalLM", _GPT | {"rotary_dim": 8})
_dense(
    "ctrl",
    "CTRLLMHeadModel",
    {
        "vocab_size": VOCABULARY,
        "n_embd": 64,
        "n_layer": 2,
        "n_head": 4,
        "dff": 128,
        "n_positions": 96,
    },
)
_dense(
    "xglm",
    "XGLMForCausalLM",
    {
        "vocab_size": VOCABULARY,
        "d_model": 64,
        "num_layers": 2,
        "attention_heads": 4,
        "ffn_dim": 128,
        "max_position_embeddings": 96,
    },
)
_dense("biogpt", "BioGptForCausalLM", _TINY)
_dense("smollm3", "SmolLM3ForCausalLM", _TINY)
_dense(
    "deepseek-v2",
    "DeepseekV2ForCausalLM",
    _TINY
    | {
        "num_key_value_heads": 4,
        "kv_lora_rank": 16,
        "q_lora_rank": 24,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8,
        "v_head_dim": 16,
        "first_k_dense_replace": 2,
    },
)
_dense("diffllama", "DiffLlamaForCausalLM", _TINY)

_EIGHT = {"num_local_experts": 4, "num_experts_per_tok": 2}
_experts("mixtral", "MixtralForCausalLM", _TINY | _EIGHT)
_experts(
    "qwen2-moe",
    "Qwen2MoeForCausalLM",
    _TINY
    | {
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 64,
    },
)
_experts(
    "qwen3-moe",
    "Qwen3MoeForCausalLM",
    _TINY | _HEADS | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
)
_experts(
    "deepseek-v3",
    "DeepseekV3ForCausalLM",
    _TINY
    | {
        "num_key_value_heads": 4,
        "kv_lora_rank": 16,
        "q_lora_rank": 24,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8,
        "v_head_dim": 16,
        "first_k_dense_replace": 1,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 2,
        "topk_group": 1,
        "moe_intermediate_size": 32,
    },
)
_experts(
    "gpt-oss",
    "GptOssForCausalLM",
    _TINY
    | _HEADS
    | _EIGHT
    | {"sliding_window": 8, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
)
_experts("olmoe", "OlmoeForCausalLM", _TINY | {"num_experts": 4, "num_experts_per_tok": 2})
_experts(
    "phimoe",
    "PhimoeForCausalLM",
    _TINY | _EIGHT | {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
)
_experts(
    "jetmoe",
    "JetMoeForCausalLM",
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "kv_channels": 16,
        "intermediate_size": 64,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
    },
)
_experts("granitemoe", "GraniteMoeForCausalLM", _TINY | _EIGHT)
_experts(
    "dbrx",
    "DbrxForCausalLM",
    {
        "vocab_size": VOCABULARY,
        "d_model": 64,
        "n_heads": 4,
        "n_layers": 2,
        "max_seq_len": 96,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
        "ffn_config": {
            "ffn_hidden_size": 64,
            "moe_num_experts": 4,
            "moe_top_k": 2,
            "hidden_size": 64,
        },
    },
)


def _with_past(model: str, settings: Mapping[str, Any], past: int) -> Model:
    """A step of decoding: one new token, and the keys and values of those before."""
    import torch
    import transformers

    kind = getattr(transformers, model)
    config = kind.config_class(**settings)
    inner = kind(config)
    layers = config.num_hidden_layers
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    shape = (2, heads, past, size)

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, input_ids: Any, attention_mask: Any, **tensors: Any) -> Any:
            cache = transformers.DynamicCache()
            for layer in range(layers):
                cache.update(tensors[f"key_{layer}"], tensors[f"value_{layer}"], layer)
            result = self.inner(
                input_ids=input_ids,
                attention_mask=attention_mask,
                past_key_values=cache,
                use_cache=True,
            )
            kept = [(part.keys, part.values) for part in result.past_key_values.layers]
            return result.logits, kept

    inputs = text(1, mask=False)
    mask = torch.ones((2, past + 1), dtype=torch.int64)
    mask[1, : past // 4] = 0
    inputs["attention_mask"] = mask
    for layer in range(layers):
        inputs |= {f"key_{layer}": torch.randn(shape), f"value_{layer}": torch.randn(shape)}
    return Model(Step(), inputs)


@architecture("gpt2-step", "decoder with past", "transformers")
def _gpt2_step() -> Model:
    return _with_past("GPT2LMHeadModel", _GPT, 15)


@architecture("llama-step", "decoder with past", "transformers")
def _llama_step() -> Model:
    return _with_past("LlamaForCausalLM", _TINY, 15)


@architecture("qwen3-step", "decoder with past", "transformers")
def _qwen3_step() -> Model:
    return _with_past("Qwen3ForCausalLM", _TINY | _HEADS, 20)


@architecture("gpt-neox-step", "decoder with past", "transformers")
def _gpt_neox_step() -> Model:
    return _with_past("GPTNeoXForCausalLM", _TINY | {"num_key_value_heads": 4}, 15)


@architecture("phi3-step", "decoder with past", "transformers")
def _phi3_step() -> Model:
    return _with_past("Phi3ForCausalLM", _TINY, 15)
