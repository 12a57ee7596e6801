# SPDX-License-Identifier: MIT OR Apache-2.0
"""Encoders of text from transformers."""

from __future__ import annotations

from functools import partial

from verify.architectures.catalogue.transformers_models import VOCABULARY, add, text

_FAMILY = "text encoder"
_TINY = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 96,
}
_UNMASKED = partial(text, mask=False)

add("bert", _FAMILY, "BertForSequenceClassification", text, _TINY)
add("bert-masked-lm", _FAMILY, "BertForMaskedLM", text, _TINY)
add("bert-question-answering", _FAMILY, "BertForQuestionAnswering", text, _TINY)
add("roberta", _FAMILY, "RobertaForTokenClassification", text, _TINY)
add("albert", _FAMILY, "AlbertModel", text, _TINY | {"embedding_size": 32})
add("electra", _FAMILY, "ElectraForPreTraining", text, _TINY | {"embedding_size": 32})
add(
    "distilbert",
    _FAMILY,
    "DistilBertForMaskedLM",
    text,
    {"vocab_size": VOCABULARY, "dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128},
)
add(
    "deberta",
    _FAMILY,
    "DebertaModel",
    text,
    _TINY
    | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False},
)
add(
    "deberta-v2",
    _FAMILY,
    "DebertaV2Model",
    text,
    _TINY
    | {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 16,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "conv_kernel_size": 3,
    },
)
add(
    "modernbert",
    _FAMILY,
    "ModernBertForMaskedLM",
    text,
    _TINY
    | {
        "num_hidden_layers": 4,
        "local_attention": 8,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "cls_token_id": 1,
        "sep_token_id": 2,
    },
)
add("mpnet", _FAMILY, "MPNetModel", text, _TINY)
add(
    "mobilebert",
    _FAMILY,
    "MobileBertModel",
    text,
    _TINY | {"embedding_size": 32, "intra_bottleneck_size": 32, "true_hidden_size": 32},
)
add("squeezebert", _FAMILY, "SqueezeBertModel", text, _TINY | {"embedding_size": 64})
add("convbert", _FAMILY, "ConvBertModel", text, _TINY | {"embedding_size": 32})
add(
    "funnel",
    _FAMILY,
    "FunnelModel",
    text,
    {
        "vocab_size": VOCABULARY,
        "block_sizes": [1, 1],
        "num_decoder_layers": 1,
        "d_model": 64,
        "n_head": 4,
        "d_head": 16,
        "d_inner": 128,
    },
)
add(
    "xlnet",
    _FAMILY,
    "XLNetModel",
    text,
    {"vocab_size": VOCABULARY, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 128},
    options={"use_mems": False},
)
add(
    "xlm",
    _FAMILY,
    "XLMModel",
    text,
    {
        "vocab_size": VOCABULARY,
        "emb_dim": 64,
        "n_layers": 2,
        "n_heads": 4,
        "max_position_embeddings": 96,
    },
)
add("roformer", _FAMILY, "RoFormerModel", text, _TINY | {"embedding_size": 64})
add("fnet", _FAMILY, "FNetModel", _UNMASKED, _TINY)
add(
    "nystromformer",
    _FAMILY,
    "NystromformerModel",
    partial(text, 32, mask=False),
    _TINY | {"segment_means_seq_len": 32, "num_landmarks": 8},
)
add(
    "big-bird",
    _FAMILY,
    "BigBirdModel",
    partial(text, 64),
    _TINY | {"attention_type": "block_sparse", "block_size": 4, "num_random_blocks": 2},
)
add(
    "longformer",
    _FAMILY,
    "LongformerModel",
    partial(text, 32),
    _TINY | {"attention_window": [8, 8]},
)
add(
    "canine",
    _FAMILY,
    "CanineModel",
    partial(text, 64),
    _TINY
    | {
        "local_transformer_stride": 8,
        "downsampling_rate": 4,
        "num_hash_buckets": 64,
        "max_position_embeddings": 64,
    },
)
add(
    "reformer",
    _FAMILY,
    "ReformerModel",
    partial(text, 32),
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "attention_head_size": 16,
        "axial_pos_shape": [4, 8],
        "axial_pos_embds_dim": [32, 32],
        "feed_forward_size": 128,
        "attn_layers": ["local", "local"],
        "local_attn_chunk_length": 8,
        "is_decoder": False,
        "max_position_embeddings": 32,
    },
)
add(
    "esm",
    _FAMILY,
    "EsmModel",
    text,
    _TINY | {"position_embedding_type": "rotary", "pad_token_id": 1, "token_dropout": False},
)
add("luke", _FAMILY, "LukeModel", text, _TINY | {"entity_vocab_size": 20, "entity_emb_size": 32})
add("ibert", _FAMILY, "IBertModel", text, _TINY | {"quant_mode": False})
add("megatron-bert", _FAMILY, "MegatronBertModel", text, _TINY)
add("yoso", _FAMILY, "YosoModel", text, _TINY | {"use_expectation": True})
add("xlm-roberta-xl", _FAMILY, "XLMRobertaXLModel", text, _TINY)
add("nomic-bert", _FAMILY, "NomicBertModel", text, _TINY)
add(
    "eurobert",
    _FAMILY,
    "EuroBertModel",
    text,
    _TINY
    | {
        "num_key_value_heads": 2,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "mask_token_id": 3,
    },
)
