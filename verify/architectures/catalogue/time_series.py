# SPDX-License-Identifier: MIT OR Apache-2.0
"""Forecasting models of transformers."""

from __future__ import annotations

from typing import Any

from verify.architectures.catalogue.transformers_models import add
from verify.architectures.registry import Model, architecture

_FAMILY = "time series"


def _series(length: int = 64, channels: int = 3) -> dict[str, Any]:
    import torch

    return {"past_values": torch.randn(2, length, channels).cumsum(1) * 0.3}


_PATCHES = {
    "num_input_channels": 3,
    "context_length": 64,
    "patch_length": 8,
    "prediction_length": 12,
    "d_model": 32,
}
add(
    "patchtst",
    _FAMILY,
    "PatchTSTForPrediction",
    _series,
    _PATCHES
    | {
        "patch_stride": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "ffn_dim": 64,
        "loss": "mse",
    },
)
add(
    "patchtsmixer",
    _FAMILY,
    "PatchTSMixerForPrediction",
    _series,
    _PATCHES | {"patch_stride": 8, "num_layers": 2, "mode": "mix_channel", "gated_attn": True},
)


def _history() -> dict[str, Any]:
    import torch

    inputs = {
        "past_values": torch.randn(2, 31).cumsum(1) * 0.3,
        "past_time_features": torch.randn(2, 31, 2),
        "past_observed_mask": torch.ones(2, 31),
        "future_values": torch.randn(2, 8),
        "future_time_features": torch.randn(2, 8, 2),
    }
    inputs["past_observed_mask"][1, :4] = 0
    return inputs


_FORECAST = {
    "prediction_length": 8,
    "context_length": 24,
    "lags_sequence": [1, 2, 7],
    "num_time_features": 2,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
}
_OPTIONS = {"use_cache": False}
add(
    "time-series-transformer",
    _FAMILY,
    "TimeSeriesTransformerModel",
    _history,
    _FORECAST,
    options=_OPTIONS,
    keep=("last_hidden_state", "encoder_last_hidden_state"),
)
add(
    "autoformer",
    _FAMILY,
    "AutoformerModel",
    _history,
    _FORECAST | {"moving_average": 5, "label_length": 8},
    options=_OPTIONS,
    keep=("last_hidden_state", "encoder_last_hidden_state"),
)
add(
    "informer",
    _FAMILY,
    "InformerModel",
    _history,
    _FORECAST | {"attention_type": "full"},
    options=_OPTIONS,
    keep=("last_hidden_state", "encoder_last_hidden_state"),
)


@architecture("timesfm", _FAMILY, "transformers")
def _timesfm() -> Model:
    import torch
    import transformers

    config = transformers.TimesFmConfig(
        patch_length=8,
        context_length=64,
        horizon_length=16,
        hidden_size=32,
        intermediate_size=32,
        head_dim=8,
        num_attention_heads=4,
        num_hidden_layers=2,
        freq_size=3,
    )
    inputs = {
        "past_values": torch.randn(2, 64),
        "past_values_padding": torch.zeros(2, 64, dtype=torch.int64),
        "freq": torch.tensor([[0], [1]]),
    }
    return Model(transformers.TimesFmModel(config), inputs)


@architecture("decision-transformer", _FAMILY, "transformers")
def _decision() -> Model:
    import torch
    import transformers

    config = transformers.DecisionTransformerConfig(
        state_dim=11, act_dim=3, hidden_size=32, max_ep_len=64, n_layer=2, n_head=2, n_positions=96
    )
    inputs = {
        "states": torch.randn(2, 6, 11),
        "actions": torch.randn(2, 6, 3),
        "returns_to_go": torch.randn(2, 6, 1),
        "timesteps": torch.arange(6).repeat(2, 1),
        "attention_mask": torch.ones(2, 6, dtype=torch.int64),
    }
    return Model(transformers.DecisionTransformerModel(config), inputs)
