# SPDX-License-Identifier: MIT OR Apache-2.0
"""Example inputs of denoisers."""

from __future__ import annotations

from typing import Any

from verify.architectures.images import images

__all__ = ["audio", "conditioned", "flux", "labels", "latents", "prior", "steps", "uvit", "video"]


def steps(*shape: int) -> dict[str, Any]:
    """A noisy sample and its time step."""
    import torch

    return {"sample": images(*shape), "timestep": torch.tensor([7.0, 450.0][: shape[0]])}


def conditioned(*shape: int) -> dict[str, Any]:
    """The same with encoded text."""
    import torch

    return steps(*shape) | {"encoder_hidden_states": torch.randn(shape[0], 9, 32)}


def latents(*shape: int, sequence: int = 9, width: int = 32) -> dict[str, Any]:
    """Noisy latents, encoded text and a time step."""
    import torch

    return {
        "hidden_states": images(*shape),
        "encoder_hidden_states": torch.randn(shape[0], sequence, width),
        "timestep": torch.tensor([7.0, 450.0][: shape[0]]),
    }


def labels() -> dict[str, Any]:
    """Time steps and classes."""
    import torch

    return {"timestep": torch.tensor([7, 450]), "class_labels": torch.tensor([3, 8])}


def flux() -> dict[str, Any]:
    """What the transformer of Flux reads."""
    import torch

    places = torch.stack(
        torch.meshgrid(torch.zeros(1), torch.arange(4.0), torch.arange(4.0), indexing="ij"), -1
    )
    return {
        "hidden_states": torch.randn(1, 16, 16),
        "encoder_hidden_states": torch.randn(1, 9, 32),
        "pooled_projections": torch.randn(1, 24),
        "timestep": torch.tensor([0.45]),
        "img_ids": places.reshape(16, 3),
        "txt_ids": torch.zeros(9, 3),
        "guidance": torch.tensor([3.5]),
    }


def video(*shape: int) -> dict[str, Any]:
    """Noisy frames and encoded text."""
    import torch

    return {
        "hidden_states": images(*shape),
        "timestep": torch.tensor([450]),
        "encoder_hidden_states": torch.randn(shape[0], 9, 32),
    }


def audio() -> dict[str, Any]:
    """What the transformer of Stable Audio reads."""
    import torch

    size = 16 // 2
    angles = torch.outer(torch.arange(33.0), 1e4 ** -(torch.arange(size // 2) * 2.0 / size))
    return {
        "hidden_states": torch.randn(2, 8, 32),
        "timestep": torch.tensor([0.1, 0.7]),
        "encoder_hidden_states": torch.randn(2, 9, 32),
        "global_hidden_states": torch.randn(2, 1, 24),
        "rotary_embedding": torch.stack([angles.cos(), angles.sin()])[..., None]
        .expand(2, 33, size // 2, 2)
        .flatten(-2),
    }


def prior() -> dict[str, Any]:
    """What a prior of image embeddings reads."""
    import torch

    return {
        "hidden_states": torch.randn(2, 32),
        "timestep": torch.tensor([7, 450]),
        "proj_embedding": torch.randn(2, 32),
        "encoder_hidden_states": torch.randn(2, 9, 32),
        "attention_mask": torch.ones(2, 9, dtype=torch.bool),
    }


def uvit() -> dict[str, Any]:
    """What a masked transformer of image tokens reads."""
    import torch

    return {
        "input_ids": torch.randint(0, 60, (2, 8, 8)),
        "encoder_hidden_states": torch.randn(2, 9, 32),
        "pooled_text_emb": torch.randn(2, 32),
        "micro_conds": torch.rand(2, 5) * 100,
    }
