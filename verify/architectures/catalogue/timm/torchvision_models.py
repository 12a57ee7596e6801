# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of torchvision that timm does not have: classical, segmentation, flow and video.

Its detectors need operators (non-maximum suppression) whose results have no fixed shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from verify.architectures.images import images
from verify.architectures.registry import Model, architecture, register


def _build(path: str, arguments: Mapping[str, Any], shape: tuple[int, ...]) -> Model:
    import torchvision

    make = torchvision.models
    for part in path.split("."):
        make = getattr(make, part)
    return Model(make(weights=None, **arguments), {"x": images(*shape)})


def _add(path: str, family: str, shape: tuple[int, ...], **arguments: Any) -> None:
    name = path.split(".")[-1].replace("_", "-")
    register(name, family, "torchvision", partial(_build, path, arguments, shape))


_CLASSICAL, _SEGMENT, _VIDEO = "classical CNN", "segmentation", "video"
_WHOLE = {"num_classes": 12, "weights_backbone": None}
_add("squeezenet1_1", _CLASSICAL, (2, 3, 64, 64))
_add("shufflenet_v2_x0_5", _CLASSICAL, (2, 3, 64, 64))
_add("googlenet", _CLASSICAL, (2, 3, 96, 96), init_weights=False, aux_logits=False)
_add("segmentation.fcn_resnet50", _SEGMENT, (1, 3, 64, 64), **_WHOLE)
_add("segmentation.deeplabv3_mobilenet_v3_large", _SEGMENT, (1, 3, 96, 96), **_WHOLE)
_add("video.mc3_18", _VIDEO, (1, 3, 4, 32, 32))
_add("video.r2plus1d_18", _VIDEO, (1, 3, 4, 32, 32))


@architecture("alexnet", _CLASSICAL, "torchvision")
def _alexnet() -> Model:
    import torch
    import torchvision

    module = torchvision.models.alexnet(weights=None)
    module.classifier = torch.nn.Linear(256 * 36, 50)
    return Model(module, {"x": images(2, 3, 96, 96)})


@architecture("vgg11-bn", _CLASSICAL, "torchvision")
def _vgg() -> Model:
    import torch
    import torchvision

    module = torchvision.models.vgg11_bn(weights=None)
    module.classifier = torch.nn.Linear(512 * 49, 50)
    return Model(module, {"x": images(2, 3, 64, 64)})


@architecture("retinanet-heads", "detection", "torchvision")
def _retinanet() -> Model:
    """The pyramid and the heads of RetinaNet; boxes are decoded elsewhere."""
    import torch
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
    from torchvision.models.detection.retinanet import RetinaNetHead

    class Heads(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None)
            self.head = RetinaNetHead(256, 3, 12)

        def forward(self, x: Any) -> Any:
            return self.head(list(self.backbone(x).values()))

    return Model(Heads(), {"x": images(1, 3, 64, 64)})


@architecture("raft-small", "depth and restoration", "torchvision")
def _raft() -> Model:
    """Optical flow: correlations, sampled with grids, and a recurrent update."""
    import torchvision

    module = torchvision.models.optical_flow.raft_small(weights=None)
    inputs = {"image1": images(1, 3, 128, 128), "image2": images(1, 3, 128, 128)}
    return Model(module, inputs, {"num_flow_updates": 2})
