# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels written in Python: `python -m bench.kernels`, beside numpy, numba, PyTorch and Triton."""
