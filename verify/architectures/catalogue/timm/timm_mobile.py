# SPDX-License-Identifier: MIT OR Apache-2.0
"""Mobile and modern convolutional networks of timm."""

from __future__ import annotations

from verify.architectures.catalogue.timm.timm_models import add

add(
    "mobile CNN",
    {
        "efficientnet_b0": {},
        "tf_efficientnet_b0": {},
        "efficientnet_lite0": {},
        "efficientnetv2_rw_t": {},
        "tf_efficientnetv2_b0": {},
        "mixnet_s": {},
        "mnasnet_100": {},
        "semnasnet_100": {},
        "mobilenetv1_100": {},
        "mobilenetv2_100": {},
        "mobilenetv3_small_100": {},
        "mobilenetv4_conv_small": {},
        "mobilenetv4_hybrid_medium": {},
        "mobilenet_edgetpu_100": {},
        "fbnetv3_b": {},
        "lcnet_050": {},
        "tinynet_e": {"size": 106},
        "ghostnet_050": {},
        "ghostnetv2_100": {},
        "repghostnet_050": {},
        "rexnet_100": {},
        "fasternet_t0": {},
        "starnet_s1": {},
    },
)
add(
    "modern CNN",
    {
        "convnext_atto": {"depths": (1, 1, 2, 1)},
        "convnextv2_atto": {"depths": (1, 1, 2, 1)},
        "inception_next_atto": {"depths": (1, 1, 2, 1)},
        "convmixer_768_32": {},
        "mambaout_femto": {"depths": (1, 1, 2, 1)},
        "focalnet_tiny_srf": {},
        "poolformer_s12": {},
        "poolformerv2_s12": {},
        "convformer_s18": {},
        "repvit_m0_9": {},
    },
)
