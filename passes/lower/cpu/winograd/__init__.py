# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions of 3 x 3 taps by Winograd's F(2x2, 3x3)."""
