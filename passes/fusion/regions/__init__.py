# SPDX-License-Identifier: MIT OR Apache-2.0
"""Regions of operations that share a kernel, from their making to functions of their own."""
