# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prepares kernels before they have buffers: takes named ops apart, and merges loops."""
