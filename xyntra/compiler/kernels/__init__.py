# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels of a model, for any target, from the text of their functions to machine code."""
