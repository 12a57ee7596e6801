# SPDX-License-Identifier: MIT OR Apache-2.0
"""The CUDA target beside PyTorch, cuBLAS, cuDNN and JAX.

Compiled on one machine, measured on another.
"""
