# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides which tensors are stored with their channels innermost."""
