# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests that exchange rows, such as softmax and norms."""
