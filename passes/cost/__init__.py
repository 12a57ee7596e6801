# SPDX-License-Identifier: MIT OR Apache-2.0
"""Predicts how long a kernel takes, from what it moves and computes."""
