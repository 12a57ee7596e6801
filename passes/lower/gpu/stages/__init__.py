# SPDX-License-Identifier: MIT OR Apache-2.0
"""Passes that cut a kernel on buffers into stages, one launch each, for any GPU.

Everything that they decide is in the IR: which operations a `xyntra.stage` holds. What these
operations are together (a product with what follows it, a convolution that reads around its
padding) is read from them again wherever it matters, by `stage.py` and `contraction/in_stage.py`.
"""
