# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the rates by which a target weighs the layouts of convolution networks."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LayoutRates"]


@dataclass(frozen=True)
class LayoutRates:
    """The time that a target gains and loses where tensors have their channels innermost.

    Attributes:
        copies: bytes that a transposing copy reads or writes in a nanosecond, by the bytes of the
            largest tensors that are copied at that rate.
        gain: part of its time that a convolution gains from each of its two tensors.
        line: the same of one tap, along one dimension, or where channels are in groups.
        steps: the same where its positions are not contiguous.
        volume: the same where it slides along three dimensions.
        winograd: the same where Winograd's algorithm takes over.
        phases: the same where channels first mean that lanes are stored one by one.
        outputs: fewest output channels, of each group, for which a convolution gains anything.
        taps: nanoseconds that a depthwise convolution or a pooling gains from each of its two
            tensors for every tap of every output, without steps between outputs and with them;
            None for `window`.
        window: bytes of a tensor for which these gain a nanosecond.
    """

    copies: tuple[tuple[float, float], ...]
    gain: float = 0.1
    line: float = 0.1
    steps: float = 0.1
    volume: float = 0.1
    winograd: float = 0.25
    phases: float = 0.1
    outputs: int = 1
    taps: tuple[float, float] | None = None
    window: float = 8.0

    def copy(self, size: int) -> float:
        """Return the nanoseconds that a copy of a tensor of `size` bytes takes."""
        return 2 * size / next(rate for most, rate in self.copies if size <= most)
