# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds operations on whole tensors: convolutions, poolings, slices, sorting."""
