# SPDX-License-Identifier: MIT OR Apache-2.0
"""Speech and sound: models of transformers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from verify.architectures.catalogue.transformers_models import VOCABULARY, add
from verify.architectures.images import images, sounds, tokens
from verify.architectures.registry import Model, architecture

_FAMILY = "speech and sound"
_WAV2VEC = {
    "vocab_size": 32,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "conv_dim": [32, 32, 32, 32],
    "conv_kernel": [10, 3, 3, 2],
    "conv_stride": [5, 4, 2, 2],
    "num_feat_extract_layers": 4,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
_STABLE = {"do_stable_layer_norm": True, "feat_extract_norm": "layer", "conv_bias": True}


def _waves(samples: int = 4000) -> dict[str, Any]:
    return {"input_values": sounds(2, samples)}


def _features(frames: int, size: int, name: str = "input_features") -> dict[str, Any]:
    return {name: images(2, 1, frames, size)[:, 0]}


def _sound(
    name: str, model: str, settings: Mapping[str, Any], inputs: Any = _waves, **more: Any
) -> None:
    add(name, _FAMILY, model, inputs, settings, **more)


_sound("wav2vec2", "Wav2Vec2ForCTC", _WAV2VEC)
_sound("wav2vec2-stable", "Wav2Vec2ForCTC", _WAV2VEC | _STABLE)
_sound("hubert", "HubertForCTC", _WAV2VEC)
_sound("wavlm", "WavLMForCTC", _WAV2VEC | {"num_buckets": 16, "max_bucket_distance": 40})
_sound("unispeech-sat", "UniSpeechSatForCTC", _WAV2VEC)
_sound(
    "data2vec-audio",
    "Data2VecAudioForCTC",
    _WAV2VEC | {"conv_pos_kernel_size": 7, "num_conv_pos_embeddings": 2},
)
_sound(
    "wav2vec2-conformer",
    "Wav2Vec2ConformerForCTC",
    _WAV2VEC | {"position_embeddings_type": "relative", "conv_depthwise_kernel_size": 7},
)
_sound(
    "wav2vec2-conformer-rotary",
    "Wav2Vec2ConformerForCTC",
    _WAV2VEC | {"position_embeddings_type": "rotary", "conv_depthwise_kernel_size": 7},
)
_sound(
    "wav2vec2-bert",
    "Wav2Vec2BertModel",
    {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "feature_projection_input_dim": 40,
        "conv_depthwise_kernel_size": 7,
        "left_max_position_embeddings": 16,
        "right_max_position_embeddings": 4,
    },
    partial(_features, 40, 40),
)
_sound("sew", "SEWForCTC", _WAV2VEC | {"squeeze_factor": 2})
_sound(
    "sew-d",
    "SEWDForCTC",
    _WAV2VEC | {"squeeze_factor": 2, "position_buckets": 16, "max_position_embeddings": 64},
)
_sound(
    "audio-spectrogram-transformer",
    "ASTForAudioClassification",
    {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "max_length": 64,
        "num_mel_bins": 32,
    },
    partial(_features, 64, 32, "input_values"),
)
_WHISPER = {
    "vocab_size": VOCABULARY,
    "num_mel_bins": 20,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "max_source_positions": 50,
    "max_target_positions": 32,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
_sound(
    "whisper",
    "WhisperForConditionalGeneration",
    _WHISPER,
    lambda: _features(20, 100) | {"decoder_input_ids": tokens(2, 8, VOCABULARY)},
    options={"use_cache": False},
)
_sound(
    "speech-to-text",
    "Speech2TextForConditionalGeneration",
    _WHISPER
    | {
        "input_feat_per_channel": 20,
        "num_conv_layers": 2,
        "conv_channels": 32,
        "max_source_positions": 100,
    },
    lambda: _features(64, 20) | {"decoder_input_ids": tokens(2, 8, VOCABULARY)},
    options={"use_cache": False},
)
_sound(
    "moonshine",
    "MoonshineForConditionalGeneration",
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 128,
        "encoder_num_hidden_layers": 2,
        "decoder_num_hidden_layers": 2,
        "encoder_num_attention_heads": 4,
        "decoder_num_attention_heads": 4,
        "max_position_embeddings": 64,
    },
    lambda: _waves(8000) | {"decoder_input_ids": tokens(2, 6, VOCABULARY)},
    options={"use_cache": False},
)
_sound(
    "dac",
    "DacModel",
    {
        "encoder_hidden_size": 8,
        "downsampling_ratios": [2, 4],
        "decoder_hidden_size": 32,
        "n_codebooks": 2,
        "codebook_size": 64,
        "codebook_dim": 4,
        "hidden_size": 32,
    },
    lambda: {"input_values": sounds(1, 640)[:, None]},
)
_sound(
    "univnet",
    "UnivNetModel",
    {
        "model_in_channels": 16,
        "model_hidden_channels": 8,
        "num_mel_bins": 20,
        "resblock_kernel_sizes": [3],
        "resblock_stride_sizes": [4],
        "resblock_dilation_sizes": [[1, 3]],
        "kernel_predictor_num_blocks": 1,
        "kernel_predictor_hidden_channels": 16,
    },
    lambda: _features(20, 20) | {"noise_sequence": images(2, 1, 20, 16)[:, 0]},
)
_sound(
    "parakeet",
    "ParakeetForCTC",
    {
        "vocab_size": 64,
        "pad_token_id": 63,
        "encoder_config": {
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 128,
            "num_mel_bins": 40,
            "subsampling_conv_channels": 16,
            "conv_kernel_size": 7,
        },
    },
    partial(_features, 64, 40),
)
_sound(
    "musicgen-decoder",
    "MusicgenForCausalLM",
    {
        "vocab_size": 64,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "ffn_dim": 128,
        "num_codebooks": 2,
        "max_position_embeddings": 64,
        "pad_token_id": 63,
    },
    lambda: {"input_ids": tokens(4, 10, 60), "encoder_hidden_states": images(2, 1, 6, 64)[:, 0]},
    options={"use_cache": False},
)
_sound(
    "bark-semantic",
    "BarkSemanticModel",
    {
        "input_vocab_size": 100,
        "output_vocab_size": 100,
        "hidden_size": 64,
        "num_layers": 2,
        "num_heads": 4,
        "block_size": 64,
    },
    lambda: {"input_ids": tokens(2, 12, 100)},
    options={"use_cache": False},
)
_sound(
    "hifigan",
    "SpeechT5HifiGan",
    {
        "model_in_dim": 20,
        "upsample_initial_channel": 32,
        "upsample_rates": [4, 4],
        "upsample_kernel_sizes": [8, 8],
        "resblock_kernel_sizes": [3, 5],
        "resblock_dilation_sizes": [[1, 3], [1, 3]],
    },
    partial(_features, 16, 20, "spectrogram"),
)
_SPEECHT5 = {
    "vocab_size": 81,
    "hidden_size": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "num_mel_bins": 20,
    "speech_decoder_prenet_units": 32,
    "speech_decoder_prenet_dropout": 0.0,
    "speech_decoder_postnet_units": 32,
    "speaker_embedding_dim": 32,
    "max_length": 64,
}
_sound(
    "speecht5",
    "SpeechT5Model",
    _SPEECHT5,
    lambda: {
        "input_values": images(2, 1, 12, 64)[:, 0],
        "decoder_input_values": images(2, 1, 10, 64)[:, 0],
    },
    options={"use_cache": False},
)


@architecture("vits-flow", _FAMILY, "transformers")
def _vits() -> Model:
    """The prior's flow and the waveform decoder; the durations depend on the data."""
    import torch
    import transformers

    config = transformers.VitsConfig(
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        ffn_dim=64,
        flow_size=32,
        spectrogram_bins=33,
        upsample_initial_channel=32,
        upsample_rates=[4, 4],
        upsample_kernel_sizes=[8, 8],
        resblock_kernel_sizes=[3, 5],
        resblock_dilation_sizes=[[1, 3], [1, 3]],
        prior_encoder_num_flows=2,
        prior_encoder_num_wavenet_layers=2,
    )
    whole = transformers.VitsModel(config)

    class FlowAndDecoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.flow, self.decoder = whole.flow, whole.decoder

        def forward(self, latents: Any, mask: Any) -> Any:
            return self.decoder(self.flow(latents, mask, None, reverse=True) * mask, None)

    mask = torch.ones(1, 1, 12)
    mask[..., 10:] = 0
    return Model(FlowAndDecoder(), {"latents": torch.randn(1, 32, 12), "mask": mask})


