# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention without a score matrix, by warps of sixteen queries, on every NVIDIA GPU."""
