# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decomposes ATen operators that PyTorch itself leaves whole, in functions of tensors.

`table` lists the functions by operator; they are traced, never run on values of a user.
"""
