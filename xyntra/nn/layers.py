# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers with parameters, drawn and named as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import xyntra.array as xa
from xyntra.array import Array
from xyntra.nn import functional as f
from xyntra.nn.module import Module

__all__ = [
    "GELU", "BatchNorm2d", "Conv1d", "Conv2d", "Dropout", "Embedding", "Flatten", "GroupNorm",
    "LayerNorm", "Linear", "MaxPool2d", "RMSNorm", "ReLU", "SiLU",
]  # fmt: skip


def drawn(shape: Sequence[int], inputs: int) -> Array:
    """Return numbers of [-1 / sqrt(inputs), 1 / sqrt(inputs)), as PyTorch begins with."""
    bound = max(inputs, 1) ** -0.5
    return xa.random.uniform(tuple(shape), low=-bound, high=bound)


class Linear(Module):
    """A product with a weight [outputs, inputs], and a bias."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        self.weight = drawn((outputs, inputs), inputs)
        self.bias = drawn((outputs,), inputs) if bias else None

    def forward(self, x: Array) -> Array:
        """Return `x @ weight.T + bias`."""
        return f.linear(x, self.weight, self.bias)


class _Conv(Module):
    rank = 2

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel_size: int | Sequence[int],
        *,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        size = (kernel_size,) * self.rank if isinstance(kernel_size, int) else tuple(kernel_size)
        reads = inputs // groups * prod(size)
        self.weight = drawn((outputs, inputs // groups, *size), reads)
        self.bias = drawn((outputs,), reads) if bias else None
        self.stride, self.padding = stride, padding
        self.dilation, self.groups = dilation, groups

    def forward(self, x: Array) -> Array:
        """Return the convolution of images [N, C, *spatial]."""
        return f.conv(
            x,
            self.weight,
            self.bias,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
        )


class Conv1d(_Conv):
    """A convolution of sequences [N, C, L]."""

    rank = 1


class Conv2d(_Conv):
    """A convolution of images [N, C, H, W]."""


class LayerNorm(Module):
    """Normalises the last dimensions."""

    def __init__(self, shape: int | Sequence[int], eps: float = 1e-5) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.weight, self.bias = xa.ones(self.shape), xa.zeros(self.shape)
        self.eps = eps

    def forward(self, x: Array) -> Array:
        """Return the normalised input, scaled and shifted."""
        return f.layer_norm(x, self.shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Divides the last dimensions by their root mean square."""

    def __init__(self, shape: int | Sequence[int], eps: float = 1e-6) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.weight, self.eps = xa.ones(self.shape), eps

    def forward(self, x: Array) -> Array:
        """Return the normalised input, scaled."""
        return f.rms_norm(x, self.shape, self.weight, self.eps)


class GroupNorm(Module):
    """Normalises groups of channels."""

    def __init__(self, groups: int, channels: int, eps: float = 1e-5) -> None:
        self.groups, self.eps = groups, eps
        self.weight, self.bias = xa.ones(channels), xa.zeros(channels)

    def forward(self, x: Array) -> Array:
        """Return the normalised input, scaled and shifted."""
        return f.group_norm(x, self.groups, self.weight, self.bias, self.eps)


class BatchNorm2d(Module):
    """Normalises channels by the statistics of the batch; outside of training by running ones."""

    _buffers = frozenset({"running_mean", "running_var"})

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        self.weight, self.bias = xa.ones(channels), xa.zeros(channels)
        self.running_mean, self.running_var = xa.zeros(channels), xa.ones(channels)
        self.eps, self.momentum = eps, momentum

    def forward(self, x: Array) -> Array:
        """Return the normalised input, scaled and shifted; in training, the statistics move."""
        mean, variance = self.running_mean, self.running_var
        if self.training:
            axes = (0, *range(2, x.ndim))
            mean, variance = xa.mean(x, axis=axes), xa.var(x, axis=axes)
            count = x.size // x.shape[1]
            unbiased = xa.stop_gradient(variance) * (count / max(count - 1, 1))
            kept = 1.0 - self.momentum
            own = xa.stop_gradient(mean)
            self.running_mean = self.running_mean * kept + own * self.momentum
            self.running_var = self.running_var * kept + unbiased * self.momentum
        return f.batch_norm(x, mean, variance, self.weight, self.bias, self.eps)


class Embedding(Module):
    """A table of rows that are read at places."""

    def __init__(self, count: int, size: int) -> None:
        self.weight = xa.random.normal((count, size))

    def forward(self, places: Any) -> Array:
        """Return the rows at places, of any shape."""
        return f.embedding(places, self.weight)


class Dropout(Module):
    """Sets elements to 0 in training, each with a probability."""

    def __init__(self, probability: float = 0.5) -> None:
        self.probability = probability

    def forward(self, x: Array) -> Array:
        """Return the input, in training with elements set to 0."""
        return f.dropout(x, self.probability) if self.training else x


class Flatten(Module):
    """Makes a row of each element of a batch."""

    def forward(self, x: Array) -> Array:
        """Return the input with all dimensions behind the first as one."""
        return x.reshape((x.shape[0], -1))


class MaxPool2d(Module):
    """Takes the largest elements of windows of images."""

    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x: Array) -> Array:
        """Return the largest elements of windows."""
        return f.max_pool2d(x, self.kernel_size, self.stride, self.padding)


class _Activation(Module):
    function: Callable[[Any], Array]

    def forward(self, x: Array) -> Array:
        """Return the function of each element."""
        return type(self).function(x)


class ReLU(_Activation):
    """The larger of an element and 0."""

    function = staticmethod(xa.relu)


class GELU(_Activation):
    """An element times the normal distribution's integral."""

    function = staticmethod(xa.gelu)


class SiLU(_Activation):
    """An element times its logistic function."""

    function = staticmethod(xa.silu)
