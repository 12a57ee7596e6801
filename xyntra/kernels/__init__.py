# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles kernels that are written in Python when they are called, and calls them."""
