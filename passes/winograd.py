# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds the limits of Winograd's algorithm on the CPU, for choices of layout."""

from __future__ import annotations

__all__ = ["MIN_CHANNELS", "TAPS"]

TAPS = 3
"""Taps along one dimension."""
MIN_CHANNELS = 16
"""Input and output channels, below which the transforms cost more than they save."""
