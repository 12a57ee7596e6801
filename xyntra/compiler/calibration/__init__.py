# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses, by samples, which products are computed in 8 bits and how their factors are rounded."""
