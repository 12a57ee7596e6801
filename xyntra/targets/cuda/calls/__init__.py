# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls of a loaded model: from host arrays, device arrays and PyTorch's tensors."""
