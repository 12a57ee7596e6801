# SPDX-License-Identifier: MIT OR Apache-2.0
"""Optimisers of parameters by name, schedules of their rates, and whole steps of training."""

from xyntra.optim.optimisers import SGD, Adam, AdamW, Lion, Optimizer, clip_by_norm
from xyntra.optim.schedules import cosine, linear_warmup, step_decay
from xyntra.optim.training import TrainStep

__all__ = [
    "SGD", "Adam", "AdamW", "Lion", "Optimizer", "TrainStep", "clip_by_norm", "cosine",
    "linear_warmup", "step_decay",
]  # fmt: skip
