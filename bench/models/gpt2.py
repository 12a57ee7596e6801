# SPDX-License-Identifier: MIT OR Apache-2.0
"""GPT-2 (124 M parameters) with its language-model head, random weights, 64 tokens of prefill."""

from __future__ import annotations

from pathlib import Path

from bench.models.export import export, randomize, require_torch
from bench.models.spec import InputSpec, ModelSpec, integers

__all__ = ["SPECS"]

VOCABULARY = 50257
SEQUENCE = 64
INPUTS = (InputSpec("input_ids", "int64", (1, SEQUENCE), integers(VOCABULARY)),)


def build(path: Path) -> None:
    """Export to `path`; output `logits` (1, 64, 50257)."""
    require_torch()
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=1024,
            n_embd=768,
            n_layer=12,
            n_head=12,
            use_cache=False,
        )
    )
    randomize(model, seed=0)
    export(model, INPUTS, ("logits",), lambda out: out.logits, path)


SPECS = (
    ModelSpec(
        name="gpt2",
        title="GPT-2, s64",
        source="transformers, random weights",
        licence="none needed (random weights)",
        inputs=INPUTS,
        build=build,
        from_wheel=False,
    ),
)
