# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers of model libraries at drawn sizes, timed beside PyTorch, its compiler or onnxruntime."""
