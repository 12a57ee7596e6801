# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers of networks on `xyntra.array`, named as PyTorch's, whose states they read."""

from xyntra.nn import functional
from xyntra.nn.files import load_safetensors, save_safetensors
from xyntra.nn.layers import (
    GELU,
    BatchNorm2d,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    GroupNorm,
    LayerNorm,
    Linear,
    MaxPool2d,
    ReLU,
    RMSNorm,
    SiLU,
)
from xyntra.nn.module import Module, ModuleList, Sequential, value_and_grad
from xyntra.nn.sequences import GRU, LSTM, MultiheadAttention, TransformerEncoderLayer

__all__ = [
    "GELU", "GRU", "LSTM", "BatchNorm2d", "Conv1d", "Conv2d", "Dropout", "Embedding", "Flatten",
    "GroupNorm", "LayerNorm", "Linear", "MaxPool2d", "Module", "ModuleList", "MultiheadAttention",
    "RMSNorm", "ReLU", "Sequential", "SiLU", "TransformerEncoderLayer", "functional",
    "load_safetensors", "save_safetensors", "value_and_grad",
]  # fmt: skip
