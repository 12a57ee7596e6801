# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives freshly initialised modules weights under which every part of them matters.

Libraries start biases at 0, norms at 1, some heads at 0 and many weights so small that a short
network hardly changes what goes through it. With those, a compiler that forgets a bias or swaps two
norms would still be right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["randomize"]

_DRAWN = ("Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "Conv1D")
_TRANSPOSED = ("ConvTranspose1d", "ConvTranspose2d", "Conv1D")


def randomize(module: Any, run: Callable[[], object], seed: int) -> None:
    """Draw weights of products anew, move norms and biases, and set running statistics.

    Args:
        module: a `torch.nn.Module`.
        run: calls it on its example inputs, to measure the statistics of batch norms.
        seed: of all draws.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in module.modules():
            _draw_product(part, generator)
        for tensor in module.parameters():
            _move(tensor, generator)
        _calibrate(module, run)
        for part in module.modules():
            _move_statistics(part, generator)


def _draw_product(part: Any, generator: Any) -> None:
    import torch

    weight = getattr(part, "weight", None)
    if type(part).__name__ not in _DRAWN or not isinstance(weight, torch.Tensor):
        return
    if weight.ndim < 2 or not weight.is_floating_point():
        return
    transposed = type(part).__name__ in _TRANSPOSED
    fan_in = weight.numel() // weight.shape[1 if transposed else 0]
    gain = math.sqrt(2) if weight.ndim > 2 else 1.0
    noise = torch.randn(weight.shape, generator=generator)
    weight.copy_(noise * gain / math.sqrt(fan_in))


def _move(tensor: Any, generator: Any) -> None:
    """Add noise to vectors and to whatever is constant."""
    import torch

    if not tensor.is_floating_point() or tensor.numel() == 0:
        return
    constant = bool((tensor == tensor.flatten()[0]).all())
    if tensor.squeeze().ndim <= 1:
        tensor.add_(0.2 * torch.rand(tensor.shape, generator=generator) - 0.1)
    elif constant:
        last = 1.0 / math.sqrt(tensor.shape[-1])
        tensor.add_(last * torch.randn(tensor.shape, generator=generator))


def _calibrate(module: Any, run: Callable[[], object]) -> None:
    """Measure the running statistics of batch norms on the example inputs."""
    norms = [part for part in module.modules() if _has_statistics(part)]
    if not norms:
        return
    state = [(part.training, part.momentum) for part in norms]
    before = [(part.running_mean.clone(), part.running_var.clone()) for part in norms]
    for part in norms:
        part.train()
        part.momentum = 1.0
    try:
        run()
    except ValueError:
        # One value a channel has no variance: such norms keep what they start with.
        for part, (mean, variance) in zip(norms, before, strict=True):
            part.running_mean.copy_(mean)
            part.running_var.copy_(variance)
    for part, (training, momentum) in zip(norms, state, strict=True):
        part.train(training)
        part.momentum = momentum


def _has_statistics(part: Any) -> bool:
    return getattr(part, "running_var", None) is not None and hasattr(part, "momentum")


def _move_statistics(part: Any, generator: Any) -> None:
    import torch

    if not _has_statistics(part):
        return
    noise = torch.rand((2, *part.running_var.shape), generator=generator)
    part.running_mean.add_(0.4 * (noise[0] - 0.5) * part.running_var.sqrt())
    part.running_var.mul_(0.75 + 0.5 * noise[1]).add_(1e-3)
