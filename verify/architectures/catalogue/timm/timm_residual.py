# SPDX-License-Identifier: MIT OR Apache-2.0
"""Residual and other classical convolutional networks of timm."""

from __future__ import annotations

from verify.architectures.catalogue.timm.timm_models import add

_ONE = {"layers": (1, 1, 1, 1)}
_TWO = {"layers": (1, 2, 1, 1)}

add(
    "residual CNN",
    {
        "resnet18": _TWO,
        "resnet50": _TWO,
        "resnet50d": _ONE,
        "resnext50_32x4d": _ONE,
        "wide_resnet50_2": _ONE,
        "resnetblur50": _ONE,
        "resnetaa50": _ONE,
        "seresnet50": _ONE,
        "ecaresnet50d": _ONE,
        "resnetrs50": _ONE,
        "skresnet18": _ONE,
        "resnest14d": {},
        "res2net50_26w_4s": _ONE,
        "resnetv2_50": _ONE,
        "resnetv2_50x1_bit": {},
        "legacy_seresnext26_32x4d": _ONE,
        "gcresnet33ts": {},
        "botnet26t_256": {"size": 256},
        "halonet26t": {"size": 256},
        "lambda_resnet26t": {"size": 128},
        "tresnet_m": _ONE,
        "regnetx_002": {},
        "regnety_002": {},
        "regnetz_005": {},
        "nf_regnet_b0": {},
        "eca_nfnet_l0": {},
        "repvgg_a0": {},
        "mobileone_s0": {},
        "dla34": {},
        "dla60_res2net": {},
        "dpn68": {},
        "hrnet_w18_small": {},
        "cspresnet50": {},
        "cspdarknet53": {},
        "cs3darknet_s": {},
        "darknet53": {},
        "ese_vovnet19b_dw": {},
        "selecsls42": {},
        "xception41": {},
        "legacy_xception": {"size": 96},
        "hgnetv2_b0": {},
    },
)
add(
    "classical CNN",
    {
        "densenet121": {"block_config": (2, 3, 2, 2)},
        "densenetblur121d": {"block_config": (2, 2, 2, 2)},
        "rdnet_tiny": {"num_blocks_list": (1, 1, 1, 1, 1, 1, 1)},
        "inception_v3": {"size": 96},
        "inception_v4": {"size": 96},
        "inception_resnet_v2": {"size": 96},
    },
)
