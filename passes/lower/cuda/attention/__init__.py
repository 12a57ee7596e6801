# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention on NVIDIA GPUs: blocks of queries walk over the keys, and no score leaves the chip."""
