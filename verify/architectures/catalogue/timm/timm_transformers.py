# SPDX-License-Identifier: MIT OR Apache-2.0
"""Vision transformers, mixers and hybrids of timm."""

from __future__ import annotations

from verify.architectures.catalogue.timm.timm_models import add

_PLAIN = {"img_size": 64, "depth": 2, "embed_dim": 96, "num_heads": 3}
_SMALL = {"img_size": 64, "depth": 2}
_STAGES = {"depths": (1, 1, 2, 1)}

add(
    "plain vision transformer",
    {
        "vit_tiny_patch16_224": _PLAIN,
        "vit_small_patch16_18x2_224": _PLAIN,
        "vit_base_patch16_siglip_224": _PLAIN,
        "vit_small_patch14_dinov2": _PLAIN | {"img_size": 70, "size": 70},
        "vit_small_patch14_reg4_dinov2": _PLAIN | {"img_size": 70, "size": 70},
        "vit_small_patch16_dinov3": _SMALL | {"embed_dim": 128, "num_heads": 2},
        "vit_relpos_small_patch16_224": _PLAIN,
        "vit_srelpos_small_patch16_224": _PLAIN,
        "vit_small_r26_s32_224": _PLAIN | {"size": 64},
        "deit_tiny_distilled_patch16_224": _PLAIN,
        "deit3_small_patch16_224": _PLAIN,
        "beit_base_patch16_224": _PLAIN,
        "beitv2_base_patch16_224": _PLAIN,
        "eva02_tiny_patch14_224": _PLAIN | {"img_size": 56, "size": 56},
        "aimv2_large_patch14_224": _PLAIN | {"img_size": 56, "size": 56},
        "cait_xxs24_224": _SMALL,
        "convit_tiny": _SMALL,
        "xcit_nano_12_p16_224": _SMALL,
        "volo_d1_224": {"img_size": 64},
        "samvit_base_patch16": _PLAIN | {"img_size": 128, "size": 128, "window_size": 3},
        "naflexvit_base_patch16_gap": {"size": 64, "depth": 2, "embed_dim": 96, "num_heads": 3},
        "mixer_s32_224": {"img_size": 64},
        "gmlp_ti16_224": {"img_size": 64},
        "resmlp_12_224": {"img_size": 64},
    },
)
add(
    "hierarchical vision transformer",
    {
        "swin_tiny_patch4_window7_224": {
            "img_size": 64,
            "depths": (2, 2, 1, 1),
            "embed_dim": 48,
            "num_heads": (2, 3, 6, 12),
            "window_size": 4,
        },
        "swinv2_tiny_window8_256": {
            "img_size": 64,
            "depths": (2, 2, 1, 1),
            "embed_dim": 48,
            "num_heads": (2, 3, 6, 12),
            "window_size": 4,
        },
        "swinv2_cr_tiny_224": {"img_size": 64, "depths": (2, 1, 1, 1), "window_size": 2},
        "pvt_v2_b0": {},
        "pvt_v2_b2_li": _STAGES,
        "twins_pcpvt_small": {"depths": (1, 1, 1, 1), "size": 64},
        "twins_svt_small": {"depths": (2, 2, 2, 1), "size": 64},
        "pit_ti_224": {"img_size": 64, "depth": (1, 1, 1)},
        "levit_128s": {"depth": (1, 2, 1), "size": 64, "img_size": 64},
        "hiera_tiny_224": {"stages": (1, 1, 2, 1), "img_size": (64, 64)},
        "mvitv2_tiny": {"img_size": 64},
        "gcvit_xxtiny": {"size": 224},
        "davit_tiny": {"depths": (1, 1, 2, 1)},
        "nest_tiny": {"size": 224},
        "maxvit_pico_rw_256": {"img_size": 256, "depths": (1, 1, 1, 1), "size": 256},
        "coatnet_pico_rw_224": {"img_size": 224, "depths": (1, 1, 1, 1), "size": 224},
        "tnt_s_patch16_224": {"img_size": 64, "depth": 2},
        "crossvit_9_240": {"size": 240},
        "coat_lite_tiny": {"img_size": 64},
        "tiny_vit_5m_224": {"size": 224, "depths": (1, 1, 2, 1)},
        "vitamin_small_224": {"img_size": 64},
    },
)
add(
    "hybrid vision network",
    {
        "mobilevit_xxs": {},
        "mobilevitv2_050": {},
        "edgenext_xx_small": _STAGES,
        "efficientformer_l1": {"size": 224},
        "efficientformerv2_s0": {"size": 224},
        "efficientvit_b0": {},
        "efficientvit_m0": {"size": 64, "img_size": 64},
        "fastvit_t8": {"layers": (1, 1, 2, 1)},
        "caformer_s18": {},
        "nextvit_small": {},
        "sequencer2d_s": {"img_size": 64, "layers": (1, 1, 2, 1)},
        "swiftformer_xs": {},
        "visformer_tiny": {"img_size": 64, "depth": (1, 1, 1)},
        "shvit_s1": {},
        "efficientvim_m1": {},
    },
)
