# SPDX-License-Identifier: MIT OR Apache-2.0
"""A detector, convolutional networks and recurrences, of any batch, image size or length."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from verify.free_models.network import BATCH, Network

__all__ = ["MODELS"]

_IMAGES = {"batch": range(1, 9), "h": range(64, 641, 32), "w": range(64, 641, 32)}


def _block(inner: int, outer: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(inner, outer, kernel, stride, (kernel - 1) // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outer), nn.SiLU())


class _Cross(nn.Module):
    """Two ways through a stage, of which one has residual blocks."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        half = outer // 2
        self.one, self.other = _block(inner, half, 1), _block(inner, half, 1)
        self.inside = nn.Sequential(_block(half, half, 1), _block(half, half))
        self.end = _block(2 * half, outer, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one = self.one(x)
        joined: torch.Tensor = self.end(torch.cat((one + self.inside(one), self.other(x)), 1))
        return joined


class _Detector(nn.Module):
    """A detector as YOLO is one: two scales, each with boxes on a grid."""

    def __init__(self, classes: int = 20) -> None:
        super().__init__()
        self.outputs = classes + 5
        self.begin = nn.Sequential(_block(3, 16, 6, 2), _block(16, 32, 3, 2), _Cross(32, 32))
        self.middle = nn.Sequential(_block(32, 64, 3, 2), _Cross(64, 64))
        self.last = nn.Sequential(_block(64, 128, 3, 2), _Cross(128, 128))
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.pooled = _block(4 * 128, 128, 1)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.joined = _Cross(192, 64)
        self.heads = nn.ModuleList(nn.Conv2d(c, 3 * self.outputs, 1) for c in (64, 128))
        self.register_buffer("anchors", torch.rand(2, 3, 2) * 50 + 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return all boxes."""
        middle = self.middle(self.begin(x))
        pools = [self.last(middle)]
        for _ in range(3):
            pools.append(self.pool(pools[-1]))
        last = self.pooled(torch.cat(pools, 1))
        joined = self.joined(torch.cat((self.up(last), middle), 1))
        scales = zip((joined, last), (8, 16), self.heads, self.anchors, strict=True)
        return torch.cat([self._boxes(*each) for each in scales], 1)

    def _boxes(
        self, x: torch.Tensor, stride: int, head: nn.Module, anchors: torch.Tensor
    ) -> torch.Tensor:
        found = head(x)
        batch, _, height, width = found.shape
        found = found.view(batch, 3, self.outputs, height, width).permute(0, 1, 3, 4, 2).sigmoid()
        rows = torch.arange(height, dtype=found.dtype)
        columns = torch.arange(width, dtype=found.dtype)
        grid = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), -1)
        centres = (found[..., :2] * 2 - 0.5 + grid) * stride
        extents = (found[..., 2:4] * 2) ** 2 * anchors[:, None, None]
        return torch.cat((centres, extents, found[..., 4:]), -1).view(batch, -1, self.outputs)


def detector() -> Network:
    """Return the detector, of any batch and image size."""
    axes = ({0: "batch", 2: "h", 3: "w"},)
    return Network(_Detector(), (torch.randn(2, 3, 96, 128),), ("images",), axes, _IMAGES)


def detector_batch() -> Network:
    """Return the detector, of any batch."""
    dims = {"batch": range(1, 33)}
    return Network(_Detector(), (torch.randn(2, 3, 160, 160),), ("images",), (BATCH,), dims)


def _timm(name: str, size: int) -> Network:
    import timm

    module = timm.create_model(name, pretrained=False)
    return Network(
        module, (torch.randn(2, 3, size, size),), ("x",), (BATCH,), {"batch": range(1, 9)}
    )


def resnet() -> Network:
    """Return ResNet-18, of any batch and image size."""
    import timm

    module = timm.create_model("resnet18", pretrained=False)
    axes = ({0: "batch", 2: "h", 3: "w"},)
    return Network(module, (torch.randn(2, 3, 96, 128),), ("x",), axes, _IMAGES)


class _Unet(nn.Module):
    """Two scales down, and up again."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([_block(3, 16), _block(16, 32), _block(32, 64)])
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList(
            [nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)]
        )
        self.join = nn.ModuleList([_block(64, 32), _block(32, 16)])
        self.end = nn.Conv2d(16, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a class for each pixel."""
        first = self.down[0](x)
        second = self.down[1](self.pool(first))
        x = self.down[2](self.pool(second))
        for up, join, kept in zip(self.up, self.join, (second, first), strict=True):
            x = join(torch.cat((up(x), kept), 1))
        found: torch.Tensor = self.end(x)
        return found


def unet() -> Network:
    """Return a U-Net, of any batch and image size."""
    axes = ({0: "batch", 2: "h", 3: "w"},)
    return Network(_Unet(), (torch.randn(2, 3, 64, 96),), ("x",), axes, _IMAGES)


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, 64)
        self.steps = nn.LSTM(64, 96, batch_first=True, bidirectional=True)
        self.end = nn.Linear(192, 10)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.end(self.steps(self.words(ids))[0])
        return found


def recurrent() -> Network:
    """Return a bidirectional LSTM, of any batch."""
    ids = torch.randint(0, 1000, (2, 19))
    return Network(_Recurrent(), (ids,), ("ids",), (BATCH,), {"batch": range(1, 33)})


def recurrent_length() -> Network:
    """Return a bidirectional LSTM, of any batch and length."""
    ids = torch.randint(0, 1000, (2, 19))
    dims = {"batch": range(1, 9), "seq": range(1, 129)}
    return Network(_Recurrent(), (ids,), ("ids",), ({0: "batch", 1: "seq"},), dims)


class _Waves(nn.Module):
    """Dilated convolutions over a signal."""

    def __init__(self) -> None:
        super().__init__()
        self.begin = nn.Conv1d(1, 32, 7, padding=3)
        rates = (1, 2, 4, 8)
        self.layers = nn.ModuleList(nn.Conv1d(32, 64, 3, padding=n, dilation=n) for n in rates)
        self.back = nn.ModuleList(nn.Conv1d(32, 32, 1) for _ in rates)
        self.norm = nn.GroupNorm(4, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.begin(x)
        for layer, back in zip(self.layers, self.back, strict=True):
            one, gate = layer(x).chunk(2, 1)
            x = self.norm(x + back(torch.tanh(one) * torch.sigmoid(gate)))
        return x


def waves() -> Network:
    """Return dilated convolutions, of any batch and length."""
    dims = {"batch": range(1, 9), "samples": range(1, 4097)}
    axes = ({0: "batch", 2: "samples"},)
    return Network(_Waves(), (torch.randn(2, 1, 400),), ("x",), axes, dims)


MODELS: dict[str, Callable[[], Network]] = {
    "detector": detector,
    "detector-batch": detector_batch,
    "resnet18": resnet,
    "unet": unet,
    "recurrent": recurrent,
    "recurrent-length": recurrent_length,
    "waves": waves,
    "mobilenet": lambda: _timm("mobilenetv3_small_100", 224),
    "efficientnet": lambda: _timm("efficientnet_b0", 224),
    "convnext": lambda: _timm("convnext_atto", 224),
    "swin": lambda: _timm("swin_tiny_patch4_window7_224", 224),
    "deit": lambda: _timm("deit_tiny_patch16_224", 224),
}
"""By name."""
