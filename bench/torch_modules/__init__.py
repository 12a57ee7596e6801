# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures PyTorch modules of usual sizes on a GPU, beside torch.compile with CUDA graphs."""
