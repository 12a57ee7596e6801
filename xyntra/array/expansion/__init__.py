# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes kernels as operations of arrays, which have gradients."""
