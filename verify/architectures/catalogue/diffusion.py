# SPDX-License-Identifier: MIT OR Apache-2.0
"""Denoisers and autoencoders of diffusers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from verify.architectures import diffusion_inputs as inputs
from verify.architectures.images import images
from verify.architectures.registry import Model, register

_FAMILY = "diffusion"
_UNET = {
    "sample_size": 16,
    "layers_per_block": 1,
    "block_out_channels": (32, 64),
    "norm_num_groups": 8,
}
_CROSS = {
    "cross_attention_dim": 32,
    "attention_head_dim": 8,
    "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
    "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
}


def _build(
    name: str,
    settings: Mapping[str, Any],
    make: Callable[[], dict[str, Any]],
    options: Mapping[str, Any],
    method: str,
) -> Model:
    import diffusers
    import torch

    module = getattr(diffusers, name)(**settings)
    module.eval()
    if method == "forward":
        given = {"return_dict": False, **options}
        return Model(module, make(), {k: v for k, v in given.items() if v is not None})

    class Part(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, sample: Any) -> Any:
            result = getattr(self.inner, method)(sample, return_dict=False)[0]
            return getattr(result, "parameters", result)

    return Model(Part(), make())


def _add(
    name: str,
    model: str,
    settings: Mapping[str, Any],
    make: Callable[[], dict[str, Any]],
    *,
    options: Mapping[str, Any] | None = None,
    method: str = "forward",
) -> None:
    register(
        name,
        _FAMILY,
        "diffusers",
        partial(_build, model, settings, make, dict(options or {}), method),
    )


_add(
    "unet-2d",
    "UNet2DModel",
    _UNET
    | {
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
        "attention_head_dim": 8,
    },
    partial(inputs.steps, 2, 3, 16, 16),
)
_add(
    "unet-2d-conditional",
    "UNet2DConditionModel",
    _UNET | _CROSS,
    partial(inputs.conditioned, 2, 4, 16, 16),
)
_add(
    "unet-2d-linear-projection",
    "UNet2DConditionModel",
    _UNET
    | _CROSS
    | {
        "use_linear_projection": True,
        "attention_head_dim": (4, 8),
        "transformer_layers_per_block": 2,
    },
    partial(inputs.conditioned, 2, 4, 16, 16),
)
_add(
    "unet-2d-kandinsky",
    "UNet2DConditionModel",
    _UNET
    | {
        "cross_attention_dim": 32,
        "attention_head_dim": 8,
        "down_block_types": ("SimpleCrossAttnDownBlock2D", "ResnetDownsampleBlock2D"),
        "up_block_types": ("ResnetUpsampleBlock2D", "SimpleCrossAttnUpBlock2D"),
        "mid_block_type": "UNetMidBlock2DSimpleCrossAttn",
        "resnet_time_scale_shift": "scale_shift",
    },
    partial(inputs.conditioned, 2, 4, 16, 16),
)
_add(
    "unet-1d",
    "UNet1DModel",
    {
        "sample_size": 64,
        "in_channels": 2,
        "out_channels": 2,
        "block_out_channels": (16, 32, 32),
        "extra_in_channels": 32,
    },
    lambda: {"sample": images(2, 1, 2, 64)[:, 0], "timestep": inputs.steps(2, 1, 8, 8)["timestep"]},
)
_add(
    "unet-3d",
    "UNet3DConditionModel",
    _UNET
    | {
        "cross_attention_dim": 32,
        "attention_head_dim": 8,
        "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
        "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D"),
    },
    partial(inputs.conditioned, 1, 4, 3, 16, 16),
)
_add(
    "vae-encoder",
    "AutoencoderKL",
    {
        "block_out_channels": (16, 32),
        "norm_num_groups": 8,
        "down_block_types": ("DownEncoderBlock2D",) * 2,
        "up_block_types": ("UpDecoderBlock2D",) * 2,
    },
    lambda: {"sample": images(2, 3, 32, 32)},
    method="encode",
)
_add(
    "vae-decoder",
    "AutoencoderKL",
    {
        "block_out_channels": (16, 32),
        "norm_num_groups": 8,
        "down_block_types": ("DownEncoderBlock2D",) * 2,
        "up_block_types": ("UpDecoderBlock2D",) * 2,
    },
    lambda: {"sample": images(2, 4, 16, 16)},
    method="decode",
)
_add(
    "vae-tiny-decoder",
    "AutoencoderTiny",
    {
        "encoder_block_out_channels": (16, 16),
        "decoder_block_out_channels": (16, 16),
        "num_encoder_blocks": (1, 1),
        "num_decoder_blocks": (1, 1),
    },
    lambda: {"sample": images(2, 4, 16, 16)},
    method="decode",
)
_add(
    "dc-autoencoder-decoder",
    "AutoencoderDC",
    {
        "in_channels": 3,
        "latent_channels": 8,
        "attention_head_dim": 8,
        "encoder_block_types": ("ResBlock", "EfficientViTBlock"),
        "decoder_block_types": ("ResBlock", "EfficientViTBlock"),
        "encoder_block_out_channels": (16, 32),
        "decoder_block_out_channels": (16, 32),
        "encoder_layers_per_block": (1, 1),
        "decoder_layers_per_block": (1, 1),
        "encoder_qkv_multiscales": ((), (5,)),
        "decoder_qkv_multiscales": ((), (5,)),
    },
    lambda: {"sample": images(1, 8, 8, 8)},
    method="decode",
)
_add(
    "vae-temporal-encoder",
    "AutoencoderKLTemporalDecoder",
    {
        "block_out_channels": (32, 64),
        "down_block_types": ("DownEncoderBlock2D",) * 2,
        "layers_per_block": 1,
    },
    lambda: {"sample": images(1, 3, 32, 32)},
    method="encode",
)
_add(
    "dit",
    "DiTTransformer2DModel",
    {
        "num_attention_heads": 4,
        "attention_head_dim": 16,
        "in_channels": 4,
        "out_channels": 8,
        "num_layers": 2,
        "sample_size": 16,
        "patch_size": 2,
        "num_embeds_ada_norm": 10,
    },
    lambda: {"hidden_states": images(2, 4, 16, 16)} | inputs.labels(),
)
_add(
    "pixart",
    "PixArtTransformer2DModel",
    {
        "num_attention_heads": 4,
        "attention_head_dim": 16,
        "in_channels": 4,
        "out_channels": 8,
        "num_layers": 2,
        "sample_size": 16,
        "cross_attention_dim": 64,
        "caption_channels": 32,
    },
    partial(inputs.latents, 2, 4, 16, 16),
    options={"added_cond_kwargs": {"resolution": None, "aspect_ratio": None}},
)
_add(
    "sd3-transformer",
    "SD3Transformer2DModel",
    {
        "sample_size": 16,
        "in_channels": 4,
        "num_layers": 2,
        "attention_head_dim": 16,
        "num_attention_heads": 4,
        "joint_attention_dim": 32,
        "caption_projection_dim": 64,
        "pooled_projection_dim": 24,
        "out_channels": 4,
        "pos_embed_max_size": 16,
        "qk_norm": "rms_norm",
        "dual_attention_layers": (0,),
    },
    lambda: inputs.latents(2, 4, 16, 16) | {"pooled_projections": images(1, 1, 2, 24)[0, 0]},
)
_add(
    "flux-transformer",
    "FluxTransformer2DModel",
    {
        "in_channels": 16,
        "num_layers": 1,
        "num_single_layers": 2,
        "attention_head_dim": 16,
        "num_attention_heads": 4,
        "joint_attention_dim": 32,
        "pooled_projection_dim": 24,
        "guidance_embeds": True,
        "axes_dims_rope": (4, 4, 8),
    },
    inputs.flux,
)
_add(
    "sana-transformer",
    "SanaTransformer2DModel",
    {
        "in_channels": 4,
        "out_channels": 4,
        "num_attention_heads": 4,
        "attention_head_dim": 16,
        "num_layers": 2,
        "num_cross_attention_heads": 4,
        "cross_attention_head_dim": 16,
        "cross_attention_dim": 64,
        "caption_channels": 32,
        "sample_size": 16,
    },
    partial(inputs.latents, 2, 4, 16, 16),
)
_add(
    "auraflow",
    "AuraFlowTransformer2DModel",
    {
        "sample_size": 16,
        "in_channels": 4,
        "num_mmdit_layers": 1,
        "num_single_dit_layers": 1,
        "attention_head_dim": 16,
        "num_attention_heads": 4,
        "joint_attention_dim": 32,
        "caption_projection_dim": 64,
        "out_channels": 4,
        "pos_embed_max_size": 64,
    },
    partial(inputs.latents, 2, 4, 16, 16),
)
_add(
    "latte",
    "LatteTransformer3DModel",
    {
        "num_attention_heads": 4,
        "attention_head_dim": 16,
        "in_channels": 4,
        "out_channels": 4,
        "num_layers": 1,
        "sample_size": 16,
        "cross_attention_dim": 64,
        "caption_channels": 32,
        "norm_type": "ada_norm_single",
        "num_embeds_ada_norm": 1000,
        "video_length": 2,
        "patch_size": 2,
    },
    lambda: inputs.video(1, 4, 2, 16, 16),
)
_add(
    "wan-transformer",
    "WanTransformer3DModel",
    {
        "num_attention_heads": 4,
        "attention_head_dim": 16,
        "in_channels": 4,
        "out_channels": 4,
        "text_dim": 32,
        "freq_dim": 32,
        "ffn_dim": 128,
        "num_layers": 2,
    },
    lambda: inputs.video(1, 4, 2, 8, 8),
)
_add(
    "stable-audio",
    "StableAudioDiTModel",
    {
        "sample_size": 32,
        "in_channels": 8,
        "num_layers": 2,
        "attention_head_dim": 16,
        "num_attention_heads": 4,
        "num_key_value_attention_heads": 2,
        "out_channels": 8,
        "cross_attention_dim": 32,
        "time_proj_dim": 32,
        "global_states_input_dim": 24,
        "cross_attention_input_dim": 32,
    },
    inputs.audio,
)
_add(
    "controlnet",
    "ControlNetModel",
    {
        "in_channels": 4,
        "layers_per_block": 1,
        "block_out_channels": (32, 64),
        "norm_num_groups": 8,
        "cross_attention_dim": 32,
        "attention_head_dim": 8,
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "conditioning_embedding_out_channels": (8, 16),
    },
    lambda: inputs.conditioned(2, 4, 16, 16) | {"controlnet_cond": images(2, 3, 32, 32)},
)
_add(
    "prior-transformer",
    "PriorTransformer",
    {
        "num_attention_heads": 4,
        "attention_head_dim": 16,
        "num_layers": 2,
        "embedding_dim": 32,
        "num_embeddings": 9,
    },
    inputs.prior,
)
_add(
    "uvit",
    "UVit2DModel",
    {
        "hidden_size": 64,
        "cond_embed_dim": 32,
        "micro_cond_encode_dim": 16,
        "micro_cond_embed_dim": 80,
        "encoder_hidden_size": 32,
        "vocab_size": 64,
        "codebook_size": 60,
        "in_channels": 64,
        "block_out_channels": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "block_num_heads": 4,
        "num_res_blocks": 1,
        "sample_size": 8,
    },
    inputs.uvit,
    options={"return_dict": None},
)
