# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention on Hopper: warp-specialised, with TMA for copies and wgmma for products."""
