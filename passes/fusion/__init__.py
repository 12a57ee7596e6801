# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides which operations share a kernel, and gives every kernel a function of its own."""
