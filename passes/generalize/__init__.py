# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ordinary MLIR on tensors, rewritten as the operations that recognition, views and fusion read."""
