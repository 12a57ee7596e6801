# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions: matrix products, and whatever has their loops."""
