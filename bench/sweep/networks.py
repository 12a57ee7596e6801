# SPDX-License-Identifier: MIT OR Apache-2.0
"""The networks of `verify.architectures` as rows of a sweep, at batches of their own and larger."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.sweep.row import Argument, Layer

if TYPE_CHECKING:
    import torch

__all__ = ["Network", "networks"]


@dataclass(frozen=True)
class Network:
    """An architecture with its example inputs, so many times along their first dimension.

    Attributes:
        architecture: its name in `verify.architectures`.
        batch: how many times.
        target: "cuda", where it is in f16, or "cpu".
        layer: with the name of the family.
        seed: unused; weights are those of the architecture.
    """

    architecture: str
    batch: int
    target: str
    layer: Layer
    seed: int = 0
    channels_last: bool = False

    @property
    def name(self) -> str:
        """Unique in a sweep."""
        return f"{self.architecture} x{self.batch}"

    def build(self, device: str = "cpu") -> tuple[torch.nn.Module, list[torch.Tensor], torch.dtype]:
        """Return the module, its example inputs repeated for the batch, and its dtype."""
        import torch

        from verify.architectures.building import build
        from verify.architectures.catalogue import load
        from verify.architectures.libraries import declare_operators

        declare_operators()
        dtype = torch.float16 if self.target == "cuda" else torch.float32
        built = build(load()[self.architecture])
        found = [
            each.to(dtype) if each.is_floating_point() else each for each in built.inputs.values()
        ]
        first = found[0].shape[0]
        inputs = [self._repeated(each, first).to(device) for each in found]
        return built.module.to(device, dtype), inputs, dtype

    def _repeated(self, tensor: torch.Tensor, first: int) -> torch.Tensor:
        if self.batch == 1 or not tensor.ndim or tensor.shape[0] != first:
            return tensor.contiguous()
        return tensor.repeat(self.batch, *[1] * (tensor.ndim - 1))


def networks(target: str, batches: Sequence[int], patterns: Sequence[str]) -> list[Network]:
    """Return the architectures whose names match a pattern, or all, at each of the batches."""
    from verify.architectures.catalogue import load

    return [
        Network(each.name, batch, target, Layer(each.library, each.family, _make))
        for name, each in load().items()
        if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
        for batch in batches
    ]


def _make(draw: object) -> tuple[torch.nn.Module, Sequence[Argument]]:
    raise TypeError("networks draw nothing")
