# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of pictures that no library here has, written out."""

from __future__ import annotations

import itertools
from typing import Any

from verify.architectures.images import images
from verify.architectures.registry import Model, architecture

_OURS = "written out"


@architecture("u-net", "segmentation", _OURS)
def _u_net() -> Model:
    import torch
    from torch import nn

    def double(before: int, after: int) -> nn.Sequential:
        parts: list[nn.Module] = []
        for width in (before, after):
            parts += [nn.Conv2d(width, after, 3, padding=1), nn.InstanceNorm2d(after, affine=True)]
            parts.append(nn.ReLU())
        return nn.Sequential(*parts)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = (3, 16, 32, 64)
            self.down = nn.ModuleList(double(*w) for w in itertools.pairwise(widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in (32, 16))
            self.join = nn.ModuleList(double(2 * w, w) for w in (32, 16))
            self.last = nn.Conv2d(16, 5, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for stage in self.down:
                x = stage(x)
                kept.append(x)
                x = nn.functional.max_pool2d(x, 2)
            x = kept.pop()
            for up, join in zip(self.up, self.join, strict=True):
                x = join(torch.cat([up(x), kept.pop()], 1))
            return self.last(x)

    return Model(UNet(), {"x": images(1, 3, 48, 64)})


@architecture("yolo-like", "detection", _OURS)
def _yolo() -> Model:
    """A backbone with a path aggregation neck, whose heads are decoded to boxes."""
    import torch
    from torch import nn

    def conv(before: int, after: int, stride: int = 1) -> nn.Sequential:
        convolution = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.SiLU())

    class Yolo(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(conv(3, 16, 2), conv(16, 32, 2))
            self.third, self.fourth = conv(32, 48, 2), conv(48, 64, 2)
            self.pools = nn.ModuleList(nn.MaxPool2d(5, 1, 2) for _ in range(3))
            self.pooled = nn.Conv2d(256, 64, 1)
            self.merge = conv(112, 48)
            self.heads = nn.ModuleList([nn.Conv2d(48, 4 + 6, 1), nn.Conv2d(64, 4 + 6, 1)])

        def forward(self, x: Any) -> Any:
            third = self.third(self.stem(x))
            fourth = self.fourth(third)
            steps = [fourth]
            for pool in self.pools:
                steps.append(pool(steps[-1]))
            fourth = self.pooled(torch.cat(steps, 1))
            third = self.merge(
                torch.cat([nn.functional.interpolate(fourth, scale_factor=2.0), third], 1)
            )
            return torch.cat(
                [self.decode(h(f)) for h, f in zip(self.heads, (third, fourth), strict=True)], 1
            )

        def decode(self, found: Any) -> Any:
            height, width = found.shape[-2:]
            rows = torch.arange(height, dtype=torch.float32)
            columns = torch.arange(width, dtype=torch.float32)
            grid = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), 0)
            centre = (found[:, :2].sigmoid() * 2 - 0.5 + grid) / width
            size = (found[:, 2:4].sigmoid() * 2) ** 2 / width
            classes = found[:, 4:].sigmoid()
            low, high = centre - size / 2, centre + size / 2
            return torch.cat([low, high, classes], 1).flatten(2).transpose(1, 2)

    return Model(Yolo(), {"x": images(1, 3, 64, 64)})


@architecture("hourglass", "depth and restoration", _OURS)
def _hourglass() -> Model:
    """Key points by a soft arg-max over heat maps."""
    import torch
    from torch import nn

    class Hourglass(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Conv2d(3, 24, 4, 2, 1)
            self.inner = nn.Conv2d(24, 48, 4, 2, 1)
            self.up = nn.ConvTranspose2d(48, 24, 4, 2, 1)
            self.norms = nn.ModuleList(nn.GroupNorm(4, w) for w in (24, 48, 24))
            self.maps = nn.Conv2d(24, 8, 1)

        def forward(self, image: Any) -> Any:
            first = nn.functional.mish(self.norms[0](self.down(image)))
            inner = nn.functional.hardswish(self.norms[1](self.inner(first)))
            outer = nn.functional.gelu(self.norms[2](self.up(inner))) + first
            maps = self.maps(outer)
            chances = maps.flatten(2).softmax(-1).reshape(maps.shape)
            rows = torch.linspace(-1, 1, maps.shape[2])
            columns = torch.linspace(-1, 1, maps.shape[3])
            y = (chances.sum(3) * rows).sum(-1)
            x = (chances.sum(2) * columns).sum(-1)
            return torch.stack([x, y], -1), maps

    return Model(Hourglass(), {"image": images(2, 3, 32, 40)})


@architecture("spatial-transformer", "depth and restoration", _OURS)
def _spatial_transformer() -> Model:
    """An affine grid, sampled bilinearly."""
    from torch import nn

    class SpatialTransformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.where = nn.Sequential(
                nn.Conv2d(1, 8, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten()
            )
            self.matrix = nn.Linear(32, 6)
            self.classify = nn.Sequential(nn.Conv2d(1, 12, 3), nn.ELU(), nn.Flatten())
            self.head = nn.Linear(12 * 26 * 26, 10)

        def forward(self, image: Any) -> Any:
            matrix = self.matrix(self.where(image)).reshape(-1, 2, 3)
            grid = nn.functional.affine_grid(matrix, list(image.shape), align_corners=False)
            turned = nn.functional.grid_sample(image, grid, align_corners=False)
            return self.head(self.classify(turned))

    return Model(SpatialTransformer(), {"image": images(2, 1, 28, 28)})


@architecture("nerf", "depth and restoration", _OURS)
def _nerf() -> Model:
    """A radiance field: rays, positional features, an MLP, and compositing by prefix products."""
    import torch
    from torch import nn

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(39, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
            self.head = nn.Linear(64, 4)

        def forward(self, origins: Any, directions: Any) -> Any:
            depths = torch.linspace(0.5, 3.0, 16)
            points = origins[:, None] + directions[:, None] * depths[:, None]
            scaled = (points[..., None] * 2.0 ** torch.arange(6)).flatten(-2)
            features = torch.cat([points, scaled.sin(), scaled.cos()], -1)
            found = self.head(self.layers(features))
            density, colour = found[..., 3].relu(), found[..., :3].sigmoid()
            clear = torch.exp(-density * (2.5 / 15))
            before = torch.cat([torch.ones_like(clear[:, :1]), clear[:, :-1]], 1).cumprod(1)
            weights = before * (1 - clear)
            return (weights[..., None] * colour).sum(1), (weights * depths).sum(1)

    inputs = {"origins": torch.randn(12, 3) * 0.2, "directions": torch.randn(12, 3)}
    return Model(Field(), inputs)