@architecture("vits-text-encoder", _FAMILY, "transformers")
def _vits_encoder() -> Model:
    import torch
    import transformers

    config = transformers.VitsConfig(
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        ffn_dim=64,
        flow_size=32,
    )
    encoder = transformers.VitsModel(config).text_encoder
    inputs = {"input_ids": tokens(2, 14, 40), "padding_mask": torch.ones(2, 14, 1)}
    inputs["padding_mask"][1, 10:] = 0
    return Model(encoder, inputs, {"attention_mask": None})


@architecture("fastspeech2-conformer", _FAMILY, "transformers")
def _fastspeech() -> Model:
    import torch
    import transformers

    config = transformers.FastSpeech2ConformerConfig(
        vocab_size=40,
        hidden_size=48,
        num_mel_bins=20,
        encoder_num_attention_heads=2,
        encoder_layers=2,
        encoder_linear_units=96,
        decoder_layers=1,
        encoder_kernel_size=7,
        decoder_kernel_size=7,
        decoder_num_attention_heads=2,
        decoder_linear_units=96,
    )
    encoder = transformers.FastSpeech2ConformerModel(config).encoder
    inputs = {
        "input_tensor": tokens(2, 14, 40),
        "attention_mask": torch.ones(2, 1, 14, dtype=torch.bool),
    }
    inputs["attention_mask"][1, :, 10:] = False
    return Model(encoder, inputs)


def _codec(inner: Any, samples: int) -> Model:
    """The encoder and the decoder, without the codes, which jump where two are as near."""
    import torch

    class Codec(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = inner.encoder, inner.decoder

        def forward(self, sound: Any) -> Any:
            found = self.encoder(sound)
            embedded = found if isinstance(found, torch.Tensor) else found[0]
            return embedded, self.decoder(embedded)

    return Model(Codec(), {"sound": sounds(1, samples)[:, None]})


@architecture("encodec", _FAMILY, "transformers")
def _encodec() -> Model:
    import transformers

    config = transformers.EncodecConfig(
        hidden_size=32,
        num_filters=8,
        codebook_size=64,
        codebook_dim=32,
        upsampling_ratios=[4, 2],
        num_residual_layers=1,
        target_bandwidths=[24.0],
    )
    return _codec(transformers.EncodecModel(config), 640)


@architecture("mimi", _FAMILY, "transformers")
def _mimi() -> Model:
    import transformers

    config = transformers.MimiConfig(
        hidden_size=32,
        num_filters=4,
        upsampling_ratios=[4, 2],
        codebook_size=64,
        codebook_dim=16,
        num_quantizers=4,
        num_semantic_quantizers=1,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=64,
        vector_quantization_hidden_dimension=16,
        head_dim=16,
        upsample_groups=32,
    )
    return _codec(transformers.MimiModel(config), 960)
