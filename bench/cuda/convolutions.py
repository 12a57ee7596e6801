# SPDX-License-Identifier: MIT OR Apache-2.0
"""The convolutions of ResNet-50 with what follows them, as `bench.cuda` measures them.

Images are channels-last, filters have their channels innermost; a norm is a scale and a shift of
every channel. The second input of a block's last convolution is what the block adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["BATCHES", "Convolution", "resnet_50"]

BATCHES = (1, 8, 32)
_BLOCKS = ((64, 3), (128, 4), (256, 6), (512, 3))  # width and number of a stage's blocks


@dataclass(frozen=True)
class Convolution:
    """One layer, of square images and filters.

    Attributes:
        channels: of the image.
        size: of the image.
        columns: channels of the result.
        taps: of the filter in one dimension.
        step: from one output to the next.
        adds: whether another image is added.
        acts: whether negative results become zero.
    """

    channels: int
    size: int
    columns: int
    taps: int
    step: int
    adds: bool = False
    acts: bool = True

    @property
    def kind(self) -> str:
        """Which function it is for `bench.cuda.graphs` and `bench.cuda.torch_peers`."""
        if self.adds:
            return "conv_norm_add_relu"
        return "conv_norm_relu" if self.acts else "conv_norm"

    @property
    def outputs(self) -> int:
        """Size of the result."""
        return -(-self.size // self.step)

    def name(self, batch: int) -> str:
        """Return how tables call it."""
        ending = (" + image" if self.adds else "") + ("" if self.acts else " plain")
        image = f"{batch}x{self.size}x{self.size}x{self.channels}"
        return f"conv {image} {self.taps}x{self.taps}/{self.step} to {self.columns} f16{ending}"

    def shapes(self, batch: int) -> tuple[tuple[int, ...], ...]:
        """Return image, filter, scale, shift and, where there is one, the image that is added."""
        image = (batch, self.size, self.size, self.channels)
        weights = (self.columns, self.taps, self.taps, self.channels)
        added = (self.result(batch),) if self.adds else ()
        return (image, weights, (self.columns,), (self.columns,), *added)

    def result(self, batch: int) -> tuple[int, ...]:
        """Return the shape of the result."""
        return (batch, self.outputs, self.outputs, self.columns)

    def flops(self, batch: int) -> int:
        """Return multiplications and additions."""
        pixels = batch * self.outputs**2
        return 2 * pixels * self.columns * self.channels * self.taps**2


def resnet_50() -> Iterator[Convolution]:
    """Yield its different layers but for the first one, from the image to the result."""
    found: dict[Convolution, None] = {}
    channels, size = 64, 56
    for width, blocks in _BLOCKS:
        for block in range(blocks):
            step = 2 if block == 0 and width > 64 else 1
            found[Convolution(channels, size, width, 1, 1)] = None
            found[Convolution(width, size, width, 3, step)] = None
            if block == 0:
                found[Convolution(channels, size, 4 * width, 1, step, acts=False)] = None
            size //= step
            channels = 4 * width
            found[Convolution(width, size, channels, 1, 1, adds=True)] = None
    yield from found
