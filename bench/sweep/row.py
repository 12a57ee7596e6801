# SPDX-License-Identifier: MIT OR Apache-2.0
"""One row of the sweep, how its sizes are drawn, and the list that layers enter."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["LAYERS", "Argument", "Draw", "Layer", "Row", "layer"]

_GPU_DTYPES = ("float16",) * 6 + ("bfloat16",) * 2 + ("float32",) * 2


@dataclass(frozen=True)
class Argument:
    """One input of a layer.

    Attributes:
        shape: of the tensor.
        kind: "float" is normally distributed, in the dtype of the row; "index" is int64 from 0 to
            `high` - 1; "mask" is boolean, three quarters true; "byte" is uint8.
        high: see `kind`.
    """

    shape: tuple[int, ...]
    kind: str = "float"
    high: int = 0

    def last(self, size: int) -> Argument:
        """Return the same with another last dimension."""
        return replace(self, shape=(*self.shape[:-1], size))

    def channel(self, size: int) -> Argument:
        """Return the same with another second dimension."""
        return replace(self, shape=(self.shape[0], size, *self.shape[2:]))

    def sample(self, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
        """Return random contents, on the device of `generator`."""
        import torch

        where: dict[str, Any] = {"generator": generator, "device": generator.device}
        if self.kind == "index":
            return torch.randint(0, self.high, self.shape, **where)
        if self.kind == "byte":
            return torch.randint(0, 256, self.shape, dtype=torch.uint8, **where)
        if self.kind == "mask":
            return torch.rand(self.shape, **where) < 0.75
        return torch.randn(self.shape, **where).to(dtype)


@dataclass
class Draw:
    """Draws the sizes of a row; equal seeds draw equal sizes.

    Attributes:
        target: "cuda" or "cpu", which gets smaller tensors of one batch.
        number: of the row among those of its layer, from 0.
        dtype: the name of the dtype of floating-point tensors.
    """

    target: str
    number: int
    rng: random.Random = field(repr=False)
    dtype: str = "float32"

    def of(self, *values: Any) -> Any:
        """Return one of the values."""
        return self.rng.choice(values)

    @property
    def large(self) -> bool:
        """Whether tensors may have tens of millions of elements."""
        return self.target == "cuda"

    def batch(self) -> int:
        """Return a number of sequences or images."""
        return int(self.of(1, 1, 2, 4, 8, 16) if self.large else self.of(1, 1, 1, 2, 4))

    def tokens(self) -> int:
        """Return the length of a sequence."""
        few, many = (49, 64, 77, 128, 197, 256, 333), (384, 512, 577, 1024, 1500, 2048, 4096)
        return int(self.of(*few, *(many if self.large else many[:3])))

    def width(self) -> int:
        """Return the width of a transformer."""
        few, many = (128, 192, 256, 320, 384, 512, 768), (640, 1024, 1152, 1280, 1600, 2048, 4096)
        return int(self.of(*few, *(many if self.large else many[:2])))

    def rows(self, width: int) -> tuple[int, int]:
        """Return a batch and a length whose tokens of `width` elements fit the target."""
        limit = (1 << 25 if self.large else 1 << 20) // width
        batch, tokens = self.batch(), self.tokens()
        while batch * tokens > limit and batch > 1:
            batch //= 2
        return batch, min(tokens, limit)

    def channels(self) -> int:
        """Return a number of channels of an image."""
        return int(self.of(16, 24, 32, 40, 48, 64, 72, 96, 112, 116, 128, 160, 192, 256, 320, 512))

    def image(self, channels: int) -> tuple[int, int, int]:
        """Return batch, height and width of an image that fits the target."""
        side = self.of(7, 14, 20, 28, 32, 40, 56, 64, 80, 112, 128, 224, 256, 384, 512)
        batch, limit = self.batch(), (1 << 25 if self.large else 1 << 20) // channels
        while batch * side * side > limit and batch > 1:
            batch //= 2
        while batch * side * side > limit:
            side //= 2
        other = self.of(side, side, side, max(side * 3 // 4, 1))
        return batch, side, other

    def picture(self, channels: int, heavy: int = 1) -> Argument:
        """Return an image; `heavy` times as large, it would still fit the target."""
        batch, height, width = self.image(channels * heavy)
        return Argument((batch, channels, height, width))


Make = Callable[[Draw], tuple["torch.nn.Module", Sequence[Argument]]]


@dataclass(frozen=True)
class Layer:
    """A kind of layer.

    Attributes:
        library: whose layers it is one of.
        name: in tables.
        make: draws sizes, and returns a module with its inputs.
        image: the module takes and returns images, so that channels may come first or last.
        counts: rows for a GPU and for a CPU.
    """

    library: str
    name: str
    make: Make
    image: bool = False
    counts: tuple[int, int] = (1, 1)


LAYERS: list[Layer] = []


def layer(
    library: str, name: str, *, image: bool = False, counts: tuple[int, int] = (2, 1)
) -> Callable[[Make], Make]:
    """Enter a function into `LAYERS`; see `Layer`."""

    def enter(make: Make) -> Make:
        LAYERS.append(Layer(library, name, make, image, counts))
        return make

    return enter


@dataclass(frozen=True)
class Row:
    """A layer with drawn sizes.

    Attributes:
        layer: which one.
        target, seed, number: what the sizes are drawn from.
    """

    layer: Layer
    target: str
    seed: int
    number: int

    @property
    def name(self) -> str:
        """Unique in a sweep."""
        return f"{self.layer.name} #{self.number}"

    @property
    def channels_last(self) -> bool:
        """Whether images lie with their channels innermost: every other row."""
        return self.layer.image and self.number % 2 == 1

    def draw(self) -> Draw:
        """Return what the sizes are drawn with."""
        rng = random.Random(f"{self.seed} {self.target} {self.layer.name} {self.number}")
        dtype = rng.choice(_GPU_DTYPES) if self.target == "cuda" else "float32"
        return Draw(self.target, self.number, rng, dtype)

    def build(self, device: str = "cpu") -> tuple[torch.nn.Module, list[torch.Tensor], torch.dtype]:
        """Return the module in evaluation mode, random inputs for it, and the dtype of both.

        Weights are the same at every call, inputs at every call for one kind of device. An image
        with channels last is permuted by the module.
        """
        import torch

        from bench.models.export import randomize
        from bench.sweep.modules import ChannelsLast

        draw = self.draw()
        torch.manual_seed(draw.rng.randrange(1 << 30))
        module, arguments = self.layer.make(draw)
        randomize(module, self.seed)
        dtype = getattr(torch, draw.dtype)
        if dtype == torch.bfloat16 and _has_batch_norm(module):
            dtype = torch.float16  # the exporter folds such norms into weights of f32, in no schema
        module = module.eval().requires_grad_(False).to(dtype)
        if self.channels_last:
            module = module.to(memory_format=torch.channels_last)
            module = ChannelsLast(module)
            arguments = [_channels_last(each) for each in arguments]
        generator = torch.Generator(device).manual_seed(self.seed)
        inputs = [each.sample(generator, dtype) for each in arguments]
        return module.to(device), inputs, dtype


def _has_batch_norm(module: torch.nn.Module) -> bool:
    from torch.nn.modules.batchnorm import _BatchNorm

    return any(isinstance(each, _BatchNorm) for each in module.modules())


def _channels_last(argument: Argument) -> Argument:
    if len(argument.shape) != 4:
        return argument
    n, c, h, w = argument.shape
    return Argument((n, h, w, c), argument.kind, argument.high)
