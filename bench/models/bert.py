# SPDX-License-Identifier: MIT OR Apache-2.0
"""BERT-base encoder, random weights, batch 1, sequence 128."""

from __future__ import annotations

from pathlib import Path

from bench.models.export import export, randomize, require_torch
from bench.models.spec import InputSpec, ModelSpec, integers, prefix_mask

__all__ = ["SPECS", "encoder_inputs"]

VOCABULARY = 30522
SEQUENCE = 128


def encoder_inputs(vocabulary: int, sequence: int) -> tuple[InputSpec, ...]:
    """Return the three inputs of a BERT encoder at batch 1, all int64 (1, sequence)."""
    shape = (1, sequence)
    return (
        InputSpec("input_ids", "int64", shape, integers(vocabulary)),
        InputSpec("attention_mask", "int64", shape, prefix_mask()),
        InputSpec("token_type_ids", "int64", shape, integers(2)),
    )


INPUTS = encoder_inputs(VOCABULARY, SEQUENCE)


def build(path: Path) -> None:
    """Export to `path`; outputs `last_hidden_state` (1, 128, 768), `pooler_output` (1, 768)."""
    require_torch()
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    model = BertModel(
        BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=768,
            num_hidden_layers=12,
            num_attention_heads=12,
            intermediate_size=3072,
            max_position_embeddings=512,
        )
    )
    randomize(model, seed=0)
    outputs = ("last_hidden_state", "pooler_output")
    export(model, INPUTS, outputs, lambda out: (out.last_hidden_state, out.pooler_output), path)


SPECS = (
    ModelSpec(
        name="bert-base",
        title="BERT-base, s128",
        source="transformers, random weights",
        licence="none needed (random weights)",
        inputs=INPUTS,
        build=build,
        from_wheel=False,
    ),
)
