# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which convolutions the CPU target computes by Winograd's algorithm, as far as layouts need it."""

from __future__ import annotations

__all__ = ["MIN_CHANNELS", "TAPS"]

TAPS = 3
"""Taps along one dimension."""
MIN_CHANNELS = 16
"""Input and output channels, below which the transforms cost more than they save."""
