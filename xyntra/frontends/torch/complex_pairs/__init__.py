# SPDX-License-Identifier: MIT OR Apache-2.0
"""Complex tensors of ATen graphs as pairs of real ones, the real and the imaginary part.

`rewriting` walks a graph. What an operator becomes is said by `structure` where elements are only
moved, by `arithmetic` where they are computed with, and by `fourier` for Fourier transforms.
"""
